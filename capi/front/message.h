/* message.h: the messages between the members of a team. */
#ifndef SHMEMI_MESSAGE_H
#define SHMEMI_MESSAGE_H

#include "team.h"

#pragma GCC visibility push(hidden)

/*
 * Sends a message without data to a member.
 *
 * A message is a count: the sender adds one to its word in the receiver's inbox, which is memory of
 * the team with one word for each sender. So a sender may run ahead, and no count is ever reset.
 * The data of a message is visible before its count. Each message is awaited by the call of the
 * receiver that matches the call of the sender.
 */
void shmemi_message(struct shmemi_team *t, int rank, const char *call);

/* A list of the memory of the caller that messages with data may still read: one entry for each
 * write under way, of SHMEMI_LENT entries in a ring. Only one thread uses a list. */
enum { SHMEMI_LENT = 16 };
struct shmemi_lent {
    struct shmemi_request requests[SHMEMI_LENT]; /* of the writes, which the core completes */
    int32_t pes[SHMEMI_LENT];                    /* their targets */
    uint64_t begun, ended; /* how many writes were added, and how many of them have ended */
};

/* Sets up an empty list. The requests stay uninitialised: on a node none is used. */
SHMEMI_INLINE void shmemi_lent_begin(struct shmemi_lent *lent)
{
    lent->begun = lent->ended = 0;
}

/* Sends a message with data to dest at member rank. lent: a list to which the call adds source,
 * which must then stay unchanged until shmemi_lent_back. NULL: source is memory of the library,
 * which stays unchanged until the message has arrived. */
void shmemi_message_data(struct shmemi_team *t, int rank, void *dest, const void *source, size_t n,
                         struct shmemi_lent *lent, const char *call);
/* Sends a message with data like shmemi_message_data, with the destination as an offset from the
 * user heap; a negative offset is in the internal area. */
void shmemi_message_at(struct shmemi_team *t, int rank, int64_t offset, const void *source,
                       size_t n, struct shmemi_lent *lent, const char *call);
/* Waits until no message reads a source of the list any more. */
void shmemi_lent_back(struct shmemi_lent *lent, const char *call);

/* Waits for the next message of member rank, or until a member is lost
 * (shmemi_collective_unbroken). */
void shmemi_await(struct shmemi_team *t, int rank, const char *call);

#pragma GCC visibility pop

#endif
