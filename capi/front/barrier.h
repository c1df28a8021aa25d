/* barrier.h: the members of a team meet. */
#ifndef SHMEMI_BARRIER_H
#define SHMEMI_BARRIER_H

#include "team.h"

#pragma GCC visibility push(hidden)

/* Waits until all members have called it. */
void shmemi_team_meet(struct shmemi_team *t, const char *call);

/* The same for all PEs of the job, without a fence. */
void shmemi_meet_all(const char *call);

/* Starts counting again; at init. */
void shmemi_barrier_open(void);

#pragma GCC visibility pop

#endif
