/*
 * leave.c: a program that ends without finalize (docs/decisions/0041).
 *
 * The handler of a signal may have called exit within a call of the library, whose lock this thread
 * then has itself, or within Go, which this thread must not call again. So nothing is done there.
 * Another thread may hold the lock for good, too: this thread only tries it, and the wait has a
 * bound.
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

/* Polls the network until the engine says that all has arrived, or the time is up. */
void shmemi_leave(void)
{
    const struct shmemi_state *s = &shmemi_state;
    if ((!s->networked && !s->gpu) || shmemi_in_handler())
        return;
    uint64_t end = shmemi_now() + LEAVE_NS;
    while (s->core->leave() != SHMEMI_DONE && shmemi_now() < end)
        if (!s->networked || shmemi_net_poll("exit") <= 0)
            nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}
