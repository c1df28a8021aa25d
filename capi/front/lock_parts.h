/*
 * lock_parts.h: the word of a lock, for lock.c and lock_late.c.
 */
#ifndef SHMEMI_LOCK_PARTS_H
#define SHMEMI_LOCK_PARTS_H

#include "front.h"
#include "gpu.h"

#pragma GCC visibility push(hidden)

/* The bits of a PE's entry in a lock's queue: the lower half of the lock's variable, a long, at
 * that PE (member place of struct lock). With WITHOUT_QUEUE, bits 21 to 28 select the PE at which
 * the entry's PE takes the lock (lock_late.c). An entry of 0: the PE does not use the lock. */
enum {
    NEXT = (1 << 21) - 1,    /* the next PE in the queue, plus one */
    WITHOUT_QUEUE = 1 << 29, /* a PE was lost: the lock is set without the queue (lock_late.c) */
    WAITS = 1 << 30,         /* the PE waits for the lock */
};
#define QUEUED (1u << 31) /* this PE has the lock, or waits for it */

/* The two halves of a lock are addressed separately, in the order of a little-endian machine. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the tail is the upper half");
_Static_assert(sizeof(long) == 8, "a lock has two halves");

/* A lock, as a call of this PE sees it: the addresses of its halves, the PE that has its tail, and
 * the name of the call. */
struct lock {
    uint32_t *place, *tail;
    int home;
    const char *call;
};

/* Returns this PE's number in a lock, in which 0 means no PE. */
SHMEMI_INLINE uint32_t me_plus_one(void)
{
    return (uint32_t)shmemi_state.my_pe + 1;
}

/* Performs an atomic operation on PE pe's entry in the lock's queue (place). compare is for
 * compare-and-swap; other operations ignore it. Only fetching operations return the old value, and
 * only they are complete at a PE of another node when this returns. */
SHMEMI_INLINE uint32_t at_place(const struct lock *l, enum shmemi_amo op, uint32_t operand,
                                uint32_t compare, int pe)
{
    return shmemi_amo32(SHMEM_CTX_DEFAULT, op, l->place, operand, compare, pe, l->call);
}

/* Returns the present value of this PE's entry in the queue of a lock. */
SHMEMI_INLINE uint32_t my_place(const struct lock *l)
{
    return shmemi_on_gpu(l->place) ? (uint32_t)shmemi_read_gpu(l->place, sizeof *l->place, l->call)
                                   : shmemi_observe(l->place);
}

#pragma GCC visibility pop

#endif
