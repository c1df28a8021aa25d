/*
 * survivors.c: the team of the members of a team that are alive.
 *
 * It takes two agreements (agree.h). The first is about which members are lost and about a team
 * slot that all others have free. The second, when each member has made its team, confirms that all
 * have. If a PE dies or a thread occupies the slot in between, the second result shows that, the
 * same on all survivors, and all begin again.
 */
#include "survivors.h"

#include "agree.h"
#include "error.h"
#include "failure.h"
#include "team_ids.h"
#include "team.h"
#include "wait.h"
#include "waiter.h"

#include <stdio.h>
#include <stdlib.h>

/* The flags of the second agreement: the member had memory for its team, and has claimed the
 * slot. In the first agreement all members contribute GOOD. */
enum { MEMORY = 1, CLAIMED = 2, GOOD = MEMORY | CLAIMED };

/* Fills in this PE's contribution to an agreement: the numbers of teams (slots) that are free at
 * this PE, and the losses of which it knows. */
static void fill_contribution(const struct shmemi_team *t, struct shmemi_common *c)
{
    memset(c, 0, shmemi_common_size(t));
    c->flags = GOOD;
    shmemi_team_ids_free(c->free);
    for (int rank = 0; rank < t->n; rank++)
        if (shmemi_is_lost(t->pes[rank]))
            c->lost[rank / 64] |= (uint64_t)1 << rank % 64;
}

/* For the hang report: names the PE whose loss the core has yet to list. */
static void describe(const void *subject, char *text, size_t size)
{
    snprintf(text, size, "to learn of the loss of PE %d", *(const int *)subject);
}

/* Handles the losses on which the members have agreed: calls the core's give_up for each that this
 * PE does not know of, and waits until it is in this PE's list of losses. From then on this PE
 * drops messages of the lost PE, even if another PE was the first to detect the loss. */
static void report_losses(const struct shmemi_team *t, const struct shmemi_common *c,
                          const char *call)
{
    for (int rank = 0; rank < t->n; rank++) {
        int pe = t->pes[rank];
        if (rank == t->me || !shmemi_common_lost(c, rank) || shmemi_is_lost(pe))
            continue;
        shmemi_state.core->give_up(pe);
        SHMEMI_WAIT_FOR(shmemi_my_ctl(), call, describe, &pe, shmemi_is_lost(pe),
                        .whom = SHMEMI_NOBODY);
    }
}

/* Makes the team of those members of t that are not lost according to c, without a slot yet; NULL
 * if there is no memory. */
static struct shmemi_team *make_remaining(const struct shmemi_team *t,
                                          const struct shmemi_common *c)
{
    int32_t *pes = malloc((size_t)t->n * sizeof *pes);
    int n = 0;
    for (int rank = 0; pes != NULL && rank < t->n; rank++)
        if (!shmemi_common_lost(c, rank))
            pes[n++] = t->pes[rank];
    return pes == NULL ? NULL : shmemi_team_new(pes, n, t->num_contexts);
}

/* Tries once to make the team of the survivors, by the two agreements of this file, in *made.
 * Returns 1 if it is made, 0 to try again because another PE was lost or a slot was taken
 * meanwhile, and -1 if it cannot be made. The result is the same on every PE that is alive. */
static int try_to_make(struct shmemi_team *parent, struct shmemi_team **made, const char *call)
{
    size_t size = shmemi_common_size(parent);
    /* The third and the fourth part of that memory: shmemi_agree uses the first two. */
    struct shmemi_common *lost = (void *)(parent->agreeing + 2 * size),
                         *all = (void *)(parent->agreeing + 3 * size);
    fill_contribution(parent, lost);
    shmemi_agree(parent, lost, call);
    struct shmemi_team_id id = shmemi_team_ids_choose(lost->free, 0);
    if (shmemi_common_lost(lost, parent->me) || id.slot < 0)
        return -1;
    report_losses(parent, lost, call);
    *made = make_remaining(parent, lost);
    bool claimed = *made != NULL && shmemi_team_ids_claim(made, &id, 1);
    bool placed = claimed && shmemi_team_id_occupy(*made, id.slot, call) == 0;
    fill_contribution(parent, all);
    all->flags = (*made != NULL && (placed || !claimed) ? MEMORY : 0) | (claimed ? CLAIMED : 0);
    shmemi_agree(parent, all, call);
    const size_t lost_bytes = size - sizeof *lost; /* the length of their arrays `lost` */
    if (all->flags == GOOD && memcmp(all->lost, lost->lost, lost_bytes) == 0)
        return 1;
    if (claimed)
        shmemi_team_ids_disclaim(made, &id, 1);
    shmemi_team_drop(*made);
    return all->flags & MEMORY ? 0 : -1;
}

/* Makes a team of the PEs of parent_team that are not lost. It tries until all survivors have
 * agreed, because a PE may be lost meanwhile, or until one of them lacks memory. Returns 0, or -1.
 */
int shmemi_team_survivors(shmem_team_t parent_team, shmem_team_t *new_team, const char *call)
{
    struct shmemi_team *parent = shmemi_team_of(parent_team, call), *made = NULL;
    int rc;
    if (new_team == NULL)
        shmemi_abort(call, "pass the address of a shmem_team_t", "new_team is NULL");
    *new_team = SHMEM_TEAM_INVALID;
    if (parent == NULL)
        return -1;
    /* Messages of a collective call that a loss has broken must not arrive later, when another team
     * has the slot. */
    shmemi_team_settle(parent, call);
    do
        rc = try_to_make(parent, &made, call);
    while (rc == 0);
    if (rc < 0)
        return -1;
    shmemi_acknowledge_losses(parent, made);
    *new_team = shmemi_team_id_name(made, call);
    return 0;
}
