/*
 * notify.c: wakes threads of a PE that sleep until its memory changes.
 */
#include "notify.h"

#include "wake.h"

/* Wakes the sleepers of a control page by its futex, and counts that. */
void shmemi_wake(struct shmemi_ctl *ctl)
{
    shmemi_count(&shmemi_state.live->effort.wakes, 1);
    shmemi_wake_sleepers(&ctl->sleepers, &ctl->wakes);
}
