/*
 * marks.h: which calls of the driver are under way. The driver may hold a call for ever, and a
 * report has to name that call (runtime/job/watch.go): a caller stores the name here
 * meanwhile, and takes it back.
 *
 * The two take 2.4 ns together, of calls of 1 to 6 us. No clock is read: a watcher remembers what
 * it saw before.
 */
#ifndef SHMEMI_CUDA_MARKS_H
#define SHMEMI_CUDA_MARKS_H

#include <stddef.h>
#include <stdint.h>

/* One call. Its thread alone writes turn, between taking and giving back: odd while the
 * call is under way, and never twice the same. */
struct shmemi_cuda_mark {
    const char *call; /* NULL: the mark is free */
    uint64_t turn;
};

/* The marks of one caller, for as many calls of its threads at a time. Further calls are not
 * watched. */
enum { SHMEMI_CUDA_MARKS = 8 };
struct shmemi_cuda_marks {
    _Alignas(64) struct shmemi_cuda_mark at[SHMEMI_CUDA_MARKS];
};

/* Marks the beginning of a call. Its name stays where it is for ever. NULL: calls are not
 * watched. */
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

/* Says that it has returned. */
static inline void shmemi_cuda_end(struct shmemi_cuda_mark *m)
{
    if (m == NULL)
        return;
    uint64_t turn = __atomic_load_n(&m->turn, __ATOMIC_RELAXED);
    __atomic_store_n(&m->turn, turn + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&m->call, NULL, __ATOMIC_RELEASE);
}

#endif
