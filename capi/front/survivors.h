/* survivors.h: the team of the members of a team that are alive. */
#ifndef SHMEMI_SURVIVORS_H
#define SHMEMI_SURVIVORS_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Implements shmemx_team_survivors. Returns 0, or -1 if there is no memory or no free team slot. */
int shmemi_team_survivors(shmem_team_t parent_team, shmem_team_t *new_team, const char *call);

#pragma GCC visibility pop

#endif
