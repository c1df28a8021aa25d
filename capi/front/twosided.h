/*
 * twosided.h: two-sided messages (mailbox.h).
 *
 * A short message is one record, sent as the library's own messages are: by stores on the node,
 * else by one message of the engine whose signal is the record's mark. A record of a longer one is
 * a request. The receiver that takes it reads the bytes where they are in symmetric memory;
 * otherwise it answers where they are to be written: to its buffer where that is symmetric, else
 * part by part to a landing, from which it copies them.
 *
 * Any thread may send and receive. The receivers of a PE share one lock; senders share no lock for
 * short messages.
 */
#ifndef SHMEMI_TWOSIDED_H
#define SHMEMI_TWOSIDED_H

#include "base.h"
#include "mailbox.h"
#include "waiter.h"

#pragma GCC visibility push(hidden)

int shmemi_send(const void *buf, size_t nbytes, int tag, int pe, const char *call);
int shmemi_send_test(const void *buf, size_t nbytes, int tag, int pe, const char *call);
int shmemi_recv(void *buf, size_t capacity, int *tag, int *pe, size_t *nbytes, const char *call);
int shmemi_recv_test(void *buf, size_t capacity, int *tag, int *pe, size_t *nbytes,
                     const char *call);

/* At init and at finalize. False: there is no memory. */
bool shmemi_mail_open(void);
void shmemi_mail_close(void);
bool shmemi_send_open(void);
void shmemi_send_close(void);
bool shmemi_receive_open(void);
void shmemi_receive_close(void);

/* Ends the program unless it is in a job that has the PE. */
void shmemi_mail_check(int pe, const char *call);

/* What a call waits for. */
struct shmemi_mail_wait {
    bool (*ready)(void *subject); /* may take what it finds: after true it is not called again */
    shmemi_describe describe;
    void *subject;
    int pe; /* whose loss ends the wait, or SHMEMI_MAIL_ANY: that of any PE, as in other waits */
    bool limited;
    const char *call;
};

/* Waits, and meanwhile sends on the messages of calls that did not wait. Reports whether it is
 * ready; else a PE is lost, which only for SHMEMI_MAIL_ANY the thread has been told, or the limit
 * of the thread is over. */
bool shmemi_mail_await(const struct shmemi_mail_wait *w);

/* Long messages whose calls have returned before they were sent: whether a receiver has asked for
 * bytes of one, and the sending of those. */
bool shmemi_send_due(void);
void shmemi_send_help(const char *call);

/* Offsets from the user heap, the same on every PE. */

/* The word of PE pe for what the receiver has given back of its mailbox. */
SHMEMI_INLINE int64_t shmemi_mail_credit(int receiver)
{
    return (int64_t)sizeof(uint64_t) * receiver - (int64_t)shmemi_state.credits_offset;
}

/* The mailbox of a sender. */
SHMEMI_INLINE int64_t shmemi_mailbox(int sender)
{
    return (int64_t)shmemi_mailbox_bytes(shmemi_state.mailbox_size) * sender -
           (int64_t)shmemi_state.mailboxes_offset;
}

/* An answer to the request with that number of a sender. */
SHMEMI_INLINE int64_t shmemi_mail_answer(uint32_t send, uint64_t number)
{
    return (int64_t)(sizeof(struct shmemi_mail_send) * send +
                     sizeof(struct shmemi_mail_clear) * (number & 1)) -
           (int64_t)shmemi_state.sends_offset;
}

/* A place in this PE's own internal area. */
SHMEMI_INLINE void *shmemi_mail_here(int64_t offset)
{
    return shmemi_state.peer_base[shmemi_state.my_pe] + offset;
}

/* Stores n bytes in the internal area of a PE, and then the word at mark_at. source may be used
 * again at once: it is at most as long as a message of the engine. */
void shmemi_mail_store(int pe, int64_t offset, const void *source, size_t n, int64_t mark_at,
                       uint64_t mark, const char *call);
/* Applies an operation without a result to a word of the internal area of a PE. */
void shmemi_mail_apply(int pe, int64_t offset, enum shmemi_amo op, uint64_t value,
                       const char *call);

#pragma GCC visibility pop

#endif
