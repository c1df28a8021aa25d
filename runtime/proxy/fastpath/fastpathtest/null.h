/*
 * null.h: a provider in C that accepts all operations, moves no bytes and completes all of them. It
 * replies to requests in the name of PEs that do not exist. A measurement with it has only the cost
 * of the proxy. The functions are inline, so that a benchmark can put its own inject before
 * null_send.
 */
#ifndef FASTPATHTEST_NULL_H
#define FASTPATHTEST_NULL_H

#include "fastpath.h"

#define NULL_RECEIVES 64 /* a power of two; a test posts no more */
#define NULL_COMPLETIONS 2048

struct null {
    uint32_t *replies; /* by PE: the number of replies in its name */
    uint64_t messages;
    uint64_t posted, used; /* receive buffers that were posted, and used for replies */
    struct {
        void *buf;
        uint32_t token;
    } receive[NULL_RECEIVES];
    uint64_t head, tail; /* completions that were added, and that were read */
    struct shmemi_completion completion[NULL_COMPLETIONS];
};

/* Adds a completion. */
static inline void null_complete(struct null *z, uint32_t token, uint8_t kind)
{
    z->completion[z->head++ % NULL_COMPLETIONS] = (struct shmemi_completion){
        .token = token, .kind = kind, .len = sizeof(struct shmemi_header)};
}

/* Counts a message, and puts the reply into a receive buffer if it is a request. Returns 0, or -1
 * if no buffer is left for the reply. */
static inline int null_send(struct null *z, uint32_t pe, const void *buf)
{
    const struct shmemi_header *h = (const struct shmemi_header *)buf;
    z->messages++;
    if (h->kind != SHMEMI_MESSAGE_FLUSH && !h->fetch)
        return 0;
    if (z->used == z->posted)
        return -1;
    uint64_t i = z->used++ % NULL_RECEIVES;
    *(struct shmemi_header *)z->receive[i].buf =
        (struct shmemi_header){.kind = SHMEMI_MESSAGE_REPLY,
                               .job = h->job,
                               .from = pe,
                               .seq = ++z->replies[pe],
                               .token = h->token};
    null_complete(z, z->receive[i].token, SHMEMI_COMPLETION_RECV);
    return 0;
}

/* Moves up to max completions to c, and returns their number. */
static inline int null_poll(void *self, struct shmemi_completion *c, int max)
{
    struct null *z = (struct null *)self;
    int n = 0;
    for (; n < max && z->tail != z->head; n++)
        c[n] = z->completion[z->tail++ % NULL_COMPLETIONS];
    return n;
}

/* Stores a receive buffer for a later reply. */
static inline int null_recv(void *self, void *buf, size_t n, uintptr_t desc, uint32_t token)
{
    struct null *z = (struct null *)self;
    (void)n, (void)desc;
    uint64_t i = z->posted++ % NULL_RECEIVES;
    z->receive[i].buf = buf;
    z->receive[i].token = token;
    return 0;
}

#endif
