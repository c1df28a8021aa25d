/*
 * column_dest.h: reductions of a team on several nodes that need no memory but dest.
 */
#ifndef SHMEMI_COLUMN_DEST_H
#define SHMEMI_COLUMN_DEST_H

#include "below.h"
#include "team.h"

#pragma GCC visibility push(hidden)

/* Returns how many of nelems elements shmemi_column_dest can reduce: the largest multiple of the
 * number of PEs that share the work, or 0 if a node has only one member. */
size_t shmemi_column_dest_elements(const struct shmemi_team *t, size_t nelems);

/* Reduces nelems elements, as many as shmemi_column_dest_elements returns. t is a team or an active
 * set on several nodes. dest may be source. */
void shmemi_column_dest(struct shmemi_team *t, char *dest, const char *source, size_t nelems,
                        const struct shmemi_reducer *reducer, const char *call);

#pragma GCC visibility pop

#endif
