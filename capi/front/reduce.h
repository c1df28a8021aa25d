/* reduce.h: reductions and scans of a team; coll.h has other collectives. */
#ifndef SHMEMI_REDUCE_H
#define SHMEMI_REDUCE_H

#include "below.h"
#include "team.h"

#pragma GCC visibility push(hidden)

/* These implement the reductions and the scans of a team. They return 0, or non-zero if the team is
 * invalid or a PE is lost. inclusive: a PE's own elements are part of its result. */
int shmemi_reduce(shmem_team_t team, void *dest, const void *source, size_t nelems,
                  const struct shmemi_reducer *reducer, const char *call);
int shmemi_scan(shmem_team_t team, void *dest, const void *source, size_t nelems, bool inclusive,
                const struct shmemi_reducer *reducer, const char *call);

/* Reduces in a team whose collective call has begun. */
void shmemi_coll_reduce(struct shmemi_team *t, void *dest, const void *source, size_t nelems,
                        const struct shmemi_reducer *reducer, const char *call);

/* Reduces so that each PE reduces a share of the elements, for any number of elements. dest may be
 * source. */
void shmemi_coll_reduce_shares(struct shmemi_team *t, char *dest, const char *source, size_t nelems,
                               const struct shmemi_reducer *reducer, const char *call);

/* Combines this PE's share: the other PEs have written their elements of it into their blocks of
 * dest, which have `share` elements each, and its own are in source. The result replaces this PE's
 * own block in dest. */
void shmemi_combine_blocks(struct shmemi_team *t, char *dest, const char *source, size_t share,
                           const struct shmemi_reducer *reducer, const char *call);

#pragma GCC visibility pop

#endif
