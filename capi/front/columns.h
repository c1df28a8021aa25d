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
#include "rounds.h"

#pragma GCC visibility push(hidden)

/* As shmemi_coll_reduce. dest may be source. */
void shmemi_columns_reduce(struct shmemi_team *t, char *dest, const char *source, size_t nelems,
                           const struct shmemi_reducer *reducer, const char *call);

/* As shmemi_reducescatter, of a team with as many members on each node. dest and source have no
 * byte in common. */
void shmemi_columns_scatter(struct shmemi_team *t, char *dest, const char *source, size_t nelems,
                            const struct shmemi_reducer *reducer, const char *call);

#pragma GCC visibility pop

#endif
