/*
 * netcall.h: which call of this thread uses the network at the moment.
 *
 * A signal handler that makes another such call would wait for the network lock for ever, because
 * the call that it has interrupted does not continue before the handler returns. So a thread
 * records its call before it takes the lock, until it has released it.
 */
#ifndef SHMEMI_NETCALL_H
#define SHMEMI_NETCALL_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* The present network call of the thread, or NULL. Only signal handlers of the same thread read
 * it. */
extern _Thread_local const char *shmemi_netcall;

/* Ends the job because a signal handler uses the network within the call that it has
 * interrupted. */
SHMEMI_COLD void shmemi_netcall_refuse(const char *call) __attribute__((noreturn));

/* Records that this thread uses the network in a call. Ends the job if a signal handler has
 * interrupted such a call of its thread. */
SHMEMI_INLINE void shmemi_netcall_begin(const char *call)
{
    if (SHMEMI_UNLIKELY(shmemi_netcall != NULL))
        shmemi_netcall_refuse(call);
    shmemi_netcall = call;
    shmemi_fence_handler();
}

/* Records that the call no longer uses the network. */
SHMEMI_INLINE void shmemi_netcall_end(void)
{
    shmemi_fence_handler();
    shmemi_netcall = NULL;
}

/* Polls the network, if the network lock is free. Returns what the core's poll returns. */
SHMEMI_INLINE int shmemi_net_poll(const char *call)
{
    shmemi_netcall_begin(call);
    int n = shmemi_state.core->poll();
    shmemi_netcall_end();
    return n;
}

#pragma GCC visibility pop

#endif
