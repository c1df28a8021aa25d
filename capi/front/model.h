/*
 * model.h: which algorithm a collective call uses between nodes.
 *
 * All members of a team choose the same one, because they compute it from the same numbers: the
 * team, the size, what the provider's messages take, and the words of SHMEM_COLLECTIVES on PE 0.
 */
#ifndef SHMEMI_MODEL_H
#define SHMEMI_MODEL_H

#include "team.h"

#pragma GCC visibility push(hidden)

/* Reports whether a team is on several nodes, and the members of each work together. */
SHMEMI_INLINE bool shmemi_by_nodes(const struct shmemi_team *t)
{
    return t->n_nodes > 1 && t->psync == NULL &&
           !(shmemi_state.collectives & SHMEMI_COLLECTIVES_FLAT);
}

/* How a column reduces its share (columns.c). Only parts of up to `part` bytes go in pairs. */
enum shmemi_reduction { SHMEMI_STRAIGHT, SHMEMI_PAIRS, SHMEMI_OWNERS };
enum shmemi_reduction shmemi_model_reduction(const struct shmemi_team *t, size_t bytes,
                                             size_t part);

/* Reports whether n PEs of as many nodes, or of one, that all contribute so many bytes, combine
 * them in pairs, at distances of 1, 2, 4 and so on. Otherwise each sends to each other one. */
bool shmemi_model_pairs(uint32_t n, size_t bytes);

/* A broadcast: how many nodes each node sends to, and in pieces of how many bytes. */
struct shmemi_tree {
    uint32_t children;
    size_t piece;
};
struct shmemi_tree shmemi_model_tree(const struct shmemi_team *t, size_t nbytes);

/* Reports whether n nodes meet in pairs: each step is an exchange of two, in which the messages of
 * one acknowledge those of the other, and n is a power of two. */
SHMEMI_INLINE bool shmemi_in_pairs(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

/* Reports whether blocks that have so many bytes on a node, go to another node together. */
bool shmemi_model_packs(const struct shmemi_team *t, size_t bytes);

#pragma GCC visibility pop

#endif
