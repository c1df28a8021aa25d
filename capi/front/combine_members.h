/* combine_members.h: combines elements that members of a team have at one symmetric address. */
#ifndef SHMEMI_COMBINE_MEMBERS_H
#define SHMEMI_COMBINE_MEMBERS_H

#include "below.h"
#include "team.h"

#pragma GCC visibility push(hidden)

/* Elements are combined in pieces of this many bytes, so that the accumulator stays in the
 * second-level cache. */
enum { SHMEMI_PIECE = 64 << 10 };

/*
 * Combines nelems elements at the symmetric address `at` of n members, in the order of ranks, and
 * stores the result in acc; ranks NULL: members 0 to n - 1. With n = 0 acc stays as it is. acc is
 * in main memory, and does not overlap the elements. Elements of members on this node are loaded
 * where they are. Elements of other members, and in the memory of a GPU, are copied to this PE
 * first.
 */
void shmemi_combine_members(struct shmemi_team *t, const int32_t *ranks, uint32_t n, void *acc,
                            const void *at, size_t nelems, const struct shmemi_reducer *reducer,
                            const char *call);

#pragma GCC visibility pop

#endif
