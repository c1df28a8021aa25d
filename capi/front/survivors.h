/* survivors.h: the team of the members of a team that are alive. */
#ifndef SHMEMI_SURVIVORS_H
#define SHMEMI_SURVIVORS_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Implements shmemx_team_survivors: all members of parent_team that are alive call it. Returns 0,
 * or -1 if the team is invalid, or there is no memory or no free team slot; the same on all of
 * them. */
int shmemi_team_survivors(shmem_team_t parent_team, shmem_team_t *new_team, const char *call);

#pragma GCC visibility pop

#endif
