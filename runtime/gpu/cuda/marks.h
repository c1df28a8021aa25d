/*
 * marks.h: records which calls of the driver are under way. The driver may block a call for ever,
 * and the driver watch must name that call in its report (runtime/job/watch/driver.go). So a caller
 * stores the call's name in a mark before the call, and clears the mark afterwards.
 *
 * Both steps together take 2.4 ns, of calls of 1 to 6 us. They read no clock: the watch compares
 * the marks with those that it saw at its last check.
 */
#ifndef SHMEMI_CUDA_MARKS_H
#define SHMEMI_CUDA_MARKS_H

#include <stddef.h>
#include <stdint.h>

/* One call under way. Only the thread that has reserved the mark writes turn, a count that grows at
 * the beginning and at the end of each call: it is odd during a call, and differs between calls. */
struct shmemi_cuda_mark {
    const char *call; /* NULL: the mark is free */
    uint64_t turn;
};

/* The marks of one caller: each records one call of its threads that is under way. Calls beyond the
 * number of marks are not recorded. */
enum { SHMEMI_CUDA_MARKS = 8 };
struct shmemi_cuda_marks {
    _Alignas(64) struct shmemi_cuda_mark at[SHMEMI_CUDA_MARKS];
};

/* Records the beginning of a call, whose name must be a string that is never freed. Returns the
 * mark for shmemi_cuda_end; NULL: the call is not recorded. */
static inline struct shmemi_cuda_mark *shmemi_cuda_begin(struct shmemi_cuda_marks *marks,
                                                         const char *call)
{
    for (int i = 0; marks != NULL && i < SHMEMI_CUDA_MARKS; i++) {
        struct shmemi_cuda_mark *m = &marks->at[i];
        const char *none = NULL;
        if (__atomic_load_n(&m->call, __ATOMIC_RELAXED) == NULL &&
            __atomic_compare_exchange_n(&m->call, &none, call, 0, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
            uint64_t turn = __atomic_load_n(&m->turn, __ATOMIC_RELAXED);
            __atomic_store_n(&m->turn, turn + 1, __ATOMIC_RELEASE);
            return m;
        }
    }
    return NULL;
}

/* Records that the call of a mark has returned, and frees the mark. */
static inline void shmemi_cuda_end(struct shmemi_cuda_mark *m)
{
    if (m == NULL)
        return;
    uint64_t turn = __atomic_load_n(&m->turn, __ATOMIC_RELAXED);
    __atomic_store_n(&m->turn, turn + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&m->call, NULL, __ATOMIC_RELEASE);
}

#endif
