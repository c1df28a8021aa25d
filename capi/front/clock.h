/* clock.h: the clock of waits and reports. */
#ifndef SHMEMI_CLOCK_H
#define SHMEMI_CLOCK_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

uint64_t shmemi_now(void); /* nanoseconds, monotonic */

#pragma GCC visibility pop

#endif
