/*
 * eager_counters.h: notification counters of slots whose tokens are counted (SHMEMX_EAGER_NOTIFY).
 *
 * These counters lie behind the counters of the program, which may use all of its own by number.
 * Like those they are 64 bits: the lower 32 are the epoch of the slot's last token.
 */
#ifndef SHMEMI_EAGER_COUNTERS_H
#define SHMEMI_EAGER_COUNTERS_H

#include "notification.h"

#include <shmemx.h>

#pragma GCC visibility push(hidden)

/* At init: frees all counters. */
void shmemi_eager_counters_open(void);

/* Every PE makes the same calls, so all get the same results. */
bool shmemi_eager_counters_left(size_t n); /* reports whether n in a row are free */
/* Allocates n counters in a row, from *first on, and sets them to 0. False: no n in a row are
 * free. */
bool shmemi_eager_counters_take(size_t n, uint32_t *first, const char *call);
void shmemi_eager_counters_give(uint32_t first, size_t n);

/* The number of a slot's counter among all counters. */
SHMEMI_INLINE int shmemi_eager_counter(const shmemx_eager_t *e, uint32_t slot)
{
    return (int)(shmemi_state.notify_count + e->counter + slot);
}

#pragma GCC visibility pop

#endif
