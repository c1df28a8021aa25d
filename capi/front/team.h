/*
 * team.h: sets of PEs.
 *
 * A rank is the number of a PE in a team. Every team that a program can name has a slot, the same
 * one at all of its PEs: an area in the internal part of the heap with a word for each rank and
 * scratch memory for small reductions. An active set has no slot; its messages are in
 * activeset_messages.h.
 */
#ifndef SHMEMI_TEAM_H
#define SHMEMI_TEAM_H

#include "base.h"
#include "steps.h"

#include <shmem/zz_wire.h>

#pragma GCC visibility push(hidden)

/* A team, as this PE sees it. Ranks are numbers of PEs in the team; near members are those on this
 * PE's node. */
struct shmemi_team {
    int32_t n;    /* how many members */
    int32_t me;   /* this PE's rank */
    int32_t *pes; /* by rank */
    /* If stride is not 0, pes[i] is start + stride * i. */
    int32_t start, stride;
    /* The ranks of the members, node by node: those of node i are members[first[i]] to
     * members[first[i + 1] - 1]. Nodes are in the order of their first members, which are called
     * leaders. */
    int32_t *members, *leaders;
    uint32_t *first;
    /* For each node of the job 1 + its index among the team's nodes; 0: no member is there. */
    uint32_t *number;
    uint32_t n_nodes, node; /* how many nodes the team has, and the index of this PE's node */
    /* The ranks of the members on this node, how many they are, and which of them is this PE. */
    const int32_t *near;
    uint32_t n_near, near_rank;
    uint32_t columns;   /* how many members the node with the fewest has */
    uint32_t most_near; /* and the one with the most */
    bool even;          /* all nodes have equally many members */
    bool consecutive;   /* the ranks on each node are consecutive */
    bool in_memory;     /* all members are on this PE's node, with their heaps in main memory */
    /* Messages (message.h): how many this PE has sent to and awaited from each member, by rank, and
     * the offset of the inbox from the user heap, the same at every member. Like the other offsets
     * of a team it is negative: its memory is below the user heap. */
    uint64_t *sent, *seen;
    int64_t inbox;
    /* Exchanges by cache lines (lines.h): how many there were, and the offset of the lines from the
     * user heap. */
    uint64_t line_exchanges;
    int64_t lines;
    struct shmemi_steps steps;
    /* Scratch memory for exchanges (exchange.h), at its address in this process: two sets of slots,
     * used alternately. Such a slot is a place for the values of one member or step, and no team
     * slot. It has slot_size bytes, and a set round_size. NULL: none. */
    char *scratch;
    size_t round_size, slot_size;
    /* Memory for the rounds (pieces) of reductions between nodes (columns.h), at its address in
     * this process; the bytes that a PE sends in a round, and as many that it receives; and how
     * many rounds were begun. NULL: none. */
    char *rounds;
    size_t round_bytes;
    int rounds_place; /* which memory for rounds (team_ids.h) the team has; -1: none */
    uint64_t rounds_begun;
    long *psync; /* an active set's words for its messages (activeset_messages.h); else NULL */
    uint64_t exchanges; /* how many exchanges were begun: their parity selects the set of slots */
    /* Agreements (agree.c): how many there were, the offset of their memory from the user heap, and
     * local memory for four contributions and a byte for each member. */
    uint64_t agreed;
    int64_t agreements;
    char *agreeing;
    int slot;         /* -1: the world, or an active set */
    int num_contexts; /* as the program has configured; shmem_team_get_config returns it */
};

/* The handle of a team is its slot, in the low SHMEMI_TEAM_BITS bits, and above it a generation,
 * which counts the teams that have had the slot. Kernels use the same handles. */

extern struct shmemi_team shmemi_world;

/* Places the team's inbox at an offset from the user heap, which is negative, and its lines after
 * it. Returns the offset of the end of the lines. */
int64_t shmemi_team_place_inbox(struct shmemi_team *t, int64_t inbox);

/* Returns the rank of a PE; -1 if it is not a member. */
int shmemi_team_rank(const struct shmemi_team *t, int pe);

int32_t *shmemi_team_numbers(size_t n); /* an array for n PEs or ranks; NULL: no memory */

/* Returns the index, within the team, of the node of a rank. */
uint32_t shmemi_team_node(const struct shmemi_team *t, int rank);

/* Returns how many members a node has. */
SHMEMI_INLINE uint32_t shmemi_team_members(const struct shmemi_team *t, uint32_t node)
{
    return t->first[node + 1] - t->first[node];
}

/* Returns the rank of the i-th member of a node. */
SHMEMI_INLINE int shmemi_team_at(const struct shmemi_team *t, uint32_t node, uint32_t i)
{
    return t->members[t->first[node] + i];
}

/* Returns the rank of the member that is i members after this PE on this node, round robin. For i =
 * 0 it is this PE. */
SHMEMI_INLINE int shmemi_team_neighbour(const struct shmemi_team *t, uint32_t i)
{
    return t->near[(t->near_rank + i) % t->n_near];
}

/* Returns the index of the node that is i nodes after this one, round robin. For i = n_nodes - 1 it
 * is the node before this one. */
SHMEMI_INLINE uint32_t shmemi_team_other_node(const struct shmemi_team *t, uint32_t i)
{
    return (t->node + i) % t->n_nodes;
}

/* The memory for rounds is divided into places: those of wide teams come first, then those of
 * narrow teams, whose rounds are smaller. */
enum { SHMEMI_ROUNDS_PLACES = SHMEMI_WIDE_TEAMS + SHMEMI_NARROW_TEAMS };

/* Sets t->rounds to the memory for rounds at t->rounds_place, or to NULL if that is -1. */
void shmemi_team_rounds(struct shmemi_team *t);
/* The same for the world, which has memory of its own. */
void shmemi_world_rounds(void);

/* Fills in the fields that follow from t->n and t->pes. Returns 0, or -1 if there is no memory. */
int shmemi_team_place(struct shmemi_team *t);
/* Frees the arrays of a team, and makes it an empty one. The struct itself belongs to the caller.
 */
void shmemi_team_free(struct shmemi_team *t);

#pragma GCC visibility pop

#endif
