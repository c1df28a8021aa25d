/* notify.h: wakes the threads of a PE that sleep until its memory changes. */
#ifndef SHMEMI_NOTIFY_H
#define SHMEMI_NOTIFY_H

#include "base.h"

#pragma GCC visibility push(hidden)

void shmemi_wake(struct shmemi_ctl *ctl);

/*
 * Wakes the threads that sleep on a control page. Called after each store that they may wait for.
 * The load is plain: a sleeper announces itself and then runs a membarrier on every process of the
 * node, so either it sees the store or this load sees it (wait.c). The membarrier orders what the
 * processor does; the empty asm keeps the compiler from moving the caller's stores behind the load.
 */
SHMEMI_INLINE void shmemi_notify_at(struct shmemi_ctl *ctl)
{
    __asm__ volatile("" ::: "memory");
    if (SHMEMI_UNLIKELY(__atomic_load_n(&ctl->sleepers, __ATOMIC_RELAXED)))
        shmemi_wake(ctl);
}

/* Wakes the threads of PE pe, after a store into its memory. */
SHMEMI_INLINE void shmemi_notify(int pe)
{
    shmemi_notify_at(shmemi_ctl_of(shmemi_state.peer_base[pe]));
}

#pragma GCC visibility pop

#endif
