/*
 * team.h: sets of PEs, and the messages between their members.
 *
 * A rank is a number in a team. Every team that a program can name has a slot, the
 * same one at all of its PEs: an area in the internal part of the heap with a word
 * for each rank and scratch for small reductions. An active set has none; set.h has
 * its messages.
 */
#ifndef SHMEMI_TEAM_H
#define SHMEMI_TEAM_H

#include "base.h"
#include "below.h"

#include <shmem/zz_wire.h>

#pragma GCC visibility push(hidden)

struct shmemi_team {
    int32_t n;
    int32_t me;   /* this PE's rank */
    int32_t *pes; /* of each rank */
    /* pes[i] is start + stride * i; stride 0: they follow no rule. */
    int32_t start, stride;
    /* The members on this PE's node, and the first one of each node, by rank. */
    int32_t *near, *leaders;
    uint32_t n_near, near_rank;
    uint32_t n_nodes, node;
    /* Messages: how many went to each member and were seen of each, and where the
     * words are, below the user heap. */
    uint64_t *sent, *seen;
    int64_t inbox;
    /* Two rounds of slots of slot_size bytes; NULL: none. */
    char *scratch;
    size_t round_size, slot_size;
    long *psync; /* of an active set, instead: where its messages are counted (set.h) */
    uint64_t exchanges;
    /* Agreements (agree.c): how many there were, where they are below the user heap,
     * and memory for four contributions and a byte for each member. */
    uint64_t agreed;
    int64_t agreements;
    char *agreeing;
    bool direct; /* small reductions take one step: everybody to everybody */
    int slot;
    int num_contexts;
};

/* The handle of a team is its slot, in the low SHMEMI_TEAM_BITS bits, and a generation
 * above; kernels have the same. */

extern struct shmemi_team shmemi_world;

/* The team of a handle; NULL for SHMEM_TEAM_INVALID. Does not return for others
 * that are no team. */
struct shmemi_team *shmemi_team_of(shmem_team_t team, const char *call);

/* team.c. At init: 0, or -1: no memory. At finalize. */
int shmemi_teams_open(void);
bool shmemi_teams_made(void); /* there are others than those that are always there */
void shmemi_teams_close(void);

/* The rank of a PE; -1: it is no member. */
int shmemi_team_rank(const struct shmemi_team *t, int pe);

/* Fills in what follows from t->n and t->pes: 0, or -1: no memory. */
int shmemi_team_place(struct shmemi_team *t);
void shmemi_team_free(struct shmemi_team *t);

/*
 * One-sided messages. A message is a count in the receiver's inbox, one word for
 * each sender, so a sender may run ahead and nothing is ever reset. The data of a
 * message is visible before its count. Each message is awaited by the call of the
 * receiver that matches the one that has sent it.
 */
void shmemi_message(struct shmemi_team *t, int rank, const char *call);
void shmemi_message_data(struct shmemi_team *t, int rank, void *dest, const void *source, size_t n,
                         const char *call);
/* The same by offset from the user heap; below 0 is the internal area. */
void shmemi_message_at(struct shmemi_team *t, int rank, int64_t offset, const void *source,
                       size_t n, const char *call);
void shmemi_await(struct shmemi_team *t, int rank, const char *call);

/*
 * dest = mine combined with everyone's, in the same order on all PEs and so the
 * same bit for bit. Returns when all members have called it: also a barrier. At
 * most slot_size bytes.
 */
void shmemi_exchange(struct shmemi_team *t, void *dest, const void *mine, size_t nelems,
                     const struct shmemi_reducer *reducer, const char *call);

/* acc becomes the combination of what the members up to this one have, itself
 * included; at most slot_size bytes. Ends with a sync. */
void shmemi_exchange_prefix(struct shmemi_team *t, void *acc, size_t nelems,
                            const struct shmemi_reducer *reducer, const char *call);

/* Both: acc as by shmemi_exchange_prefix, and all as by shmemi_exchange; at most half of
 * slot_size bytes. */
void shmemi_exchange_both(struct shmemi_team *t, void *acc, void *all, const void *mine,
                          size_t nelems, const struct shmemi_reducer *reducer, const char *call);

/* Waits until all members have called it. */
void shmemi_team_meet(struct shmemi_team *t, const char *call);

#pragma GCC visibility pop

#endif
