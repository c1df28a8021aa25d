/*
 * failure.h: what a call does when a PE is lost.
 *
 * Without SHMEM_ON_FAILURE=return the job ends. With it the call returns, the thread's last error
 * says why, and the library calls the program's handler, if it has one. shmemi_state lists the lost
 * PEs; a thread of the core writes the list.
 *
 * A wait for memory may be for any PE's store, so each loss ends one such wait of each thread; the
 * next wait goes on, for it may be for a survivor. It does not matter which call found the loss
 * first: most programs do not check for an error after a put, and a wait that follows it would
 * never end. For the same reason a loss that has ended a wait on memory still ends a receive, and
 * the other way round (enum shmemi_whom). A collective call ends when a PE of its team is lost;
 * later collective calls of that team fail immediately.
 */
#ifndef SHMEMI_FAILURE_H
#define SHMEMI_FAILURE_H

#include "waiter.h"

#include <shmemx.h>

#pragma GCC visibility push(hidden)

struct shmemi_team;

/* At init: forgets the losses of earlier jobs. */
void shmemi_failure_open(void);

/* Reports whether any PE of the job is lost. */
SHMEMI_INLINE bool shmemi_some_lost(void)
{
    return shmemi_observe(&shmemi_state.n_lost) != 0;
}

/* Reports whether PE pe is lost. */
SHMEMI_INLINE bool shmemi_is_lost(int pe)
{
    return SHMEMI_UNLIKELY(shmemi_some_lost()) && shmemi_state.lost[pe];
}

/* Fails the call of this thread because pe is lost: sets the thread's last error, and calls the
 * program's handler. */
void shmemi_fail_lost(int pe, const char *call);

/* Fails a call because a buffer cannot be registered, or unregistered. */
void shmemi_fail_buffer(const char *what, const char *call);

/* Fails a call because a message of pe does not fit the buffer of a receive. */
void shmemi_fail_message(int pe, const char *what, const char *call);

/* Reports whether pe is lost, and fails the call if it is. */
SHMEMI_INLINE bool shmemi_refuse_lost(int pe, const char *call)
{
    if (SHMEMI_LIKELY(!shmemi_is_lost(pe)))
        return false;
    shmemi_fail_lost(pe, call);
    return true;
}

/* After shmemi_mute(true), until shmemi_mute(false), no error fails a call of this thread: its
 * caller checks for losses itself. */
void shmemi_mute(bool muted);

/* Marks the losses of PEs that are members of `whole` and not of `remaining` as known to the
 * thread: from now on they end none of its waits and fail none of its calls. */
void shmemi_acknowledge_losses(const struct shmemi_team *whole,
                               const struct shmemi_team *remaining);

/* Ends the job, or fails the call, because the core could not serve an operation for PE pe, or for
 * several PEs if pe is -1. The calling thread must not have the network lock. */
void shmemi_fail_network(int pe, const char *call);

/* Returns the PE whose loss ends this thread's present wait of this kind, or -1. The caller then
 * fails its call, and the same loss ends no later wait of that kind. */
int shmemi_ending_loss(enum shmemi_whom whom);

/* Reports whether a loss would end this thread's next wait of a kind that any PE may end, and
 * leaves it so. */
bool shmemi_loss_ends(enum shmemi_whom whom);

/*
 * Every collective call of a team begins with _begin and ends with _end. They may be nested; the
 * outermost pair reports a loss once. _begin returns false if a PE of the team is lost: then the
 * call has failed, and the caller does not call _end. A thread whose call is broken by a loss sends
 * no more messages: their receivers would conclude that the awaited data has arrived.
 */
bool shmemi_collective_begin(const struct shmemi_team *t, const char *call);
/* Ends a collective call that shmemi_collective_begin has begun. Returns false if a PE was lost
 * meanwhile: then the results of the call are of no use. */
bool shmemi_collective_end(void);
/* Reports whether no loss of a PE has broken the collective call that this thread is in. */
bool shmemi_thread_unbroken(void);

/* Reports whether no loss of a PE has broken the collective call that this thread is in. After a
 * loss the steps of such a call send and receive nothing more, because a message would announce
 * data that is not there. */
SHMEMI_INLINE bool shmemi_collective_unbroken(void)
{
    return SHMEMI_LIKELY(!shmemi_some_lost()) || shmemi_thread_unbroken();
}

/* These implement the shmemx_ functions of the same names. */
int shmemi_last_error(const char *call);
int shmemi_last_error_pe(const char *call);
const char *shmemi_last_error_text(const char *call);
int shmemi_failure_ack(const char *call);
void shmemi_set_error_handler(shmemx_error_handler_t h, void *arg, const char *call);

#pragma GCC visibility pop

#endif
