/* lock_late.h: locks when PEs are lost. */
#ifndef SHMEMI_LOCK_LATE_H
#define SHMEMI_LOCK_LATE_H

#include "lock_parts.h"

#pragma GCC visibility push(hidden)

/* Where a PE is lost: take a lock, and clear one. This PE's place is taken, by this thread. False,
 * only with once: another PE may have the lock, and the place is given back. */
bool shmemi_lock_late(const struct lock *l, bool once);
void shmemi_unlock_late(const struct lock *l, uint32_t place);

/* For the report of a wait. */
void shmemi_describe_lock(const void *subject, char *text, size_t size);

#pragma GCC visibility pop

#endif
