/*
 * team_always.c: the predefined teams: the world, and some parts of the job.
 *
 * Kernels find a team's slot by the low bits of its handle, so each of these teams has the slot of
 * the same number as its handle. The exception is SHMEM_TEAM_SHARED: it has slot 0, and kernels
 * know that (shmemi_team_entry in device/shmem/team.h).
 */
#include "team_always.h"

#include "agree.h"
#include "gpu.h"
#include "activeset_messages.h"
#include "team_ids.h"
#include "team.h"

#include <shmemx.h>

#include <stdlib.h>

/* Returns the place of a predefined team in the memory for rounds, if it is on several nodes. The
 * two that may be, SHMEMX_TEAM_SAME_MYPE_NODE and SHMEMX_TEAM_GPU_LEADERS, have the places that no
 * other team gets (team_ids.c). */
static int rounds_place_of(shmem_team_t team)
{
    return team == SHMEMX_TEAM_SAME_MYPE_NODE ? 0 : 1;
}

/* Makes a predefined team, whose handle is `team`, of n PEs; it owns the array pes. Returns 0, or
 * -1 if there is no memory, or if pes is NULL. */
static int add_team(shmem_team_t team, int32_t *pes, int n)
{
    struct shmemi_team *t = &shmemi_always[team];
    *t = (struct shmemi_team){.n = n, .pes = pes};
    int slot = team == SHMEM_TEAM_SHARED ? 0 : team;
    if (pes == NULL || shmemi_team_place(t) != 0)
        return -1;
    t->rounds_place = t->n_nodes > 1 ? rounds_place_of(team) : -1;
    if (shmemi_team_id_occupy(t, slot, "shmem_init") != 0)
        return -1;
    shmemi_kernels_show(t, team, "shmem_init");
    return 0;
}

/* Adds a team of the PEs of this node. This function and the next two return 0, or -1 if there is
 * no memory. */
static int add_node(shmem_team_t team)
{
    const struct shmemi_state *s = &shmemi_state;
    int32_t *pes = malloc(s->node_pes * sizeof *pes);
    if (pes != NULL)
        memcpy(pes, s->node_members, s->node_pes * sizeof *pes);
    return add_team(team, pes, (int)s->node_pes);
}

/* Adds the team of the PEs, one on each node, that have the same rank among the PEs of their node
 * as this PE has on its own. A node with fewer PEs has none. */
static int add_same_node_rank(void)
{
    const struct shmemi_state *s = &shmemi_state;
    int32_t *pes = malloc(s->n_nodes * sizeof *pes);
    uint32_t *seen = calloc(s->n_nodes, sizeof *seen); /* how many PEs of each node were passed */
    uint32_t place = 0; /* this PE's rank on its node: node_members is ascending */
    int n = 0;
    while (place < s->node_pes && s->node_members[place] != s->my_pe)
        place++;
    for (uint32_t pe = 0; pes != NULL && seen != NULL && pe < s->n_pes; pe++)
        if (seen[s->node_of[pe]]++ == place)
            pes[n++] = (int32_t)pe;
    if (seen == NULL) {
        free(pes);
        pes = NULL;
    }
    free(seen);
    return add_team(SHMEMX_TEAM_SAME_MYPE_NODE, pes, n);
}

/* Adds the team of the PEs that have this PE's GPU, or of the first PE of each GPU. For a PE that
 * is not the first PE of its GPU the latter team does not exist. A PE without a GPU counts as one
 * with a GPU of its own (gpu_first). */
static int add_by_gpu(shmem_team_t team)
{
    const struct shmemi_state *s = &shmemi_state;
    bool leaders = team == SHMEMX_TEAM_GPU_LEADERS;
    int n = 0;
    if (leaders && s->gpu_first[s->my_pe] != s->my_pe)
        return 0;
    int32_t *pes = malloc(s->n_pes * sizeof *pes);
    for (int32_t pe = 0; pes != NULL && pe < (int32_t)s->n_pes; pe++)
        if (s->gpu_first[pe] == (leaders ? pe : s->gpu_first[s->my_pe]))
            pes[n++] = pe;
    return add_team(team, pes, n);
}

/* Adds a predefined team whose only member is this PE. Returns 0, or -1 if there is no memory. */
static int add_alone(shmem_team_t team)
{
    int32_t *pes = malloc(sizeof *pes);
    if (pes != NULL)
        *pes = shmemi_state.my_pe;
    return add_team(team, pes, 1);
}

/* Makes the predefined teams other than the world. Returns 0, or -1 if there is no memory. */
static int open_always(void)
{
    return add_node(SHMEM_TEAM_SHARED) != 0 || add_node(SHMEMX_TEAM_NODE) != 0 ||
                   add_same_node_rank() != 0 || add_by_gpu(SHMEMX_TEAM_SAME_GPU) != 0 ||
                   add_by_gpu(SHMEMX_TEAM_GPU_LEADERS) != 0 || add_alone(SHMEMX_TEAM_MC_SHARED) != 0
               ? -1
               : 0;
}

/* Makes the world team, with its inbox and scratch memory in the internal area, and the other
 * predefined teams. Returns 0, or -1 if there is no memory. */
int shmemi_teams_open(void)
{
    const struct shmemi_state *s = &shmemi_state;
    struct shmemi_team *w = &shmemi_world;
    shmemi_world = (struct shmemi_team){.n = (int32_t)s->n_pes, .slot = -1};
    w->pes = shmemi_team_numbers(s->n_pes);
    w->sent = calloc(s->n_pes, sizeof *w->sent);
    w->seen = calloc(s->n_pes, sizeof *w->seen);
    for (int32_t pe = 0; w->pes != NULL && pe < w->n; pe++)
        w->pes[pe] = pe;
    if (w->pes == NULL || w->sent == NULL || w->seen == NULL || shmemi_team_place(w) != 0 ||
        open_always() != 0 ||
        /* The world's agreements are in the area after those of the max_teams slots. */
        shmemi_agree_open(w, s->max_teams) != 0) {
        shmemi_teams_close();
        return -1;
    }
    shmemi_team_place_inbox(w, -(int64_t)s->inbox_offset);
    w->scratch = s->scratch;
    w->round_size = s->scratch_size / 2;
    w->slot_size = SHMEMI_SLOT;
    shmemi_world_rounds();
    return 0;
}

/* At finalize: frees all teams. */
void shmemi_teams_close(void)
{
    shmemi_activesets_close();
    shmemi_slots_close();
    for (int i = 0; i < SHMEMI_FIRST_TEAM_ID; i++)
        shmemi_team_free(&shmemi_always[i]);
    shmemi_team_free(&shmemi_world);
}
