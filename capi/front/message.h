/* message.h: the messages between the members of a team. */
#ifndef SHMEMI_MESSAGE_H
#define SHMEMI_MESSAGE_H

#include "team.h"

#pragma GCC visibility push(hidden)

/*
 * One-sided messages. A message is a count in the receiver's inbox, one word for each sender, so a
 * sender may run ahead and no count is ever reset. The data of a message is visible before its
 * count. Each message is awaited by the call of the receiver that matches the call of the sender.
 */
void shmemi_message(struct shmemi_team *t, int rank, const char *call);

/* Sources that messages of one call may still read. */
enum { SHMEMI_LENT = 16 };
struct shmemi_lent {
    struct shmemi_request requests[SHMEMI_LENT];
    int32_t pes[SHMEMI_LENT];
    uint64_t begun, ended;
};

/* The requests stay as they are: on a node none is used. */
SHMEMI_INLINE void shmemi_lent_begin(struct shmemi_lent *lent)
{
    lent->begun = lent->ended = 0;
}

/* A message with data. lent: where the source is noted, which then stays as it is until
 * shmemi_lent_back. NULL: it is memory of the library, which stays until the message has come. */
void shmemi_message_data(struct shmemi_team *t, int rank, void *dest, const void *source, size_t n,
                         struct shmemi_lent *lent, const char *call);
/* The same by offset from the user heap; below 0 is the internal area. */
void shmemi_message_at(struct shmemi_team *t, int rank, int64_t offset, const void *source,
                       size_t n, struct shmemi_lent *lent, const char *call);
/* Waits until all sources may be reused. */
void shmemi_lent_back(struct shmemi_lent *lent, const char *call);

void shmemi_await(struct shmemi_team *t, int rank, const char *call);

#pragma GCC visibility pop

#endif
