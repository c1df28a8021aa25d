/*
 * lane.h: the proxy's inner loop, entered once. It takes simple operations out
 * of rings, posts them, and reaps; whatever is not simple it leaves where it
 * is, and returns. lane.go says what is simple.
 */
#ifndef SHMEMI_LANE_H
#define SHMEMI_LANE_H

#include "express.h"

#include <shmem/zz_wire.h>

#define SHMEMI_LANE_COMPLETIONS 32 /* taken from the provider at once */
#define SHMEMI_LANE_AREAS 4

/* One ring, as its consumer sees it. */
struct shmemi_lane_ring {
    uint64_t *slots;
    struct shmemi_ring_line *line;
    struct shmemi_reply *replies;
    uint64_t cells; /* where they begin, or 0 */
    uint32_t log2_slots;
};

/* Why the loop returned. */
enum shmemi_lane_reason {
    SHMEMI_LANE_IDLE,       /* nothing came for as long as spin says */
    SHMEMI_LANE_TIME,       /* the limit has passed */
    SHMEMI_LANE_ATTENTION,  /* somebody wants Go to look */
    SHMEMI_LANE_BUSY,       /* the lock is held for long */
    SHMEMI_LANE_OPERATION,  /* the next operation of a ring is Go's */
    SHMEMI_LANE_STATE,      /* the engine has something to do that is Go's */
    SHMEMI_LANE_COMPLETION, /* completions[first] and those up to count are Go's; the lock is held
                             */
    SHMEMI_LANE_ERROR,      /* the provider cannot be polled */
};

struct shmemi_lane {
    struct shmemi_express *express;
    struct shmemi_native native;
    uint32_t *lock, *wanted, *sleepers, *wakes;
    struct shmemi_lane_ring *rings;
    uint64_t *positions; /* of the rings' next operations */
    uint32_t ring_count;
    uint32_t alone;  /* this PE has no other consumer, so a fence is an epoch */
    uint32_t yields; /* no processor of its own: give way when nothing comes */
    uint32_t batch;  /* operations of one ring between two looks at the others */

    /* Local memory outside the segment that may be read, of those ends not 0. */
    struct {
        uint64_t begin, end;
    } areas[SHMEMI_LANE_AREAS];

    /* What is asked for; times in ns. */
    int64_t limit, spin;
    uint64_t finished; /* requests that Go has seen finished */
    uint64_t ticket;   /* quiet that Go waits for, 0: none */

    /* What came. */
    uint64_t taken;     /* operations */
    uint64_t completed; /* completions */
    int64_t ran;        /* in all */
    int64_t idle;       /* since something was done last, or since the beginning */
    int64_t gap;        /* the longest between two looks at the clock */
    uint32_t left;      /* 1: the next operation of some ring is Go's */
    int error;
    int first, count;
    struct shmemi_completion completions[SHMEMI_LANE_COMPLETIONS];
};

int shmemi_lane_run(struct shmemi_lane *lane);

#endif
