/* team_always.h: makes the predefined teams, such as the world. */
#ifndef SHMEMI_TEAM_ALWAYS_H
#define SHMEMI_TEAM_ALWAYS_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* shmemi_teams_open makes the predefined teams at init; it returns 0, or -1 if there is no memory.
 * shmemi_teams_close frees them at finalize, with all teams of the program. */
int shmemi_teams_open(void);
void shmemi_teams_close(void);

#pragma GCC visibility pop

#endif
