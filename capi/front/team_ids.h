/*
 * team_ids.h: the numbered slots that teams occupy, the same on all members, and the handles by
 * which programs name them.
 */
#ifndef SHMEMI_TEAM_IDS_H
#define SHMEMI_TEAM_IDS_H

#include "agree.h"
#include "team.h"

#pragma GCC visibility push(hidden)

/* The first slot for teams that a program makes. Lower ones are for predefined teams. */
enum { SHMEMI_FIRST_TEAM_ID = 7 };

/* The predefined teams, without the world. A team without PEs does not exist. */
extern struct shmemi_team shmemi_always[SHMEMI_FIRST_TEAM_ID]; /* by handle */

/* Returns the predefined team, other than the world, with this handle; NULL if there is none. */
struct shmemi_team *shmemi_team_always(shmem_team_t team);

/* Returns the team of a handle; NULL for SHMEM_TEAM_INVALID, and for a predefined team that has no
 * PEs here (SHMEMX_TEAM_GPU_LEADERS at a PE that is no leader). Ends the program if no team has the
 * handle. */
struct shmemi_team *shmemi_team_of(shmem_team_t team, const char *call);

/* Makes a team of n PEs, which owns the array pes; NULL if there is no memory. */
struct shmemi_team *shmemi_team_new(int32_t *pes, int n, int num_contexts);
void shmemi_team_drop(struct shmemi_team *t); /* frees a team; NULL: nothing happens */

/* What a new team gets, the same on all its members: a slot, and a place in the memory for rounds
 * (team.h), which it takes if it is on several nodes. -1: none is free. */
struct shmemi_team_id {
    int32_t slot, rounds;
};

/* Sets a bit of out, which has SHMEMI_TEAM_SLOTS bits, for each slot that this PE has free, and
 * from bit SHMEMI_FIRST_PLACE on one for each place in the memory for rounds. */
enum { SHMEMI_FIRST_PLACE = SHMEMI_TEAM_SLOTS - 64 };
void shmemi_team_ids_free(uint64_t *out);
/* Returns the id of the i-th new team of a call, i from 0 on, by the bits that all its PEs have
 * set.
 */
struct shmemi_team_id shmemi_team_ids_choose(const uint64_t *free, int i);

/* Enters the n teams that are not NULL into their slots. Returns false, and enters none, if another
 * thread has claimed one of the slots or places meanwhile. */
bool shmemi_team_ids_claim(struct shmemi_team **made, const struct shmemi_team_id *ids, int n);
/* Removes the teams from their slots again. */
void shmemi_team_ids_disclaim(struct shmemi_team **made, const struct shmemi_team_id *ids, int n);

/* Sets the memory that a team uses in its slot, in the internal area and in the memory of kernels.
 * Returns 0, or -1 if there is no memory. */
int shmemi_team_id_occupy(struct shmemi_team *t, int slot, const char *call);

/* Returns a new handle for a team that has entered its slot, and publishes the team to kernels. */
shmem_team_t shmemi_team_id_name(const struct shmemi_team *t, const char *call);

/* Frees the slot of a team, and the team. */
void shmemi_slot_release(struct shmemi_team *t);

/* Calls show for each team but the world, with its handle. */
void shmemi_team_ids_each(void (*show)(const struct shmemi_team *t, shmem_team_t handle,
                                       const char *call),
                          const char *call);

/* Returns the highest slot that a team of this PE occupies; at least that of the last predefined
 * team. */
int shmemi_team_ids_highest(void);

bool shmemi_teams_made(void); /* reports whether any team made by the program exists */

/* At finalize: frees the teams that the program has made. */
void shmemi_slots_close(void);

#pragma GCC visibility pop

#endif
