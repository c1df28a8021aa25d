/*
 * lock_parts.h: the word of a lock, for lock.c and lock_late.c.
 */
#ifndef SHMEMI_LOCK_PARTS_H
#define SHMEMI_LOCK_PARTS_H

#include "front.h"
#include "gpu.h"

#pragma GCC visibility push(hidden)

/* The bits of a place: what the lower half of a lock's long says at each PE. */
enum {
    NEXT = (1 << 21) - 1, /* the PE that comes next, plus one */
    LATE = 1 << 29,       /* the PE took its place after a loss: lock_late.c */
    WAITS = 1 << 30,      /* the PE waits for the lock */
};
#define QUEUED (1u << 31) /* this PE has the lock, or waits for it */

/* The halves of a lock, by address: this is for little-endian machines. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the tail is the upper half");
_Static_assert(sizeof(long) == 8, "a lock has two halves");

/* A lock, as a call of this PE sees it: the addresses of its halves, the PE that has its tail, and
 * the name of the call. */
struct lock {
    uint32_t *place, *tail;
    int home;
    const char *call;
};

SHMEMI_INLINE uint32_t me_plus_one(void)
{
    return (uint32_t)shmemi_state.my_pe + 1;
}

/* An atomic operation on the place of PE pe; fetching ones return the old value. */
SHMEMI_INLINE uint32_t at_place(const struct lock *l, enum shmemi_amo op, uint32_t operand,
                                uint32_t compare, int pe)
{
    return shmemi_amo32(SHMEM_CTX_DEFAULT, op, l->place, operand, compare, pe, l->call);
}

/* This PE's place in the queue of a lock, as it is now. */
SHMEMI_INLINE uint32_t my_place(const struct lock *l)
{
    return shmemi_on_gpu(l->place) ? (uint32_t)shmemi_read_gpu(l->place, sizeof *l->place, l->call)
                                   : shmemi_observe(l->place);
}

#pragma GCC visibility pop

#endif
