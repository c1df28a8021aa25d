/*
 * rounds.h: the memory in which the members of a team on several nodes exchange elements, in rounds
 * (pieces of a reduction, each with its own buffers).
 */
#ifndef SHMEMI_ROUNDS_H
#define SHMEMI_ROUNDS_H

#include "model.h"

#pragma GCC visibility push(hidden)

/* Reports whether the collectives of a team can use columns (the k-th PEs of all nodes): it is on
 * several nodes, and has memory for rounds. */
SHMEMI_INLINE bool shmemi_has_columns(const struct shmemi_team *t)
{
    return shmemi_by_nodes(t) && t->rounds != NULL;
}

/* Reports whether a round of a team with columns has a part for each node: up to 2,048 nodes in the
 * world, 128 in wide teams and 16 in narrow ones. */
SHMEMI_INLINE bool shmemi_has_parts(const struct shmemi_team *t)
{
    return shmemi_has_columns(t) && shmemi_part_bytes(t) >= SHMEMI_LEAST_PART;
}

/* Returns the memory into which this PE receives in a round of a team. The memory from which it
 * sends comes before it. */
SHMEMI_INLINE char *shmemi_round_received(const struct shmemi_team *t, uint64_t round)
{
    return t->rounds + (round % SHMEMI_COLUMN_ROUNDS * 2 + 1) * t->round_bytes;
}

/* Returns the part of a round's memory into which the members of a node send. */
SHMEMI_INLINE char *shmemi_round_part(const struct shmemi_team *t, uint64_t round, uint32_t node)
{
    return shmemi_round_received(t, round) + shmemi_part_bytes(t) * node;
}

#pragma GCC visibility pop

#endif
