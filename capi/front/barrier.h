/* barrier.h: syncs of the members of a team. */
#ifndef SHMEMI_BARRIER_H
#define SHMEMI_BARRIER_H

#include "team.h"

#pragma GCC visibility push(hidden)

/* Waits until all members have called it. Earlier loads and stores of each are then visible to all;
 * operations on the network may not be complete. */
void shmemi_sync_members(struct shmemi_team *t, const char *call);

/* Waits until the members on this PE's node have called it. For use within a collective call. */
void shmemi_sync_node(struct shmemi_team *t, const char *call);

/* Waits until all PEs of the job have called it. It is no fence: the caller's stores may be seen
 * later. */
void shmemi_sync_world(const char *call);

/* At init: resets the count of barriers, so that the job's first one has number 1. */
void shmemi_barrier_open(void);

#pragma GCC visibility pop

#endif
