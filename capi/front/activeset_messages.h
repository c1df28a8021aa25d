/*
 * activeset_messages.h: active sets, and the messages between their PEs.
 *
 * No call makes or destroys an active set, so there is no time at which its PEs could agree on an
 * area of their own. The program passes one with each call: pSync. A message adds one to a word of
 * the receiver's pSync. The receiver waits until the word has reached the number of messages that
 * it expects, and subtracts that number, so that after the last message of the call pSync is as it
 * was before the call. The use of a word depends on the phase, not on the sender, so that a PE
 * which runs ahead into the next phase, or into the next barrier, is not counted in place of one
 * that is late.
 */
#ifndef SHMEMI_ACTIVESET_MESSAGES_H
#define SHMEMI_ACTIVESET_MESSAGES_H

#include "team.h"

#pragma GCC visibility push(hidden)

/* The words of pSync. Each counts messages, but for those of shmemi_activeset_send_number. */
enum {
    SHMEMI_ARRIVED,     /* at the first PE of each node: how many PEs of the node have arrived */
    SHMEMI_RELEASED,    /* at the other PEs: they may leave the sync */
    SHMEMI_DATA,        /* bytes are in dest, or ready in source */
    SHMEMI_READ,        /* receivers have read the bytes from source */
    SHMEMI_ROUND,       /* this word and the next ones: one per distance of 1, 2, 4 and so on */
    SHMEMI_ROUNDS = 24, /* enough for 2^24 PEs */
    SHMEMI_PAIR = SHMEMI_ROUND + SHMEMI_ROUNDS, /* as many for reductions, with syncs in between */
    SHMEMI_SYNC_WORDS = SHMEMI_PAIR + SHMEMI_ROUNDS
};
_Static_assert(SHMEMI_SYNC_WORDS <= SHMEM_SYNC_SIZE, "the program's array holds the words");

/* Returns the team of the set: the world, which has messages of its own and does not use pSync, or
 * *set_team, which it fills in. Ends the program if the arguments are wrong. */
struct shmemi_team *shmemi_activeset_open(struct shmemi_team *set_team, int start, int log_stride,
                                          int size, long *psync, const char *call);
/* At finalize: frees the teams that shmemi_activeset_open has made. */
void shmemi_activesets_close(void);

/* Adds one to word `word` of pSync at member rank. */
void shmemi_activeset_message(struct shmemi_team *t, int rank, int word, const char *call);
/* Writes n bytes from source to the member's dest, and then adds one to word `word` of pSync there.
 * source may be reused after shmemi_activeset_release(n). */
void shmemi_activeset_message_data(struct shmemi_team *t, int rank, int word, void *dest,
                                   const void *source, size_t n, const char *call);
/* Waits until the writes of n bytes to other members no longer read their source. */
void shmemi_activeset_release(size_t n, const char *call);
/* Waits for n messages in a word of this PE's pSync, and subtracts them from it. */
void shmemi_activeset_await(struct shmemi_team *t, int word, uint64_t n, const char *call);

/* Sends a number to a member, in a word of its pSync that only this sender writes. */
void shmemi_activeset_send_number(struct shmemi_team *t, int rank, int word, uint64_t value,
                                  const char *call);
/* Waits for the number in such a word of this PE's pSync, and clears the word for the next call.
 * Returns 0 after the loss of a PE. */
uint64_t shmemi_activeset_receive_number(struct shmemi_team *t, int word, const char *call);

/* Begins a sync of the members on this node. At the first of them it returns true when all have
 * called it, and that one then sends each other one a message in SHMEMI_RELEASED, for which they
 * wait. */
bool shmemi_activeset_gather_node(struct shmemi_team *t, const char *call);
/* Waits until all members on this node have called it. */
void shmemi_activeset_sync_node(struct shmemi_team *t, const char *call);
/* Waits until all members have called it. */
void shmemi_activeset_sync_members(struct shmemi_team *t, const char *call);

#pragma GCC visibility pop

#endif
