/*
 * check_sets.h: active sets that overlap, and arrays for their collectives.
 */
#ifndef CHECK_SETS_H
#define CHECK_SETS_H

#include "check_collective.h"

struct check_set {
    int start, log_stride, size;
    int rank; /* of this PE; -1: it is not in the set */
};

enum { CHECK_SETS = 8 };

static inline struct check_set check_set_of(int start, int log_stride, int size)
{
    int distance = check.me - start, rank = distance >> log_stride;
    bool in = distance >= 0 && rank < size && rank << log_stride == distance;
    return (struct check_set){start, log_stride, size, in ? rank : -1};
}

/* The most PEs of a set from start with that stride. */
static inline int check_set_most(int start, int log_stride)
{
    return start >= check.n ? 0 : ((check.n - 1 - start) >> log_stride) + 1;
}

/*
 * All PEs, all but one, one of two, one of four, an odd part, as many as one of two from the same
 * PE but consecutive, and the last PE alone.
 */
static inline struct check_set check_set(int kind)
{
    int n = check.n, odd = n > 1;
    switch (kind) {
    case 0:
        return check_set_of(0, 0, n);
    case 1:
        return check_set_of(0, 0, n > 1 ? n - 1 : 1);
    case 2:
        return check_set_of(n / 3, 0, n - n / 3);
    case 3:
        return check_set_of(0, 1, check_set_most(0, 1));
    case 4:
        return check_set_of(odd, 1, check_set_most(odd, 1));
    case 5:
        return check_set_of(odd, 2, check_set_most(odd, 2));
    case 6:
        return check_set_of(0, 0, check_set_most(0, 1));
    default:
        return check_set_of(n - 1, 0, 1);
    }
}

static inline int check_set_pe(const struct check_set *set, int rank)
{
    return set->start + (rank << set->log_stride);
}

/* A pSync for each kind of set. */
static inline long *check_sync(int kind)
{
    static long *all;
    if (all == NULL) {
        all = check_alloc(CHECK_SETS * SHMEM_SYNC_SIZE * sizeof *all);
        for (int i = 0; i < CHECK_SETS * SHMEM_SYNC_SIZE; i++)
            all[i] = SHMEM_SYNC_VALUE;
        shmem_barrier_all();
    }
    return all + kind * SHMEM_SYNC_SIZE;
}

/* After any call but a barrier pSync has its old contents. */
static inline void check_sync_restored(int kind)
{
    const long *sync = check_sync(kind);
    for (int i = 0; i < SHMEM_SYNC_SIZE; i++)
        CHECK(sync[i] == SHMEM_SYNC_VALUE, "element %d of pSync is %ld afterwards", i, sync[i]);
}

#endif
