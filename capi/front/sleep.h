/* sleep.h: how a thread that waits sleeps until a writer wakes it. */
#ifndef SHMEMI_SLEEP_H
#define SHMEMI_SLEEP_H

#include "waiter.h"

#pragma GCC visibility push(hidden)

/* Registers the process for the membarrier that sleepers issue. That is cheap while the process has
 * one thread and takes some milliseconds afterwards, so init does it first. Reports whether
 * sleepers may rely on it. */
bool shmemi_register_sleepers(void);

/* Does one step of the preparation for a sleep: announces the sleeper, or makes sure that the
 * membarrier has run after which writers see the announcement. Returns true if the thread may
 * sleep, after one more check of its condition. */
bool shmemi_prepare_sleep(struct shmemi_waiter *w);

/* What has ended a sleep. */
enum shmemi_sleep_end {
    SHMEMI_WOKEN,       /* by a writer */
    SHMEMI_OVERSLEPT,   /* by the time limit: the thread may sleep again */
    SHMEMI_INTERRUPTED, /* by a signal */
};

/* Sleeps for up to ns nanoseconds. Preconditions: shmemi_prepare_sleep has returned true, and after
 * that the condition did not hold. */
enum shmemi_sleep_end shmemi_sleep(struct shmemi_waiter *w, uint64_t ns);

#pragma GCC visibility pop

#endif
