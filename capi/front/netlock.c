/*
 * netlock.c: the network lock, which guards the libfabric endpoint: threads of this process share
 * that with the proxy.
 */
#define _GNU_SOURCE
#include "netlock.h"

#include "netcall.h"
#include "wait.h"
#include "waiter.h"

#include <sched.h>
#include <stdio.h>

/* Writes the text for the report of a long wait, which is the subject itself. */
static void describe_text(const void *subject, char *text, size_t size)
{
    snprintf(text, size, "%s", (const char *)subject);
}

/* Acquires the network lock if it is free. Returns whether it has. shmemi_acquire_flag returns what
 * the lock was before: 0, if it was free. */
static bool try_lock(const char *call)
{
    shmemi_netcall_begin(call);
    if (!shmemi_acquire_flag(&shmemi_state.net_lock))
        return true;
    shmemi_netcall_end();
    return false;
}

/* How often a thread that waits for the lock yields before it waits as other waits do, and reports:
 * some 10 ms. A thread blocked in the GPU driver, or stopped by a debugger, may hold the lock that
 * long. */
#define LOCK_YIELDS 20000

/* Acquires the lock in an ordinary wait, which is reported if it is long. */
static SHMEMI_COLD void wait_for_lock(const char *call)
{
    SHMEMI_WAIT_FOR(shmemi_my_ctl(), call, describe_text,
                    "for another thread that uses the network", try_lock(call),
                    .whom = SHMEMI_NOBODY);
}

/* Tries the lock, yields between tries, and at last waits for it as other waits do. */
void shmemi_net_lock(const char *call)
{
    /* If another thread wants the lock, yields first: a thread that posts without a pause would
     * take the lock again before the other sees that it is free. */
    if (shmemi_read_once(&shmemi_state.net_wanted))
        sched_yield();
    if (try_lock(call))
        return;
    shmemi_count(&shmemi_state.net_wanted, 1);
    uint32_t tries = 0;
    while (!try_lock(call)) {
        /* After so many tries the thread that has the lock has probably lost its processor, or is
         * copying a large message. */
        if (++tries > 100)
            sched_yield();
        if (tries > LOCK_YIELDS) {
            wait_for_lock(call);
            break;
        }
    }
    shmemi_count(&shmemi_state.net_wanted, -1);
}

/* Releases the network lock. */
void shmemi_net_unlock(void)
{
    shmemi_release(&shmemi_state.net_lock, 0);
    shmemi_netcall_end();
}
