/*
 * send.h: the senders of two-sided messages, and waits during which they go on.
 */
#ifndef SHMEMI_SEND_H
#define SHMEMI_SEND_H

#include "mail.h"
#include "waiter.h"

#pragma GCC visibility push(hidden)

int shmemi_send(const void *buf, size_t nbytes, int tag, int pe, const char *call);
int shmemi_send_test(const void *buf, size_t nbytes, int tag, int pe, const char *call);

/* At init and at finalize. False: there is no memory. */
bool shmemi_send_open(void);
void shmemi_send_close(void);

/* What a call waits for. */
struct shmemi_send_wait {
    bool (*ready)(void *subject); /* may take what it finds: after true it is not called again */
    shmemi_describe describe;
    void *subject;
    int pe; /* whose loss ends the wait, or SHMEMI_MAIL_ANY: that of any PE, as in other waits */
    bool limited;
    const char *call;
};

/* Waits, and meanwhile sends what receivers ask of messages whose calls have returned. Reports
 * whether it is ready; else a PE is lost, which only for SHMEMI_MAIL_ANY the thread's last error
 * reports, or the limit of the thread is over. */
bool shmemi_send_await(const struct shmemi_send_wait *w);

/* Makes progress on long messages, for calls that do not wait. */
void shmemi_send_progress(const char *call);

#pragma GCC visibility pop

#endif
