/*
 * mail.h: two-sided messages: what their senders (send.h) and receivers (receive.h) share, in
 * addition to the mailboxes (abi/mailbox.h).
 *
 * A sender writes a record to its mailbox at the receiver. The record of a short message has its
 * bytes. It is written like the library's own messages: by stores on the node, else by one message
 * of the engine whose signal is the record's mark. The record of a longer message is a request to
 * send. The receiver that accepts the message reads the bytes itself if they are in symmetric
 * memory. Otherwise its reply tells the sender where to write them: to the receiver's buffer if
 * that is symmetric, else part by part to a landing, a bounce buffer in the receiver's internal
 * area from which the receiver copies them.
 *
 * Any thread may send and receive. The receivers of a PE share one lock; senders share no lock for
 * short messages.
 */
#ifndef SHMEMI_MAIL_H
#define SHMEMI_MAIL_H

#include "base.h"
#include "mailbox.h"

#pragma GCC visibility push(hidden)

/* The next three functions return offsets from the user heap, the same on every PE. */

/* Returns where a sender has the word in which PE receiver counts the bytes of its mailbox that are
 * free again (credit). */
SHMEMI_INLINE int64_t shmemi_mail_credit(int receiver)
{
    return (int64_t)sizeof(uint64_t) * receiver - (int64_t)shmemi_state.credits_offset;
}

/* Returns where every PE has the mailbox in which it receives the records of a sender. */
SHMEMI_INLINE int64_t shmemi_mailbox(int sender)
{
    return (int64_t)shmemi_mailbox_bytes(shmemi_state.mailbox_size) * sender -
           (int64_t)shmemi_state.mailboxes_offset;
}

/* Returns where a sender receives the reply with this number; `send` is the entry of its long
 * message in the sender's table. Two replies may be under way at a time, since a receiver requests
 * two parts at once, so they alternate between two places. */
SHMEMI_INLINE int64_t shmemi_mail_reply(uint32_t send, uint64_t number)
{
    return (int64_t)(sizeof(struct shmemi_mail_send) * send +
                     sizeof(struct shmemi_mail_clear) * (number & 1)) -
           (int64_t)shmemi_state.sends_offset;
}

/* Returns the address of an offset in this PE's internal area. */
SHMEMI_INLINE void *shmemi_mail_here(int64_t offset)
{
    return shmemi_state.peer_base[shmemi_state.my_pe] + offset;
}

/* Writes n bytes to the internal area of a PE, and then the word at mark_at. source may be reused
 * at once: n is at most the size of a message of the engine, which copies it. */
void shmemi_mail_store(int pe, int64_t offset, const void *source, size_t n, int64_t mark_at,
                       uint64_t mark, const char *call);
/* Applies an operation without a result to a word of 8 bytes of the internal area of a PE. */
void shmemi_mail_apply(int pe, int64_t offset, enum shmemi_amo op, uint64_t value,
                       const char *call);

#pragma GCC visibility pop

#endif
