/*
 * agree.h: what the members of a team agree on while some of them die.
 */
#ifndef SHMEMI_AGREE_H
#define SHMEMI_AGREE_H

#include "team.h"

#pragma GCC visibility push(hidden)

enum { SHMEMI_MOST_SLOTS = 1 << SHMEMI_TEAM_BITS };

/* What a member gives, and what all get: flags that each has, slots that each has
 * free, and a bit for each rank that somebody knows to be lost. */
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
 * Replaces c, of shmemi_common_size, by what the members have in common. Whoever
 * returns has the same, also when PEs die meanwhile; it holds what each member gave
 * that is not lost in it. It tells no thread of a loss. All members that are alive
 * call it, and nobody else of this PE for the same team at once.
 */
void shmemi_agree(struct shmemi_team *t, struct shmemi_common *c, const char *call);

/* Gives a team room for agreements, at the end of the area of a slot. 0, or -1: no memory. */
int shmemi_agree_open(struct shmemi_team *t, uint32_t slot);

/* Nothing that this PE has sent is under way to a PE that is alive. The thread is not
 * told of what cannot be. */
void shmemi_team_settle(struct shmemi_team *t, const char *call);

SHMEMI_INLINE bool shmemi_common_lost(const struct shmemi_common *c, int rank)
{
    return c->lost[rank / 64] >> rank % 64 & 1;
}

#pragma GCC visibility pop

#endif
