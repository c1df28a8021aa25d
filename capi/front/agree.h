/*
 * agree.h: agreements of the members of a team, of whom some may die meanwhile (consensus).
 */
#ifndef SHMEMI_AGREE_H
#define SHMEMI_AGREE_H

#include "team.h"

#pragma GCC visibility push(hidden)

/* How many teams a PE may have at a time. A team occupies one slot, an area of symmetric memory,
 * with the same number on each member. */
enum { SHMEMI_TEAM_SLOTS = 1 << SHMEMI_TEAM_BITS };

/* A member's contribution, or the result: flags that every member has set, team slots that every
 * member has free, and a bit for each rank that some member knows to be lost. */
struct shmemi_common {
    int64_t flags;
    uint64_t free[SHMEMI_TEAM_SLOTS / 64];
    uint64_t lost[];
};

/* Returns the bytes of a struct shmemi_common for a team: one bit of lost for each member. */
SHMEMI_INLINE size_t shmemi_common_size(const struct shmemi_team *t)
{
    return sizeof(struct shmemi_common) + ((size_t)t->n + 63) / 64 * sizeof(uint64_t);
}

/*
 * Replaces c, which has shmemi_common_size bytes, by the combination of all members' contributions.
 * All members that return get the same result, which contains the contribution of each member that
 * is not lost in it, even when PEs die meanwhile. A loss does not fail the call. All members that
 * are alive call it, and only one thread of a PE for the same team at once.
 */
void shmemi_agree(struct shmemi_team *t, struct shmemi_common *c, const char *call);

/* Sets where a team's agreements have their memory: the end of the symmetric area of team slot
 * `slot`, and a buffer. Returns 0, or -1 if there is no memory. */
int shmemi_agree_open(struct shmemi_team *t, uint32_t slot);

/* Waits until all operations of this PE to PEs that are alive are complete. It reports no
 * failure. */
void shmemi_team_settle(struct shmemi_team *t, const char *call);

/* Reports whether some member knows that rank is lost. */
SHMEMI_INLINE bool shmemi_common_lost(const struct shmemi_common *c, int rank)
{
    return c->lost[rank / 64] >> rank % 64 & 1;
}

#pragma GCC visibility pop

#endif
