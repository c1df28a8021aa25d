/*
 * lock.h: implements shmem_set_lock, shmem_clear_lock and shmem_test_lock.
 */
#ifndef SHMEMI_LOCK_H
#define SHMEMI_LOCK_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Each implements the shmem call of its name. A lock belongs to a PE, not to a thread. */
void shmemi_set_lock(long *lock, const char *call);
void shmemi_clear_lock(long *lock, const char *call);
int shmemi_test_lock(long *lock, const char *call); /* 0: this PE has set it now; else 1 */

#pragma GCC visibility pop

#endif
