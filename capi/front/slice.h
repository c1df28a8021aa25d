/* slice.h: yielding beside threads that compute. */
#ifndef SHMEMI_SLICE_H
#define SHMEMI_SLICE_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* sched_yield, for a thread that waits. */
void shmemi_yield(void);

#pragma GCC visibility pop

#endif
