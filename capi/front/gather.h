/* gather.h: combines elements from where members of a team have them. */
#ifndef SHMEMI_GATHER_H
#define SHMEMI_GATHER_H

#include "below.h"
#include "team.h"

#pragma GCC visibility push(hidden)

/* Elements are combined in pieces of so many bytes, so that the accumulator stays in the
 * second-level cache. */
enum { SHMEMI_PIECE = 64 << 10 };

/*
 * acc = the combination of nelems elements at the symmetric address `at` of n members, in their
 * order: ranks, or those from 0 on if that is NULL. acc is in main memory. Loads reach near
 * members; from others, and from the memory of a GPU, the elements are fetched.
 */
void shmemi_gather(struct shmemi_team *t, const int32_t *ranks, uint32_t n, void *acc,
                   const void *at, size_t nelems, const struct shmemi_reducer *reducer,
                   const char *call);

#pragma GCC visibility pop

#endif
