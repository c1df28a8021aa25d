/* notify.h: a PE that sleeps is woken by who has written to its memory. */
#ifndef SHMEMI_NOTIFY_H
#define SHMEMI_NOTIFY_H

#include "base.h"

#pragma GCC visibility push(hidden)

void shmemi_wake(struct shmemi_ctl *ctl);

/*
 * Wakes PE pe when it sleeps. Called after each store into its memory. The
 * load is plain: a sleeper announces itself and then runs a membarrier on
 * every process of the node, so either it sees our store or we see it.
 */
SHMEMI_INLINE void shmemi_notify(int pe)
{
    struct shmemi_ctl *ctl = shmemi_ctl_of(shmemi_state.peer_base[pe]);
    if (SHMEMI_UNLIKELY(__atomic_load_n(&ctl->sleepers, __ATOMIC_RELAXED)))
        shmemi_wake(ctl);
}

#pragma GCC visibility pop

#endif
