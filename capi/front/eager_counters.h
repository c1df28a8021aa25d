/*
 * eager_counters.h: notification counters of slots whose tokens are counted
 * (SHMEMX_EAGER_NOTIFY).
 *
 * They lie behind the counters of the program, which may use all of its own by number. Like those
 * they are 64 bits: the lower 32 are the epoch of the slot's last token.
 */
#ifndef SHMEMI_EAGER_COUNTERS_H
#define SHMEMI_EAGER_COUNTERS_H

#include "notification.h"

#include <shmemx.h>

#pragma GCC visibility push(hidden)

/* All are free again; at init. */
void shmemi_eager_counters_open(void);

/* Every PE makes the same calls, so all get the same answers. */
bool shmemi_eager_counters_left(size_t n); /* whether there are n in a row */
/* Sets n counters in a row of this PE to 0. False: there are none. */
bool shmemi_eager_counters_take(size_t n, uint32_t *first);
void shmemi_eager_counters_give(uint32_t first, size_t n);

/* The offset of a slot's counter from the user heap. */
SHMEMI_INLINE int64_t shmemi_eager_counter_offset(const shmemx_eager_t *e, uint32_t slot)
{
    return shmemi_notification_offset((int)(shmemi_state.notify_count + e->counter + slot));
}

/* A slot's counter on a PE of this node. */
SHMEMI_INLINE uint64_t *shmemi_eager_counter(int pe, const shmemx_eager_t *e, uint32_t slot)
{
    char *base = shmemi_state.peer_base[pe];
    return (uint64_t *)(void *)(base + shmemi_eager_counter_offset(e, slot));
}

#pragma GCC visibility pop

#endif
