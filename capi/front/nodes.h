/*
 * nodes.h: collect, fcollect and alltoall of a team on several nodes.
 *
 * A block crosses the network once for each node, and not for each PE that gets it. Small blocks of
 * a node are sent in one message.
 */
#ifndef SHMEMI_NODES_H
#define SHMEMI_NODES_H

#include "lines.h"
#include "model.h"

#pragma GCC visibility push(hidden)

/* Collects the blocks of all members at each member, in the order of ranks. dest is an offset from
 * the user heap, and each PE has already copied its own block to where it belongs there. */
void shmemi_nodes_collect(struct shmemi_team *t, int64_t dest, const struct shmemi_blocks *blocks,
                          const char *call);

/* Reports whether shmemi_nodes_alltoall can serve blocks of nbytes bytes, and is faster than a
 * message for each block. */
bool shmemi_nodes_swaps(const struct shmemi_team *t, size_t nbytes);

/* Copies blocks that a rank has sent to this node, one of nbytes bytes for each member, to dest of
 * the members, an offset from the user heap. They are there when shmemi_nodes_sync returns. */
void shmemi_nodes_pass_on(struct shmemi_team *t, int64_t dest, int rank, const char *blocks,
                          size_t nbytes, const char *call);
/* Waits until all members of this node have called it, and the bytes that each has copied to the
 * others are visible. */
void shmemi_nodes_sync(struct shmemi_team *t, const char *call);

/* Performs an alltoall of blocks for which shmemi_nodes_swaps returns true. */
void shmemi_nodes_alltoall(struct shmemi_team *t, char *dest, const char *source, size_t nbytes,
                           const char *call);

#pragma GCC visibility pop

#endif
