/*
 * team.h: sets of PEs.
 *
 * A rank is a number in a team. Every team that a program can name has a slot, the same one at all
 * of its PEs: an area in the internal part of the heap with a word for each rank and scratch for
 * small reductions. An active set has none; its messages are in activeset_messages.h.
 */
#ifndef SHMEMI_TEAM_H
#define SHMEMI_TEAM_H

#include "base.h"
#include "steps.h"

#include <shmem/zz_wire.h>

#pragma GCC visibility push(hidden)

struct shmemi_team {
    int32_t n;
    int32_t me;   /* this PE's rank */
    int32_t *pes; /* by rank */
    /* pes[i] is start + stride * i; stride 0: there is no such rule. */
    int32_t start, stride;
    /* The members node by node, as ranks: those of a node begin at its number in first, which has
     * one number more. Nodes have the order of their first members, the leaders. */
    int32_t *members, *leaders;
    uint32_t *first;
    uint32_t *number; /* of each node of the job, and 1; 0: it has no member */
    uint32_t n_nodes, node;
    /* Those on this PE's node. */
    const int32_t *near;
    uint32_t n_near, near_rank;
    uint32_t columns;       /* the members of the node that has the fewest */
    bool even, consecutive; /* all nodes have as many; those of each have consecutive ranks */
    bool in_memory;         /* all are on this PE's node, with their heaps in main memory */
    /* Messages: how many were sent to and received from each member, and the offset of their words,
     * below the user heap. */
    uint64_t *sent, *seen;
    int64_t inbox;
    /* Exchanges by lines (lines.h): how many there were, and the offset of the lines. */
    uint64_t line_exchanges;
    int64_t lines;
    struct shmemi_steps steps;
    /* Two rounds of slots of slot_size bytes; NULL: none. */
    char *scratch;
    size_t round_size, slot_size;
    /* Rounds between nodes (columns.h), and how many there were; NULL: no room for them. */
    char *rounds;
    size_t round_bytes;
    uint64_t rounds_begun;
    long *psync; /* of an active set, instead: where its messages are counted (activeset_messages.h)
                  */
    uint64_t exchanges;
    /* Agreements (agree.c): how many there were, their offset below the user heap, and memory for
     * four contributions and a byte for each member. */
    uint64_t agreed;
    int64_t agreements;
    char *agreeing;
    int slot;
    int num_contexts;
};

/* The handle of a team is its slot, in the low SHMEMI_TEAM_BITS bits, and a generation above.
 * Kernels use the same handles. */

extern struct shmemi_team shmemi_world;

/* Sets where the team's words begin, below the user heap, and its lines behind them. Returns the
 * offset of what follows. */
int64_t shmemi_team_inbox(struct shmemi_team *t, int64_t inbox);

/* The rank of a PE; -1 if it is no member. */
int shmemi_team_rank(const struct shmemi_team *t, int pe);

int32_t *shmemi_team_numbers(size_t n); /* room for n PEs */

/* The number of the node of a rank. */
uint32_t shmemi_team_node(const struct shmemi_team *t, int rank);

SHMEMI_INLINE uint32_t shmemi_team_members(const struct shmemi_team *t, uint32_t node)
{
    return t->first[node + 1] - t->first[node];
}

/* The rank of the member with a number on a node. */
SHMEMI_INLINE int shmemi_team_at(const struct shmemi_team *t, uint32_t node, uint32_t number)
{
    return t->members[t->first[node] + number];
}

/* The rank of the i-th other member of this node, beginning behind this PE; 0: its own. */
SHMEMI_INLINE int shmemi_team_neighbour(const struct shmemi_team *t, uint32_t i)
{
    return t->near[(t->near_rank + i) % t->n_near];
}

/* The number of the i-th node behind this one, of which the last is the one before it. */
SHMEMI_INLINE uint32_t shmemi_team_other_node(const struct shmemi_team *t, uint32_t i)
{
    return (t->node + i) % t->n_nodes;
}

/* Gives the team of a slot its rounds between nodes, where there is room for them; -1: the world.
 */
void shmemi_team_rounds(struct shmemi_team *t, int slot);

/* Fills in the fields that follow from t->n and t->pes: 0, or -1: no memory. */
int shmemi_team_place(struct shmemi_team *t);
void shmemi_team_free(struct shmemi_team *t);

#pragma GCC visibility pop

#endif
