/*
 * ranges.h: ranges that show the library's calls to a profiler (SHMEM_NVTX).
 *
 * A range is the time of a call of the program. It has the call's name, and its category is a group
 * of calls (allocations, collectives, waits, ...), which SHMEM_NVTX selects. Ranges of one thread
 * nest. Without the setting, or without a profiler that listens, shmemi_state.ranges is 0, and a
 * range costs one check of it; the inline functions of front.h do not even check.
 */
#ifndef SHMEMI_RANGES_H
#define SHMEMI_RANGES_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Shows the call as a range from here to the end of the block, if its group is selected. */
#define SHMEMI_RANGE(group, call) SHMEMI_RANGE_IF(SHMEMI_RANGE_##group, call)
#define SHMEMI_RANGE_IF(group, call)                                                               \
    bool shmemi_ranged __attribute__((cleanup(shmemi_range_end), unused)) =                        \
        SHMEMI_UNLIKELY(shmemi_state.ranges & (group)) && shmemi_range_begin((group), (call))

/* For SHMEMI_RANGE: begins the range of a call, and returns true. group: one bit, SHMEMI_RANGE_. */
bool shmemi_range_begin(uint32_t group, const char *call);
/* For SHMEMI_RANGE: ends the range if *begun is true. */
void shmemi_range_end(const bool *begun);

/* The core calls the next three functions. */

/* Sets the groups of ranges to show, and returns them. 0: no profiler listens; -1: the library was
 * built without ranges. */
int shmemi_ranges_open(uint32_t groups);
/* Begins a range of this thread in a domain: SHMEMI_RANGES_OF_CALLS or _PROXY. */
void shmemi_range_enter(int domain, uint32_t group, const char *name);
/* Ends the range that this thread began last in a domain. */
void shmemi_range_leave(int domain);

/* Called before init: records the name of the call, whose range cannot begin before the groups are
 * known. */
void shmemi_ranges_await(const char *call);
/* Called after init: ends the range of that call. joined: the process is in a job; otherwise no
 * ranges are shown. */
void shmemi_ranges_settle(bool joined);

#pragma GCC visibility pop

#endif
