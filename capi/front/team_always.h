/* team_always.h: makes the predefined teams, such as the world. */
#ifndef SHMEMI_TEAM_ALWAYS_H
#define SHMEMI_TEAM_ALWAYS_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Makes the predefined teams, at init. Returns 0, or -1 if there is no memory. */
int shmemi_teams_open(void);
/* Frees, at finalize, the predefined teams and all teams of the program. */
void shmemi_teams_close(void);

#pragma GCC visibility pop

#endif
