/* processor.h: whether a waiting thread has its processor for itself, and how it yields it. */
#ifndef SHMEMI_PROCESSOR_H
#define SHMEMI_PROCESSOR_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Reports whether another thread may need the calling thread's processor: by the number of PEs, or
 * because its last yields let one run. */
bool shmemi_processor_is_shared(void);

/* Publishes on which processor this thread runs, for the other PEs of this node. */
void shmemi_processor_publish(void);

/* Called when the thread has slept: publishes its processor again, because after a long sleep it
 * may run on another one, which other PEs use. */
void shmemi_processor_slept(void);

/* Yields the processor, like sched_yield, for a thread that waits. */
void shmemi_yield(void);

#pragma GCC visibility pop

#endif
