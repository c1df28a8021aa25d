/*
 * teams.h: numbers for teams that are the same at each member, so that traces of PEs can be
 * compared. A library's handle is no such number: it may be an address, or the number of a slot.
 *
 * The number of a team is made of its members, and of how many teams of the same members there
 * were before. That of the team of all PEs, and of active sets with all PEs, is 0.
 */
#ifndef PRELOAD_TEAMS_H
#define PRELOAD_TEAMS_H

#include "preload.h"

/* The PE is known. f is the call that has initialised the library. */
void preload_teams_open(const struct preload_frame *f, int npes);

/* After a call that makes teams or a context, or removes them. */
void preload_teams_changed(const struct preload_frame *f, int status);

/* The number of the team of a call. False: it has none. The library is asked for the members of a
 * team that is new to the shim. */
bool preload_team_of(const struct preload_frame *f, uint32_t *team);

/* The PE of a call in the numbers of the job; those of a context are of the context's team. */
int preload_team_pe(const struct preload_frame *f, int pe);

/* For the writer: describes the teams that it has not described since the last reset. */
void preload_teams_describe(void);
void preload_teams_reset(void);

#endif
