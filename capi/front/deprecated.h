/*
 * deprecated.h: functions that only deprecated names of OpenSHMEM need.
 */
#ifndef SHMEMI_DEPRECATED_H
#define SHMEMI_DEPRECATED_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Implements start_pes: initialises the library unless it is, and finalizes it when the program
 * exits. npes has no meaning. */
void shmemi_start_pes(int npes, const char *call);
/* Implements the calls for caches (shmem_set_cache_inv and others) by a memory fence. */
void shmemi_coherent(const char *call);

#pragma GCC visibility pop

#endif
