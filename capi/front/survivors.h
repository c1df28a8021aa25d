/* survivors.h: the team of the members of a team that are alive. */
#ifndef SHMEMI_SURVIVORS_H
#define SHMEMI_SURVIVORS_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Behind shmemx_team_survivors: 0, or -1 if there is no memory or no team slot. */
int shmemi_team_survivors(shmem_team_t parent_team, shmem_team_t *new_team, const char *call);

#pragma GCC visibility pop

#endif
