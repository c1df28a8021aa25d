/*
 * wait.h: how a caller in C waits.
 *
 * All waiting in the library goes through struct shmemi_waiter: it spins, then
 * yields, then sleeps on a futex in a control page, and it polls the network
 * on the way. 4 PEs on 2 cores that spun without yielding cost a peer 8000 us
 * a barrier, yielding 3.4 us; a C thread that waits inside Go delays other
 * callers by 15 to 45 ms. So waiting is here, and nowhere else.
 */
#ifndef SHMEMI_WAIT_H
#define SHMEMI_WAIT_H

#include "front.h"

#pragma GCC visibility push(hidden)

/* Describes the wait in the report that follows a timeout; writes into text. */
typedef void (*shmemi_describe)(const void *subject, char *text, size_t size);

struct shmemi_waiter {
    struct shmemi_ctl *ctl; /* sleeps here: writers to what is waited for wake this page */
    const char *call;
    shmemi_describe describe;
    const void *subject;
    uint64_t since;    /* when the first sleep began, 0: none yet */
    uint64_t reported; /* when the last report was made */
    uint32_t turns;
    uint32_t wakes; /* the futex word at the announcement */
    uint32_t nap_us;
    bool announced;
    bool polling; /* counted in state.pollers */
};

/* One turn of a wait whose condition does not hold yet. */
void shmemi_turn(struct shmemi_waiter *w);

/* Ends a wait that took at least one turn. */
void shmemi_turned(struct shmemi_waiter *w);

/* Waits for cond, an expression that reads memory atomically. */
#define SHMEMI_WAIT(ctl_, call_, describe_, subject_, cond)                                        \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            struct shmemi_waiter w_ = {                                                            \
                .ctl = (ctl_), .call = (call_), .describe = (describe_), .subject = (subject_)};   \
            do                                                                                     \
                shmemi_turn(&w_);                                                                  \
            while (!(cond));                                                                       \
            shmemi_turned(&w_);                                                                    \
        }                                                                                          \
    } while (0)

/* The control page of this PE. */
SHMEMI_INLINE struct shmemi_ctl *shmemi_my_ctl(void)
{
    return shmemi_ctl_of(shmemi_state.peer_base[shmemi_state.my_pe]);
}

uint64_t shmemi_now(void); /* nanoseconds, monotonic */

/* Registers the process for the membarrier that sleepers issue. Cheap while the
 * process has one thread, some milliseconds afterwards, so it is the first
 * thing that init does. Reports whether sleepers may rely on it. */
bool shmemi_register_sleepers(void);

#pragma GCC visibility pop

#endif
