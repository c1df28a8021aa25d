/*
 * ranges.h: ranges that show the library's calls to a profiler (SHMEM_NVTX).
 *
 * A range is a call of the program: it has the call's name, and its group is its category. Ranges
 * of one thread nest. Without the setting, or without a profiler that listens, shmemi_state.ranges
 * is 0, and a range costs one check of it; the inline functions of front.h do not even check.
 */
#ifndef SHMEMI_RANGES_H
#define SHMEMI_RANGES_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Shows the call from here to the end of the block, where its group is shown. */
#define SHMEMI_RANGE(group, call) SHMEMI_RANGE_IF(SHMEMI_RANGE_##group, call)
#define SHMEMI_RANGE_IF(group, call)                                                               \
    bool shmemi_ranged __attribute__((cleanup(shmemi_range_end), unused)) =                        \
        SHMEMI_UNLIKELY(shmemi_state.ranges & (group)) && shmemi_range_begin((group), (call))

bool shmemi_range_begin(uint32_t group, const char *call);
void shmemi_range_end(const bool *begun);

/* For the core, as struct shmemi_init_args describes them. */
int shmemi_ranges_open(uint32_t groups);
void shmemi_range_enter(int of, uint32_t group, const char *name);
void shmemi_range_leave(int of);

/* Around init: the call that joins this process to a job, and whether it has. */
void shmemi_ranges_await(const char *call);
void shmemi_ranges_settle(bool joined);

#pragma GCC visibility pop

#endif
