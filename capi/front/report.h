/* report.h: reports of long waits. */
#ifndef SHMEMI_REPORT_H
#define SHMEMI_REPORT_H

#include "waiter.h"

#pragma GCC visibility push(hidden)

/* Reports a wait in the log if it has lasted SHMEM_TIMEOUT (again after each further
 * SHMEM_TIMEOUT), or if a signal has requested a report. A long wait calls it again and again; now:
 * the time. */
void shmemi_report(struct shmemi_waiter *w, uint64_t now);

/* Publishes a wait in the status page, for other processes (shmem-info --live). It does nothing if
 * the page has no free entry. */
void shmemi_publish_wait(struct shmemi_waiter *w);
/* Removes a wait from the status page, where it is (w->shown is not 0). */
void shmemi_withdraw_wait(struct shmemi_waiter *w);

#pragma GCC visibility pop

#endif
