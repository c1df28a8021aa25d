/*
 * activity.h: what a PE does, for the reports of PEs that wait for it.
 *
 * A PE notes long waits and its ends: a wait of 10 ms, the barrier of shmem_finalize, exit().
 * Shorter calls note nothing.
 */
#ifndef SHMEMI_ACTIVITY_H
#define SHMEMI_ACTIVITY_H

#include "waiter.h"

#pragma GCC visibility push(hidden)

/* After init. */
void shmemi_activity_open(void);

/* shmem_finalize has passed its barrier, and the core has yet to close. */
void shmemi_activity_part(void);

/* Notes a wait that has become long, or shows anew, after some time, what late PEs do. Sets
 * w->entry where there was room for it. */
void shmemi_activity_show(struct shmemi_waiter *w, uint64_t now);

/* Ends a wait that was noted. */
void shmemi_activity_unshow(struct shmemi_waiter *w);

enum { SHMEMI_LATE = 4 };

/* The PEs that a wait is for: all is set to how many there are, pes to the first of them. Returns
 * how many are in pes. */
int shmemi_activity_late(const struct shmemi_waiter *w, int32_t pes[SHMEMI_LATE], int *all);

/* struct shmemi_init_args.doing and .finalized */
void shmemi_activity_doing(int pe, unsigned how, char *text, size_t size);
void shmemi_activity_finalized(void);

#pragma GCC visibility pop

#endif
