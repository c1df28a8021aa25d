/*
 * notify.c: wakes the threads of a PE.
 */
#include "notify.h"

#include "wake.h"

void shmemi_wake(struct shmemi_ctl *ctl)
{
    __atomic_fetch_add(&shmemi_state.live->effort.wakes, 1, __ATOMIC_RELAXED);
    shmemi_wake_sleepers(&ctl->sleepers, &ctl->wakes);
}
