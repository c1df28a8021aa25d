/*
 * preempted.h: how long a thread was ready to run without having a processor. Such time is between
 * two calls of the program, but the program has not computed then: another process had the
 * processor, or the writer of this trace.
 *
 * The kernel's counts are read seldom, because that takes two system calls: when a thread makes a
 * call after a pause, and after a call that has taken long.
 */
#ifndef PRELOAD_PREEMPTED_H
#define PRELOAD_PREEMPTED_H

#include <stdint.h>

/* The shortest pause after which the counts are read, in ticks: 40 us of a processor of 2.5 GHz.
 * The two system calls take 0.5 us. */
#define PRELOAD_PAUSE ((uint64_t)100000)

/* The kernel's counts of one thread, in nanoseconds. */
struct preload_share {
    uint64_t clock, processor; /* the time, and the thread's processor time, at the last read */
    long sleeps;               /* how often it has yielded its processor in order to wait */
};

/* Reads the counts of the calling thread into s. Returns for how many nanoseconds the thread was
 * ready without a processor since s was last read; 0 if it has slept since, because the counts do
 * not separate sleeping from waiting for a processor. */
uint64_t preload_preempted(struct preload_share *s);

#endif
