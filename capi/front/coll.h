/*
 * coll.h: what the collectives are made of.
 */
#ifndef SHMEMI_COLL_H
#define SHMEMI_COLL_H

#include "below.h"
#include "team.h"

#pragma GCC visibility push(hidden)

/* coll.c. Do the others of a node read what is broadcast, and not the root write it? */
bool shmemi_coll_pulls(size_t n);

/* End the job when the arguments cannot be. */
void shmemi_coll_check_broadcast(const struct shmemi_team *t, const void *dest, const void *source,
                                 size_t nbytes, int root, const char *call);
void shmemi_coll_check_alltoalls(const struct shmemi_team *t, const void *dest, const void *source,
                                 ptrdiff_t dst, ptrdiff_t sst, size_t nelems, size_t size,
                                 const char *call);

/* reduce.c. Each PE reduces a share of the elements, for any number of them. */
void shmemi_coll_reduce_shares(struct shmemi_team *t, char *dest, const char *source, size_t nelems,
                               const struct shmemi_reducer *reducer, const char *call);

/* barrier.c. Starts counting again; at init. */
void shmemi_barrier_open(void);

#pragma GCC visibility pop

#endif
