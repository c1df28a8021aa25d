/*
 * alltoall_steps.h: an all-to-all of a team on many nodes, in log2 n steps between them.
 */
#ifndef SHMEMI_ALLTOALL_STEPS_H
#define SHMEMI_ALLTOALL_STEPS_H

#include "team.h"

#pragma GCC visibility push(hidden)

/* Reports whether shmemi_alltoall_steps can serve blocks of nbytes bytes, and takes less modelled
 * time than a message to each node. */
bool shmemi_alltoall_has_steps(const struct shmemi_team *t, size_t nbytes);

/* Performs an alltoall of blocks for which shmemi_alltoall_has_steps returns true. */
void shmemi_alltoall_steps(struct shmemi_team *t, char *dest, const char *source, size_t nbytes,
                           const char *call);

#pragma GCC visibility pop

#endif
