/*
 * agree.h: agreements of the members of a team, of whom some may die meanwhile.
 */
#ifndef SHMEMI_AGREE_H
#define SHMEMI_AGREE_H

#include "team.h"

#pragma GCC visibility push(hidden)

enum { SHMEMI_MOST_SLOTS = 1 << SHMEMI_TEAM_BITS };

/* A member's contribution, and the common result: flags that every member has set, slots that every
 * member has free, and a bit for each rank that some member knows to be lost. */
struct shmemi_common {
    int64_t flags;
    uint64_t free[SHMEMI_MOST_SLOTS / 64];
    uint64_t lost[];
};

SHMEMI_INLINE size_t shmemi_common_size(const struct shmemi_team *t)
{
    return sizeof(struct shmemi_common) + ((size_t)t->n + 63) / 64 * sizeof(uint64_t);
}

/*
 * Replaces c, of shmemi_common_size, by what the members have in common. All members that return
 * get the same, even when PEs die meanwhile: the contribution of each member that is not lost in
 * it. It fails no call for a loss. All members that are alive call it, and only one thread of a PE
 * for the same team at once.
 */
void shmemi_agree(struct shmemi_team *t, struct shmemi_common *c, const char *call);

/* Gives a team room for agreements, at the end of the area of a slot. 0, or -1: no memory. */
int shmemi_agree_open(struct shmemi_team *t, uint32_t slot);

/* Waits until no operation of this PE is under way to a PE that is alive. It reports no
 * failure. */
void shmemi_team_settle(struct shmemi_team *t, const char *call);

SHMEMI_INLINE bool shmemi_common_lost(const struct shmemi_common *c, int rank)
{
    return c->lost[rank / 64] >> rank % 64 & 1;
}

#pragma GCC visibility pop

#endif
