/* team_always.h: the teams that are always there. */
#ifndef SHMEMI_TEAM_ALWAYS_H
#define SHMEMI_TEAM_ALWAYS_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* At init: 0, or -1: no memory. At finalize, with all others. */
int shmemi_teams_open(void);
void shmemi_teams_close(void);

#pragma GCC visibility pop

#endif
