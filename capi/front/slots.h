/*
 * slots.h: the slots of teams, and their handles.
 */
#ifndef SHMEMI_SLOTS_H
#define SHMEMI_SLOTS_H

#include "team.h"

#pragma GCC visibility push(hidden)

/* The first slot of those that splits take. The others are for teams that are always there. */
enum { SHMEMI_FIRST_SLOT = 7 };

/* The teams that are always there, but the world; without PEs: there is none. */
extern struct shmemi_team shmemi_always[SHMEMI_FIRST_SLOT]; /* by handle */

/* The team of such a handle, the world not among them; NULL: it is none. */
struct shmemi_team *shmemi_team_always(shmem_team_t team);

/* The team of a handle; NULL for SHMEM_TEAM_INVALID. Does not return for others
 * that are no team. */
struct shmemi_team *shmemi_team_of(shmem_team_t team, const char *call);

/* A team of n PEs, whose numbers are taken over; NULL: no memory. */
struct shmemi_team *shmemi_team_new(int32_t *pes, int n, int num_contexts);
void shmemi_team_drop(struct shmemi_team *t); /* NULL: nothing happens */

/* The slots that this PE has free, and the lowest one of a set from a number on; -1. */
void shmemi_slots_free(uint64_t *out);
int shmemi_slots_lowest(const uint64_t *bits, int from);

/* Takes the slots for those of n teams that are not NULL; false: another thread has
 * taken one meanwhile. And gives them back. */
bool shmemi_slots_claim(struct shmemi_team **made, const int *slots, int n);
void shmemi_slots_disclaim(struct shmemi_team **made, const int *slots, int n);

/* Gives a team the place of its slot in the internal area, and in the memory of kernels:
 * 0, or -1: no memory. */
int shmemi_slot_occupy(struct shmemi_team *t, int slot, const char *call);

/* The handle of a team that has its slot from now on; kernels are told. */
shmem_team_t shmemi_slot_name(const struct shmemi_team *t, const char *call);

/* Gives back the slot of a team, and drops it. */
void shmemi_slot_release(struct shmemi_team *t);

bool shmemi_teams_made(void); /* there are others than those that are always there */

/* At finalize: drops those. */
void shmemi_slots_close(void);

#pragma GCC visibility pop

#endif
