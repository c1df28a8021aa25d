/*
 * columns.h: reductions of a team on several nodes.
 *
 * The members of a node share the elements of a reduction among them, and the k-th members of all
 * nodes are a column, which reduces the k-th share. So an element crosses the network as often as
 * with one PE on each node, while all PEs of a node, with all of its NICs, send at the same time. A
 * column reduces its share in rounds; in each round a member has memory for what it receives,
 * divided into one part for each node.
 */
#ifndef SHMEMI_COLUMNS_H
#define SHMEMI_COLUMNS_H

#include "below.h"
#include "rounds.h"

#pragma GCC visibility push(hidden)

/* Reduces nelems elements of all members to dest on every member, like the team reductions of
 * OpenSHMEM. dest may be source. */
void shmemi_columns_reduce(struct shmemi_team *t, char *dest, const char *source, size_t nelems,
                           const struct shmemi_reducer *reducer, const char *call);

/* Performs a reducescatter for a team that has the same number of members on each node. dest and
 * source must not overlap. */
void shmemi_columns_scatter(struct shmemi_team *t, char *dest, const char *source, size_t nelems,
                            const struct shmemi_reducer *reducer, const char *call);

#pragma GCC visibility pop

#endif
