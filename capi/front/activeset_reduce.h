/*
 * activeset_reduce.h: reductions on active sets that are not all PEs of the job.
 */
#ifndef SHMEMI_ACTIVESET_REDUCE_H
#define SHMEMI_ACTIVESET_REDUCE_H

#include "below.h"
#include "team.h"

#pragma GCC visibility push(hidden)

/* Reduces nelems elements in a set whose collective call has begun. pwrk is the program's memory
 * for it, with SHMEM_REDUCE_MIN_WRKDATA_SIZE elements or more; many elements do not use it. */
void shmemi_activeset_reduce_members(struct shmemi_team *t, void *dest, const void *source,
                                     size_t nelems, void *pwrk,
                                     const struct shmemi_reducer *reducer, const char *call);

#pragma GCC visibility pop

#endif
