/*
 * coll.h: messages between PEs, and the exchange that small collectives are
 * made of.
 */
#ifndef SHMEMI_COLL_H
#define SHMEMI_COLL_H

#include "front.h"

#pragma GCC visibility push(hidden)

/* barrier.c. Starts counting again; at init. */
void shmemi_barrier_open(void);

/* exchange.c. The same. */
void shmemi_exchange_open(void);

/* Forgets all messages; at init. 0, or -1: no memory. */
int shmemi_messages_open(void);
void shmemi_messages_close(void); /* at finalize */

/*
 * One-sided messages. A message is a count in the receiver's inbox, one word
 * for each sender, so a sender may run ahead and nothing is ever reset. The
 * data of a message is visible before its count.
 */
void shmemi_message(int pe, const char *call);
void shmemi_message_data(int pe, void *dest, const void *source, size_t n, const char *call);
/* The same by offset from the user heap; below 0 is the internal area. */
void shmemi_message_at(int pe, int64_t offset, const void *source, size_t n, const char *call);
void shmemi_await(int pe, const char *call);

/*
 * dest = mine combined with everyone's, in the same order on all PEs and so the
 * same bit for bit. Returns when all PEs have called it: also a barrier. At most
 * SHMEMI_SLOT bytes.
 */
void shmemi_exchange(void *dest, const void *mine, size_t nelems,
                     const struct shmemi_reducer *reducer, const char *call);

#pragma GCC visibility pop

#endif
