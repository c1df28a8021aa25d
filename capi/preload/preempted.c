/*
 * preempted.c: the time in which a thread had no processor, from the kernel's counts. A thread that
 * has not slept was ready all the time, so the time for which it waited for a processor is the
 * elapsed time less its processor time.
 */
#define _GNU_SOURCE
#include "preempted.h"

#include "ticks.h"

#include <sys/resource.h>

/* Reads the kernel's counts of this thread, and returns for how long it was ready without a
 * processor since the last call; 0 if it has slept since. */
uint64_t preload_preempted(struct preload_share *s)
{
    struct preload_share old = *s;
    struct timespec t = {0, 0};
    struct rusage usage = {.ru_nvcsw = -1};
    s->clock = preload_monotonic();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    s->processor = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    getrusage(RUSAGE_THREAD, &usage);
    s->sleeps = usage.ru_nvcsw;
    uint64_t passed = s->clock - old.clock, had = s->processor - old.processor;
    return s->sleeps == old.sleeps && passed > had ? passed - had : 0;
}
