/*
 * send.h: the senders of two-sided messages, and waits in which a PE continues to serve receivers.
 */
#ifndef SHMEMI_SEND_H
#define SHMEMI_SEND_H

#include "failure.h"
#include "mail.h"
#include "waiter.h"

#pragma GCC visibility push(hidden)

/* Implement shmemx_send and shmemx_send_test. shmemi_send returns 0, or SHMEMI_FAILED;
 * shmemi_send_test 1 if buf may be reused, 0 if it has to be called again, or SHMEMI_FAILED. */
int shmemi_send(const void *buf, size_t nbytes, int tag, int pe, const char *call);
int shmemi_send_test(const void *buf, size_t nbytes, int tag, int pe, const char *call);

/* Called at init: allocates the state of the senders. Returns false if there is no memory. */
bool shmemi_send_open(void);
/* Called at finalize: frees the state of the senders. */
void shmemi_send_close(void);

/* A wait of a two-sided call. */
struct shmemi_send_wait {
    /* Reports whether the wait is over. It may have an effect, so it is not called again after it
     * has returned true. */
    bool (*ready)(void *subject);
    shmemi_describe describe;
    void *subject;
    int pe;       /* whose loss ends the wait; SHMEMI_MAIL_ANY: any that shmemi_loss_ends reports */
    bool limited; /* the time limit of shmemx_wait_limit applies */
    const char *call;
};

/* Waits until ready(subject) returns true, and meanwhile serves requests of receivers for messages
 * whose calls have returned. Returns false if the PE is lost, which does not fail the call yet, or,
 * for a limited wait, the time limit of the thread has passed. */
bool shmemi_send_await(const struct shmemi_send_wait *w);

/* Reports whether the loss of a PE ends a wait for it; for SHMEMI_MAIL_ANY, whether any loss does.
 */
SHMEMI_INLINE bool shmemi_send_ended(int pe)
{
    return pe == SHMEMI_MAIL_ANY
               ? SHMEMI_UNLIKELY(shmemi_some_lost()) && shmemi_loss_ends(SHMEMI_ANY_SENDER)
               : shmemi_is_lost(pe);
}

/* Serves the request of a receiver for bytes of a long message, if there is one, for calls that do
 * not wait. */
void shmemi_send_progress(const char *call);

#pragma GCC visibility pop

#endif
