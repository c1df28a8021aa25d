/* notify.h: wakes the threads of a PE that sleep until its memory changes. */
#ifndef SHMEMI_NOTIFY_H
#define SHMEMI_NOTIFY_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Wakes the threads that sleep on a control page, whether or not there are any. */
void shmemi_wake(struct shmemi_ctl *ctl);

/*
 * Wakes the threads that sleep on a control page until memory changes. It is called after each
 * store that they may wait for. It needs no fence, because the sleeper runs a membarrier (order.h,
 * sleep.c).
 */
SHMEMI_INLINE void shmemi_notify_at(struct shmemi_ctl *ctl)
{
    shmemi_fence_light();
    if (SHMEMI_UNLIKELY(shmemi_read_once(&ctl->sleepers)))
        shmemi_wake(ctl);
}

/* Wakes the threads of PE pe, which is on this node, after a store into its memory. */
SHMEMI_INLINE void shmemi_notify(int pe)
{
    shmemi_notify_at(shmemi_ctl_of(shmemi_state.peer_base[pe]));
}

#pragma GCC visibility pop

#endif
