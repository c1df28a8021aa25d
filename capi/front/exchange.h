/* exchange.h: reductions of a few values that collective calls of the library use themselves. */
#ifndef SHMEMI_EXCHANGE_H
#define SHMEMI_EXCHANGE_H

#include "below.h"
#include "team.h"

#pragma GCC visibility push(hidden)

/*
 * Combines what all members pass as mine, in the same order on all PEs and so with the same result
 * bit for bit, and stores the result in dest. Returns when all members have called it, so it is
 * also a barrier. At most slot_size bytes. After the loss of a PE the result is not valid
 * (shmemi_collective_unbroken in failure.h).
 */
void shmemi_exchange(struct shmemi_team *t, void *dest, const void *mine, size_t nelems,
                     const struct shmemi_reducer *reducer, const char *call);

/* Exchanges like shmemi_exchange, but only among the first members of the nodes (leaders), with the
 * values and the result in acc. The other members do not wait and have no result, but all members
 * call it, so that all count the same number of exchanges. */
void shmemi_exchange_leaders(struct shmemi_team *t, void *acc, size_t nelems,
                             const struct shmemi_reducer *reducer, const char *call);

/* Combines the values of the members up to this one, itself included, in the order of ranks, to
 * acc, which has this one's own at the call; at most slot_size bytes. Ends with a sync. */
void shmemi_exchange_prefix(struct shmemi_team *t, void *acc, size_t nelems,
                            const struct shmemi_reducer *reducer, const char *call);

/* Does what shmemi_exchange_prefix and shmemi_exchange do, in one exchange: stores the prefix in
 * acc, and the combination of all members in all. At most half of slot_size bytes. */
void shmemi_exchange_both(struct shmemi_team *t, void *acc, void *all, const void *mine,
                          size_t nelems, const struct shmemi_reducer *reducer, const char *call);

/* Returns the slots of the next exchange of a team. Its scratch memory has two sets of slots, which
 * exchanges use alternately. Two are enough: a PE starts exchange k + 2 only when every PE has
 * begun exchange k + 1, and a PE begins that after it has read the slots of exchange k. */
char *shmemi_exchange_slots(struct shmemi_team *t);

/* Adds each of n words of 64 bits to that of acc: the reducer of a sum. */
void shmemi_add_u64(void *acc, const void *in, size_t n);
/* Stores in acc the minimum of each of n signed words of 64 bits: the reducer of a minimum. */
void shmemi_min_i64(void *acc, const void *in, size_t n);

#pragma GCC visibility pop

#endif
