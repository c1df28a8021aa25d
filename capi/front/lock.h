/*
 * lock.h: implements shmem_set_lock, shmem_clear_lock and shmem_test_lock.
 */
#ifndef SHMEMI_LOCK_H
#define SHMEMI_LOCK_H

#include "base.h"

#pragma GCC visibility push(hidden)

void shmemi_set_lock(long *lock, const char *call);
void shmemi_clear_lock(long *lock, const char *call);
int shmemi_test_lock(long *lock, const char *call); /* 0: this PE has set it */

#pragma GCC visibility pop

#endif
