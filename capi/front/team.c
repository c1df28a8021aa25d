/*
 * team.c: the members of a team.
 */
#include "team.h"

#include <stdlib.h>

struct shmemi_team shmemi_world;

int32_t *shmemi_team_numbers(size_t n)
{
    return malloc((n ? n : 1) * sizeof(int32_t));
}

/* Sets start and stride of teams that follow a rule. */
static void find_rule(struct shmemi_team *t)
{
    t->start = t->pes[0];
    t->stride = t->n > 1 ? t->pes[1] - t->pes[0] : 1;
    for (int i = 1; i < t->n; i++)
        if (t->pes[i] - t->pes[i - 1] != t->stride)
            t->stride = 0;
}

int64_t shmemi_team_inbox(struct shmemi_team *t, int64_t inbox)
{
    size_t words = shmemi_state.n_pes * sizeof(uint64_t);
    t->inbox = inbox;
    t->lines =
        inbox + (int64_t)((words + SHMEMI_CACHE_LINE - 1) & ~(size_t)(SHMEMI_CACHE_LINE - 1));
    t->line_exchanges = 0;
    return t->lines + SHMEMI_LINES_BYTES;
}

int shmemi_team_place(struct shmemi_team *t)
{
    const struct shmemi_state *s = &shmemi_state;
    size_t n = (size_t)t->n;
    t->near = shmemi_team_numbers(n);
    t->leaders = shmemi_team_numbers(s->n_nodes < n ? s->n_nodes : n);
    bool *seen = calloc(s->n_nodes, sizeof *seen);
    if (t->near == NULL || t->leaders == NULL || seen == NULL) {
        free(seen);
        return -1;
    }
    find_rule(t);
    t->me = -1;
    t->in_memory = true;
    for (int rank = 0; rank < t->n; rank++) {
        int32_t pe = t->pes[rank];
        uint32_t node = (uint32_t)s->node_of[pe];
        if (pe == s->my_pe) {
            t->me = rank;
            t->near_rank = t->n_near;
        }
        if (node == s->node)
            t->near[t->n_near++] = rank;
        t->in_memory &= s->near_base[pe] != NULL;
        if (seen[node])
            continue;
        seen[node] = true;
        if (node == s->node)
            t->node = t->n_nodes;
        t->leaders[t->n_nodes++] = rank;
    }
    free(seen);
    t->steps = shmemi_plan_steps(t->n_near, t->near_rank);
    return 0;
}

void shmemi_team_free(struct shmemi_team *t)
{
    free(t->pes);
    free(t->near);
    free(t->leaders);
    free(t->sent);
    free(t->seen);
    free(t->agreeing);
    *t = (struct shmemi_team){0};
}

int shmemi_team_rank(const struct shmemi_team *t, int pe)
{
    if (t->stride != 0) {
        int64_t distance = (int64_t)pe - t->start;
        int64_t rank = distance / t->stride;
        return rank >= 0 && rank < t->n && rank * t->stride == distance ? (int)rank : -1;
    }
    for (int rank = 0; rank < t->n; rank++)
        if (t->pes[rank] == pe)
            return rank;
    return -1;
}
