/*
 * header.c: shmem.h alone, twice, in C and in C++.
 */
#include <shmem.h>
#include <shmem.h>

#if SHMEM_MAJOR_VERSION != 1 || SHMEM_MINOR_VERSION != 6
#error "the version is not what the preprocessor can compare"
#endif

/* Constants in places that allow nothing else. */
enum constants {
    CMP = SHMEM_CMP_EQ + SHMEM_CMP_NE + SHMEM_CMP_GT + SHMEM_CMP_GE + SHMEM_CMP_LT + SHMEM_CMP_LE,
    THREAD = SHMEM_THREAD_SINGLE + SHMEM_THREAD_FUNNELED + SHMEM_THREAD_SERIALIZED +
             SHMEM_THREAD_MULTIPLE,
    SIGNAL = SHMEM_SIGNAL_SET + SHMEM_SIGNAL_ADD
};
typedef char cmp_differ[CMP == 0 + 1 + 2 + 3 + 4 + 5 ? 1 : -1];
typedef char levels_grow[SHMEM_THREAD_SINGLE < SHMEM_THREAD_FUNNELED &&
                                 SHMEM_THREAD_FUNNELED < SHMEM_THREAD_SERIALIZED &&
                                 SHMEM_THREAD_SERIALIZED < SHMEM_THREAD_MULTIPLE
                             ? 1
                             : -1];
typedef char name_fits[sizeof SHMEM_VENDOR_STRING <= SHMEM_MAX_NAME_LEN ? 1 : -1];

extern shmem_team_t teams[2];
extern long hints;
extern void (*put)(int *, const int *, size_t, int);
extern int (*sum)(shmem_team_t, shmemi_complexd *, const shmemi_complexd *, size_t);

shmem_team_t teams[2] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_INVALID};
long hints = SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE;

/* The types of functions. */
void (*put)(int *, const int *, size_t, int) = shmem_int_put;
int (*sum)(shmem_team_t, shmemi_complexd *, const shmemi_complexd *,
           size_t) = shmem_complexd_sum_reduce;
