/*
 * team.c: where the members of a team are.
 */
#include "team.h"

#include <stdlib.h>

struct shmemi_team shmemi_world;

/* Allocates an array of n numbers; NULL if there is no memory. For n = 0, for which malloc may
 * return NULL, it allocates one number. */
int32_t *shmemi_team_numbers(size_t n)
{
    return malloc((n ? n : 1) * sizeof(int32_t));
}

/* Sets start and stride of a team whose PEs are at equal distances, from which ranks are computed
 * without a list. stride stays 0 if they are not. */
static void find_stride(struct shmemi_team *t)
{
    t->start = t->pes[0];
    t->stride = t->n > 1 ? t->pes[1] - t->pes[0] : 1;
    for (int i = 1; i < t->n; i++)
        if (t->pes[i] - t->pes[i - 1] != t->stride)
            t->stride = 0;
}

/* Places the team's inbox at the offset `inbox`, and its lines (cache lines for small collectives
 * on a node) right after it. The inbox has one word for each PE of the job, also for a small team,
 * so that the areas of all team slots have the same layout. Returns the offset after the lines. */
int64_t shmemi_team_place_inbox(struct shmemi_team *t, int64_t inbox)
{
    size_t words = shmemi_state.n_pes * sizeof(uint64_t);
    t->inbox = inbox;
    t->lines =
        inbox + (int64_t)((words + SHMEMI_CACHE_LINE - 1) & ~(size_t)(SHMEMI_CACHE_LINE - 1));
    t->line_exchanges = 0;
    return t->lines + SHMEMI_LINES_BYTES;
}

/* Sets t->rounds to memory `before` rounds' bytes behind the beginning of that for rounds. Each
 * round has two halves: what a PE sends, and what it receives. */
static void place_rounds(struct shmemi_team *t, size_t before, size_t round_bytes)
{
    const struct shmemi_state *s = &shmemi_state;
    t->rounds_begun = 0;
    t->round_bytes = round_bytes;
    t->rounds =
        s->peer_base[s->my_pe] - s->columns_offset + 2 * (size_t)SHMEMI_COLUMN_ROUNDS * before;
}

/* Sets the memory of a team for the rounds of reductions between nodes, if it has any. */
void shmemi_team_rounds(struct shmemi_team *t)
{
    const size_t wide = SHMEMI_WIDE_TEAMS, place = (size_t)t->rounds_place;
    t->rounds = NULL;
    if (t->rounds_place < 0)
        return;
    if (place < wide)
        place_rounds(t, SHMEMI_WORLD_ROUND + SHMEMI_TEAM_ROUND * place, SHMEMI_TEAM_ROUND);
    else
        place_rounds(
            t, SHMEMI_WORLD_ROUND + SHMEMI_TEAM_ROUND * wide + SHMEMI_NARROW_ROUND * (place - wide),
            SHMEMI_NARROW_ROUND);
}

/* Sets the memory of the world for rounds. */
void shmemi_world_rounds(void)
{
    place_rounds(&shmemi_world, 0, SHMEMI_WORLD_ROUND);
}

/* Returns the index, within the team, of the node of a member. */
uint32_t shmemi_team_node(const struct shmemi_team *t, int rank)
{
    return t->number[shmemi_state.node_of[t->pes[rank]]] - 1;
}

/* Numbers the team's nodes from 1, in the order of their first members (leaders), and sets
 * t->number, t->leaders and t->n_nodes. Counts the members of each node: t->columns becomes the
 * smallest count, t->most_near the largest, and t->first[i] the index in t->members at which the
 * members of the node with the number i + 1 begin. */
static void number_nodes(struct shmemi_team *t)
{
    const struct shmemi_state *s = &shmemi_state;
    for (int rank = 0; rank < t->n; rank++) {
        uint32_t *node = &t->number[s->node_of[t->pes[rank]]];
        if (*node == 0) {
            t->leaders[t->n_nodes++] = rank;
            *node = t->n_nodes;
        }
        t->first[*node]++;
    }
    t->columns = t->most_near = t->first[1];
    for (uint32_t i = 1; i <= t->n_nodes; i++) {
        t->columns = t->first[i] < t->columns ? t->first[i] : t->columns;
        t->most_near = t->first[i] > t->most_near ? t->first[i] : t->most_near;
        t->first[i] += t->first[i - 1];
    }
}

/* Enters each member in t->members, after the members of its node that have lower ranks. This
 * advances t->first, which is moved back at the end. */
static void sort_members_by_node(struct shmemi_team *t)
{
    const struct shmemi_state *s = &shmemi_state;
    for (int rank = 0; rank < t->n; rank++) {
        int32_t pe = t->pes[rank];
        uint32_t node = shmemi_team_node(t, rank), *at = &t->first[node];
        if (pe == s->my_pe) {
            t->me = rank;
            t->node = node;
            t->near_rank = *at;
        }
        t->consecutive &= rank == 0 || node >= shmemi_team_node(t, rank - 1);
        t->members[(*at)++] = rank;
        t->in_memory &= s->near_base[pe] != NULL;
    }
    for (uint32_t i = t->n_nodes; i > 0; i--)
        t->first[i] = t->first[i - 1];
    t->first[0] = 0;
}

/* Fills in the fields of a team that follow from its PEs: sorts the members by node, and finds this
 * PE among them. Returns 0, or -1 if there is no memory. */
int shmemi_team_place(struct shmemi_team *t)
{
    const struct shmemi_state *s = &shmemi_state;
    size_t n = (size_t)t->n, nodes = s->n_nodes < n ? s->n_nodes : n;
    t->number = calloc(s->n_nodes, sizeof *t->number);
    t->members = shmemi_team_numbers(n);
    t->leaders = shmemi_team_numbers(nodes);
    t->first = calloc(nodes + 1, sizeof *t->first);
    if (t->members == NULL || t->leaders == NULL || t->first == NULL || t->number == NULL)
        return -1;
    find_stride(t);
    t->me = -1;
    t->in_memory = t->consecutive = true;
    number_nodes(t);
    sort_members_by_node(t);
    t->even = (size_t)t->columns * t->n_nodes == n;
    if (t->me >= 0) {
        t->near = t->members + t->first[t->node];
        t->n_near = t->first[t->node + 1] - t->first[t->node];
        t->near_rank -= t->first[t->node];
    }
    t->steps = shmemi_plan_steps(t->n_near, t->near_rank);
    return 0;
}

/* Frees the arrays of a team, and makes it an empty one. The struct itself belongs to the caller.
 */
void shmemi_team_free(struct shmemi_team *t)
{
    free(t->pes);
    free(t->members);
    free(t->first);
    free(t->number);
    free(t->leaders);
    free(t->sent);
    free(t->seen);
    free(t->agreeing);
    *t = (struct shmemi_team){0};
}

/* Returns the rank of a PE in a team, or -1: by a division if the team's PEs are at equal
 * distances, else by a search. */
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
