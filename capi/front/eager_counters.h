/*
 * eager_counters.h: notification counters of slots whose tokens are counted (SHMEMX_EAGER_NOTIFY).
 *
 * These counters come after the counters that the program names by number. Like those they have 64
 * bits: the lower 32 are the epoch of the slot's last token.
 */
#ifndef SHMEMI_EAGER_COUNTERS_H
#define SHMEMI_EAGER_COUNTERS_H

#include "notification.h"

#include <shmemx.h>

#pragma GCC visibility push(hidden)

/* At init: frees all counters. */
void shmemi_eager_counters_open(void);

/* Every PE makes the same calls of these functions, so all get the same results. */
bool shmemi_eager_counters_left(size_t n); /* reports whether n consecutive counters are free */
/* Allocates n consecutive counters, from *first on, and sets them to 0. False: no n consecutive
 * counters are free. */
bool shmemi_eager_counters_allocate(size_t n, uint32_t *first, const char *call);
/* Frees n counters that shmemi_eager_counters_allocate has returned. */
void shmemi_eager_counters_free(uint32_t first, size_t n);

/* Returns the number of a slot's counter among all counters. */
SHMEMI_INLINE int shmemi_eager_counter(const shmemx_eager_t *e, uint32_t slot)
{
    return (int)(shmemi_state.notify_count + e->counter + slot);
}

#pragma GCC visibility pop

#endif
