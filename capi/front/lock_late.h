/* lock_late.h: locks when PEs are lost. */
#ifndef SHMEMI_LOCK_LATE_H
#define SHMEMI_LOCK_LATE_H

#include "lock_parts.h"

#pragma GCC visibility push(hidden)

/* At init: forgets what the PEs of an earlier job knew of its losses. */
void shmemi_lock_late_open(void);

/* Sets a lock after a PE was lost. The calling thread has set this PE's entry in the lock's queue.
 * It waits for the lock; with `once` it only tries, and false means that another PE may have the
 * lock, and that the entry is clear again. */
bool shmemi_lock_late(const struct lock *l, bool once);
/* Clears a lock after a PE was lost, and this PE's entry in the lock's queue. */
void shmemi_unlock_late(const struct lock *l, uint32_t place);

/* Writes which lock a wait is for. */
void shmemi_describe_lock(const void *subject, char *text, size_t size);

#pragma GCC visibility pop

#endif
