/* report.h: reports of long waits. */
#ifndef SHMEMI_REPORT_H
#define SHMEMI_REPORT_H

#include "waiter.h"

#pragma GCC visibility push(hidden)

/* Reports a wait when SHMEM_TIMEOUT is over, or when a signal has asked for a report. */
void shmemi_report(struct shmemi_waiter *w, uint64_t now);

/* Shows a wait to other processes (shmem-info --live), if it is not shown yet. A wait that finds no
 * free place is not shown. */
void shmemi_show(struct shmemi_waiter *w);
void shmemi_unshow(struct shmemi_waiter *w);

#pragma GCC visibility pop

#endif
