/*
 * consumer.h: the proxy's end of a ring in C, for ThreadSanitizer, which does
 * not see Go. It has the accesses of package queue, with the same orders.
 */
#ifndef TESTS_RING_CONSUMER_H
#define TESTS_RING_CONSUMER_H

#include "memory_layout.h"

#include <unistd.h>

struct consumer {
    const struct shmemi_ring *ring;
    uint64_t position;
};

static inline struct consumer consumer_of(const struct shmemi_ring *r)
{
    struct consumer c = {r, shmemi_progress_of(r)->tail};
    return c;
}

static inline int consumer_slot(const struct consumer *c, uint64_t p, uint64_t *w)
{
    uint32_t shift = c->ring->log2_slots;
    uint64_t lap = ~(p >> shift) & 1;
    const uint64_t *at = (const uint64_t *)c->ring->slots + 2 * (p & (((uint64_t)1 << shift) - 1));
    w[0] = __atomic_load_n(&at[0], __ATOMIC_ACQUIRE);
    w[1] = __atomic_load_n(&at[1], __ATOMIC_ACQUIRE);
    return w[0] >> SHMEMI_LAP_BIT == lap && w[1] >> SHMEMI_LAP_BIT == lap;
}

/* Reads the words of the next operation, if it is there, and passes it. */
static inline int consumer_next(struct consumer *c, uint64_t *w)
{
    if (!consumer_slot(c, c->position, w))
        return 0;
    int n = shmemi_slots_of(shmemi_get_op(w));
    if (n == 0)
        FAIL("position %llu: operation %llu does not exist", (unsigned long long)c->position,
             (unsigned long long)shmemi_get_op(w));
    for (int i = 1; i < n; i++)
        if (!consumer_slot(c, c->position + (uint64_t)i, w + 2 * i))
            return 0;
    c->position += (uint64_t)n;
    return n;
}

static inline void consumer_publish(const struct consumer *c)
{
    __atomic_store_n(&shmemi_progress_of(c->ring)->tail, c->position, __ATOMIC_RELEASE);
}

static inline void consumer_done(const struct consumer *c, uint64_t position)
{
    __atomic_store_n(&shmemi_progress_of(c->ring)->done, position, __ATOMIC_RELEASE);
}

static inline void consumer_met(const struct consumer *c, uint64_t position)
{
    __atomic_store_n(&line_of(c->ring)->fenced, position, __ATOMIC_RELEASE);
}

/* Relaxed: a producer that has reused the slot may not have synchronised. */
static inline void consumer_answer(const struct consumer *c, uint64_t i, uint64_t value, int status)
{
    struct shmemi_reply *reply = shmemi_reply_at(c->ring, (uint32_t)i);
    __atomic_store_n(&reply->value, value, __ATOMIC_RELAXED);
    __atomic_store_n(&reply->status, status, __ATOMIC_RELAXED);
    __atomic_store_n(&reply->turn, reply->turn + 1, __ATOMIC_RELEASE);
}

static inline void consumer_stop(const struct consumer *c)
{
    __atomic_store_n(&shmemi_progress_of(c->ring)->stopped, 1, __ATOMIC_RELEASE);
}

#endif
