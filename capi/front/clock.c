/*
 * clock.c: the clock of waits and reports.
 */
#include "clock.h"

#include <time.h>

/* Returns the time of the monotonic clock, in nanoseconds. */
uint64_t shmemi_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
