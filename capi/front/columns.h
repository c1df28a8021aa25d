/*
 * columns.h: reductions of a team on several nodes.
 *
 * The members of a node share the elements of a reduction among them, and the k-th members of all
 * nodes are a column, which reduces the k-th share. So each element crosses the network as if there
 * were one PE a node, by as many PEs, and so NICs, as a node has.
 */
#ifndef SHMEMI_COLUMNS_H
#define SHMEMI_COLUMNS_H

#include "below.h"
#include "model.h"

#pragma GCC visibility push(hidden)

/* The least part of a round for each node. */
enum { SHMEMI_COLUMN_LEAST = 256 };

/* Reports whether a team has columns: it is on several nodes, and has room for rounds. */
SHMEMI_INLINE bool shmemi_has_columns(const struct shmemi_team *t)
{
    return shmemi_by_nodes(t) && t->rounds != NULL &&
           t->round_bytes / t->n_nodes >= SHMEMI_COLUMN_LEAST;
}

/* The bytes of a part of a round, of which each node has one. */
SHMEMI_INLINE size_t shmemi_part_bytes(const struct shmemi_team *t)
{
    return t->round_bytes / t->n_nodes & ~(size_t)(SHMEMI_CACHE_LINE - 1);
}

/* Where this PE receives what a member of a node sends in a round of a team. */
SHMEMI_INLINE char *shmemi_round_part(const struct shmemi_team *t, uint64_t round, uint32_t node)
{
    return t->rounds + (round % SHMEMI_COLUMN_ROUNDS * 2 + 1) * t->round_bytes +
           shmemi_part_bytes(t) * node;
}

/* As shmemi_coll_reduce. dest may be source. */
void shmemi_columns_reduce(struct shmemi_team *t, char *dest, const char *source, size_t nelems,
                           const struct shmemi_reducer *reducer, const char *call);

/* As shmemi_reducescatter, of a team with as many members on each node. dest and source have no
 * byte in common. */
void shmemi_columns_scatter(struct shmemi_team *t, char *dest, const char *source, size_t nelems,
                            const struct shmemi_reducer *reducer, const char *call);

#pragma GCC visibility pop

#endif
