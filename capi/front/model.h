/*
 * model.h: which algorithm a collective call uses between nodes.
 *
 * All members of a team choose the same algorithm, because they compute it from the same numbers:
 * the team, the size, what the provider's messages cost, and the value of SHMEM_COLLECTIVES on PE
 * 0.
 */
#ifndef SHMEMI_MODEL_H
#define SHMEMI_MODEL_H

#include "team.h"

#pragma GCC visibility push(hidden)

/* Reports whether a team or an active set is on several nodes, and the members of each work
 * together. */
SHMEMI_INLINE bool shmemi_set_by_nodes(const struct shmemi_team *t)
{
    return t->n_nodes > 1 && !(shmemi_state.collectives & SHMEMI_COLLECTIVES_FLAT);
}

/* The same of a team, with messages and memory of its own. */
SHMEMI_INLINE bool shmemi_by_nodes(const struct shmemi_team *t)
{
    return t->psync == NULL && shmemi_set_by_nodes(t);
}

/* Returns the number of steps of an exchange in pairs among the largest power of two of n nodes. */
SHMEMI_INLINE uint32_t shmemi_steps_in_pairs(uint32_t n)
{
    return 31 - (uint32_t)__builtin_clz(n);
}

/* Returns the largest power of two up to n. */
SHMEMI_INLINE uint32_t shmemi_power_below(uint32_t n)
{
    return 1u << shmemi_steps_in_pairs(n);
}

/* Returns how many blocks a node sends in step i of an all-to-all in steps (alltoall_steps.c): how
 * many numbers below n have bit i. */
SHMEMI_INLINE uint32_t shmemi_blocks_of_step(uint32_t n, uint32_t i)
{
    uint32_t rest = n & ((2u << i) - 1), bit = 1u << i;
    return (n >> i >> 1 << i) + (rest > bit ? rest - bit : 0);
}

/* The smallest part of a round's memory that each node can have, in bytes. */
enum { SHMEMI_LEAST_PART = 256 };

/* Returns the bytes of one part of a round's memory; each node has one part. */
SHMEMI_INLINE size_t shmemi_part_bytes(const struct shmemi_team *t)
{
    return t->round_bytes / t->n_nodes & ~(size_t)(SHMEMI_CACHE_LINE - 1);
}

/* Returns how many bytes a round can reduce in pairs: its memory has a part for each step, and one
 * for the elements of a node beyond the largest power of two. */
SHMEMI_INLINE size_t shmemi_pairs_limit(const struct shmemi_team *t)
{
    uint32_t parts = shmemi_steps_in_pairs(t->n_nodes) + 1;
    return t->round_bytes / parts & ~(size_t)(SHMEMI_CACHE_LINE - 1);
}

/* Returns how many bytes a round can reduce in halves: its memory has the elements of a node beyond
 * the largest power of two, and those that the steps receive, which are fewer together. Between two
 * steps less than a cache line and an element is unused, and there are fewer than 21 steps. */
SHMEMI_INLINE size_t shmemi_halves_limit(const struct shmemi_team *t)
{
    return (t->round_bytes - 2048) / 2 & ~(size_t)(SHMEMI_CACHE_LINE - 1);
}

/* How a column reduces its share of `bytes` bytes. A column is the k-th members of all nodes, and
 * reduces the k-th share of the elements (columns.c, column_steps.c). STRAIGHT: each member sends
 * its share to all; PAIRS, HALVES: pairs of members exchange all of it or a half; OWNERS: each
 * member combines a block of it, and sends the result to all. */
enum shmemi_reduction { SHMEMI_STRAIGHT, SHMEMI_PAIRS, SHMEMI_HALVES, SHMEMI_OWNERS };
enum shmemi_reduction shmemi_model_reduction(const struct shmemi_team *t, size_t bytes);

/* Returns how many bytes of each block a round of a reducescatter in halves has room for
 * (column_scatter.c). It receives all blocks of a node beyond the largest power of two, and in the
 * steps fewer than two for each node, with less than a cache line between two steps. */
SHMEMI_INLINE size_t shmemi_scatter_limit(const struct shmemi_team *t)
{
    return (t->round_bytes - 2048) / 3 / t->n_nodes;
}
/* Reports whether a reducescatter of blocks of `bytes` bytes, with elements of `size` bytes, goes
 * in halves: a round has room for an element of each, and it takes less modelled time than a
 * message to each node, or a round has no part for each. */
bool shmemi_model_scatters_in_halves(const struct shmemi_team *t, size_t bytes, size_t size);

/* Reports whether a team reduces `bytes` bytes in dest (column_dest.c) and not in rounds: if it has
 * no memory for rounds, or so many rounds would take longer. */
bool shmemi_model_in_dest(const struct shmemi_team *t, size_t bytes);

/* Reports whether the cost model predicts that n PEs, each on its own node or all on one node,
 * combine `bytes` bytes of each PE faster in pairs, with partners at distances of 1, 2, 4 and so on
 * (recursive doubling), than if each PE sends its bytes to all the others. */
bool shmemi_model_pairs(uint32_t n, size_t bytes);

/* The tree of a broadcast of nbytes bytes: how many nodes each node sends to, and the size of the
 * pieces in bytes. */
struct shmemi_tree {
    uint32_t children;
    size_t piece;
};
struct shmemi_tree shmemi_model_tree(const struct shmemi_team *t, size_t nbytes);
/* Returns to how many nodes each node sends in a broadcast of one piece. */
uint32_t shmemi_model_children(const struct shmemi_team *t, size_t nbytes);

/* Reports whether n nodes exchange messages in pairs: n is a power of two, and in each step the
 * messages of one node acknowledge those of its partner. */
SHMEMI_INLINE bool shmemi_in_pairs(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

/* Reports whether the first PEs of nodes (leaders), which have `bytes` bytes each, exchange them in
 * steps, each of which doubles what a leader has. Otherwise each sends to all the others. */
bool shmemi_model_doubles(const struct shmemi_team *t, size_t bytes);

/* Reports whether a collect sends the blocks of a node's members, `bytes` bytes together, to
 * another node in one message. Otherwise each member sends its block to each other node. */
bool shmemi_model_packs(const struct shmemi_team *t, size_t bytes);

/* Reports whether an all-to-all sends the blocks for the members of a node, of `nbytes` bytes each,
 * in one message. Otherwise each goes to its member by itself. */
bool shmemi_model_swaps_packed(const struct shmemi_team *t, size_t nbytes);

/* Reports whether an all-to-all of blocks for nodes, of `bytes` bytes each, takes less modelled
 * time in steps than with a message for each block. */
bool shmemi_model_swaps_in_steps(const struct shmemi_team *t, size_t bytes);

/* Reports whether SHMEM_COLLECTIVES selects a message for each block of a collect. */
bool shmemi_model_apart(void);

#pragma GCC visibility pop

#endif
