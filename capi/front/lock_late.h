/* lock_late.h: locks when PEs are lost. */
#ifndef SHMEMI_LOCK_LATE_H
#define SHMEMI_LOCK_LATE_H

#include "lock_parts.h"

#pragma GCC visibility push(hidden)

/* Take and free a lock after a PE was lost. The calling thread has taken this PE's place in the
 * queue. shmemi_lock_late waits for the lock, or, with once, tries only: false means that another
 * PE may hold the lock, and the place is free again. */
bool shmemi_lock_late(const struct lock *l, bool once);
void shmemi_unlock_late(const struct lock *l, uint32_t place);

/* Writes which lock a wait is for. */
void shmemi_describe_lock(const void *subject, char *text, size_t size);

#pragma GCC visibility pop

#endif
