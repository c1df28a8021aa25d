/*
 * preempted.h: how long a thread has wanted a processor without having one. Such time is between
 * two calls of the program, but the program has not computed then: another process had the
 * processor, or the writer of this trace.
 *
 * The kernel is asked seldom, because the answer takes two system calls: when a thread calls after
 * a pause, and behind a call that has taken long.
 */
#ifndef PRELOAD_PREEMPTED_H
#define PRELOAD_PREEMPTED_H

#include <stdint.h>

/* The shortest pause for which the kernel is asked, in ticks: 40 us of a processor of 2.5 GHz. The
 * two system calls take 0.5 us. */
#define PRELOAD_PAUSE ((uint64_t)100000)

/* The kernel's counts of one thread, in nanoseconds. */
struct preload_share {
    uint64_t clock, processor;
    long sleeps; /* how often it has given its processor up in order to wait */
};

/* Asks about the calling thread, and returns the time without a processor since the last time that
 * s was asked for; 0 where the thread has slept meanwhile, which nothing tells apart. */
uint64_t preload_preempted(struct preload_share *s);

#endif
