/*
 * counters.h: implements the shmemx_ calls that read the library's counters of operations and
 * bytes, which the core counts.
 */
#ifndef SHMEMI_COUNTERS_H
#define SHMEMI_COUNTERS_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Each implements the shmemx call of its name. All end the program before init. */
int shmemi_counter_count(const char *call);
const char *shmemi_counter_name(int id, const char *call);
int shmemi_counter_find(const char *name, const char *call);
int shmemi_counter_get(int id, int pe, uint64_t *value, const char *call);
int shmemi_counter_nics(const char *call);
const char *shmemi_counter_nic_name(int nic, const char *call);
int shmemi_counter_get_nic(int id, int nic, uint64_t *value, const char *call);

#pragma GCC visibility pop

#endif
