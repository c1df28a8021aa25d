/*
 * ticks.h: the clock of records. It is read twice for each traced call, so it is the counter of
 * the processor where the kernel's own clock is that counter: 7 to 20 ns instead of 20 to 40. The
 * writer turns ticks into time (ticks.c).
 */
#ifndef PRELOAD_TICKS_H
#define PRELOAD_TICKS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

extern bool preload_tsc; /* set before the first call is shown */

static inline uint64_t preload_monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t preload_ticks(void)
{
#if defined(__x86_64__)
    if (__builtin_expect(preload_tsc, 1))
        return __rdtsc();
#endif
    return preload_monotonic();
}

/* Chooses the clock. */
void preload_ticks_open(void);

/* The writer calls it after it has seen which records there are, and before it asks their times:
 * a record's time is then between two moments at which both clocks were read. */
void preload_ticks_mark(void);

/* Nanoseconds of ticks that are not later than the last mark, from the last multiple of 30 days
 * since 1970, as SHMEM_TRACE counts. */
uint64_t preload_ticks_ns(uint64_t ticks);

/* The same of CLOCK_MONOTONIC. */
uint64_t preload_since_round(uint64_t monotonic);

#endif
