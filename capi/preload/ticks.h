/*
 * ticks.h: the clock of records. It is read twice for each traced call, so it is the counter of the
 * processor if the kernel's own clock is that counter: 7 to 20 ns instead of 20 to 40. The writer
 * turns ticks into time (ticks.c).
 */
#ifndef PRELOAD_TICKS_H
#define PRELOAD_TICKS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

extern bool preload_tsc; /* set before modes see the first call */

/* Returns the time of the monotonic clock, in nanoseconds. */
static inline uint64_t preload_monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns the clock of records: the processor's counter or, without one, nanoseconds of
 * CLOCK_MONOTONIC. */
static inline uint64_t preload_ticks(void)
{
#if defined(__x86_64__)
    if (__builtin_expect(preload_tsc, 1))
        return __rdtsc();
#endif
    return preload_monotonic();
}

/* Chooses the processor's counter or CLOCK_MONOTONIC, before the first record. */
void preload_ticks_open(void);

/* Reads both clocks and stores the pair, a mark. The writer calls it after it has read how many
 * records there are and before it converts their times, so each time is between two marks. */
void preload_ticks_mark(void);

/* Converts ticks, not later than the last mark, to nanoseconds since the last multiple of 30 days
 * after 1970, like the times of SHMEM_TRACE. */
uint64_t preload_ticks_ns(uint64_t ticks);

/* Converts a time of CLOCK_MONOTONIC to nanoseconds with the same zero as preload_ticks_ns. */
uint64_t preload_trace_time(uint64_t monotonic);

#endif
