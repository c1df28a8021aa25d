/*
 * leave.c: the flush at exit of a program that has not called finalize (docs/decisions/0041).
 *
 * shmemi_leave waits until everything that this PE has sent has arrived: the end of the process
 * would lose the rest. It does nothing if a signal handler has called exit within a call of the
 * library, in which this thread has the network lock, or within Go, which this thread must not call
 * again. Another thread may never release the network lock, so this thread only tries it, and its
 * wait has a limit.
 */
#define _GNU_SOURCE
#include "leave.h"

#include "clock.h"
#include "error.h"
#include "netcall.h"

#include <time.h>

/* The longest wait, and the pause between two polls. Proxies reply within milliseconds, whatever
 * their programs do. A PE that is stopped does not. */
#define LEAVE_NS 2000000000u
#define PAUSE_NS 50000

/* Polls the network until the engine reports that everything this PE has sent has arrived, or
 * LEAVE_NS have passed. */
void shmemi_leave(void)
{
    const struct shmemi_state *s = &shmemi_state;
    if ((!s->networked && !s->gpu) || shmemi_in_handler())
        return;
    uint64_t end = shmemi_now() + LEAVE_NS;
    while (s->core->leave() != SHMEMI_DONE && shmemi_now() < end)
        /* No pause after a poll that has found completions: more may follow at once. */
        if (!s->networked || shmemi_net_poll("exit") <= 0)
            nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}
