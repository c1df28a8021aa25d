/*
 * teams.h: numbers for teams that are the same at each member, so that traces of PEs can be
 * compared. A library's handle is not such a number: it may be an address, or the number of a slot.
 *
 * The number of a team is a hash of its members and of how many teams had the same members before.
 * The number of the team of all PEs, and of active sets with all PEs, is 0.
 */
#ifndef PRELOAD_TEAMS_H
#define PRELOAD_TEAMS_H

#include "preload.h"

/* Called once, when the library is initialised: finds the library's functions for teams, and the
 * handle of the team of all PEs. f is the call of the program after which the shim has learnt of
 * the init, and npes the number of PEs. */
void preload_teams_open(const struct preload_frame *f, int npes);

/* Called after a call that has made teams or a context: stores them. */
void preload_teams_add(const struct preload_frame *f);
/* Called before a call that destroys a team or context: marks it, and stores in f->team the number
 * of the team. */
void preload_teams_remove(struct preload_frame *f);

/* Sets *team to the number of the team of a call. Returns false if the call has none. For a team
 * that is new to the shim, it queries the library for the members. */
bool preload_team_of(const struct preload_frame *f, uint32_t *team);

/* Returns the number in the job of the PE that a call names: a call on a context names PEs by their
 * ranks in the context's team. */
int preload_team_pe(const struct preload_frame *f, int pe);

/* Writes the members of each team that were not written since the last reset, as one event for each
 * team. Only the thread that writes records calls it. */
void preload_teams_describe(void);
/* Makes preload_teams_describe write all teams again. It is called for each new file. */
void preload_teams_reset(void);

#endif
