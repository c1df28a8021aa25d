/*
 * activity.h: what a PE is doing, for the reports of PEs that wait for it.
 *
 * A PE records in its control page that it has waited for 10 ms, is in the barrier of
 * shmem_finalize, or is in exit(). Shorter calls write nothing.
 */
#ifndef SHMEMI_ACTIVITY_H
#define SHMEMI_ACTIVITY_H

#include "waiter.h"

#pragma GCC visibility push(hidden)

/* At the end of init: publishes that this PE runs, and registers the handler that records its exit
 * status. */
void shmemi_activity_open(void);

/* Publishes that this PE has passed the barrier of shmem_finalize. The caller then waits, in the
 * core, for the other PEs to leave. */
void shmemi_activity_leave(void);

/* Publishes a wait that has become long in this PE's control page, and from time to time looks up
 * again what the awaited PEs are doing. Sets w->entry if the page had room for the wait. */
void shmemi_activity_publish(struct shmemi_waiter *w, uint64_t now);

/* Removes a wait, which shmemi_activity_publish has published, from the control page. */
void shmemi_activity_withdraw(struct shmemi_waiter *w);

/* The largest number of PEs that the report of a wait names. */
enum { SHMEMI_LATE = 4 };

/* Lists the PEs for which a wait waits: sets *all to how many they are, and writes the first of
 * them to pes. Returns how many are in pes. */
int shmemi_activity_late(const struct shmemi_waiter *w, int32_t pes[SHMEMI_LATE], int *all);

/* Called by the core (struct shmemi_init_args.doing): writes what PE pe is doing. how is a set of
 * SHMEMI_DOING_ bits. */
void shmemi_activity_doing(int pe, unsigned how, char *text, size_t size);
/* Called by the core (struct shmemi_init_args.finalized): publishes that this PE has left the job.
 */
void shmemi_activity_finalized(void);

#pragma GCC visibility pop

#endif
