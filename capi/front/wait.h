/*
 * wait.h: how a caller in C waits.
 *
 * All waiting in the library goes through struct shmemi_waiter: the thread spins, then yields, then
 * sleeps on a futex in a control page, and it polls the network meanwhile. When 4 PEs on 2 cores
 * spun without yielding, a barrier took a peer 8000 us, and 3.4 us when they yielded; a C thread
 * that waits inside Go delays other callers by 15 to 45 ms. So no other code of the library waits.
 */
#ifndef SHMEMI_WAIT_H
#define SHMEMI_WAIT_H

#include "failure.h"
#include "waiter.h"

#pragma GCC visibility push(hidden)

/* Does one step of a wait whose condition does not hold yet: spins, yields or sleeps once. Returns
 * false if the caller has to end the wait, because a PE was lost and the call has failed, or
 * because the thread's time limit has passed. */
bool shmemi_wait_step(struct shmemi_waiter *w);

/* Ends a wait that took at least one step. The same waiter may begin another wait afterwards. */
void shmemi_wait_over(struct shmemi_waiter *w);

/* Waits until cond, an expression that reads memory atomically, holds, or until a loss or a time
 * limit ends the wait, as the fields whom and limited of the waiter say. cond is evaluated again
 * and again, and not once more after such an end: the caller finds out what has ended the wait. The
 * last arguments set further fields of the waiter. */
#define SHMEMI_WAIT_FOR(ctl_, call_, describe_, subject_, cond, ...)                               \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            struct shmemi_waiter w_ = {.ctl = (ctl_),                                              \
                                       .call = (call_),                                            \
                                       .describe = (describe_),                                    \
                                       .subject = (subject_),                                      \
                                       __VA_ARGS__};                                               \
            while (shmemi_wait_step(&w_) && !(cond))                                               \
                ;                                                                                  \
            shmemi_wait_over(&w_);                                                                 \
        }                                                                                          \
    } while (0)

/* Waits like SHMEMI_WAIT_FOR, for a condition that any PE may make true. whom_, a constant
 * SHMEMI_ANY_... of enum shmemi_whom, says by what: SHMEMI_ANY_WRITER is a PE that stores to
 * memory. The loss of a PE ends one wait of each such kind in each thread. The time limit of
 * shmemx_wait_limit ends the wait, too. */
#define SHMEMI_WAIT(whom_, call_, describe_, subject_, cond)                                       \
    SHMEMI_WAIT_FOR(shmemi_my_ctl(), call_, describe_, subject_, cond, .whom = (whom_),            \
                    .limited = true)

/* After a test that did not succeed: fails the call if a PE is lost, since the lost PE may have
 * been the one that was to store the tested word. That sets the thread's last error and calls the
 * program's handler; the test still returns its result. */
SHMEMI_INLINE void shmemi_fail_test_if_lost(const char *call)
{
    int pe = SHMEMI_UNLIKELY(shmemi_some_lost()) ? shmemi_ending_loss(SHMEMI_ANY_TESTED) : -1;
    if (SHMEMI_UNLIKELY(pe >= 0))
        shmemi_fail_lost(pe, call);
}

/* Implements shmemx_wait_limit: sets this thread's limit for later waits, in nanoseconds (0: none).
 * Returns 1 if the limit before has ended a wait, else 0. */
int shmemi_wait_limit(uint64_t limit_ns, const char *call);

#pragma GCC visibility pop

#endif
