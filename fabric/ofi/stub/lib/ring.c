/*
 * ring.c: the ring of records in an endpoint's file, its regions, and the addresses that it knows.
 */
#define _GNU_SOURCE
#include "wire.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum {
    HOT = 256 << 10
}; /* an empty ring begins anew once HOT bytes have been used, to stay in the cache */

/* Returns the record at a position of a ring. */
static struct record *slot(struct wire *w, uint64_t at)
{
    return (struct record *)((char *)w + w->ring_at + at % w->ring_size);
}

/* Tries to acquire the lock of an endpoint's file. The holder keeps the lock only for the time of a
 * copy, but may be stopped meanwhile, so callers do not wait for the lock. */
bool wire_try_lock(struct wire *w)
{
    int ret = pthread_mutex_trylock(&w->lock);
    if (ret == EOWNERDEAD)
        ret = pthread_mutex_consistent(&w->lock);
    return ret == 0;
}

/* Unlocks the ring. */
void wire_unlock(struct wire *w)
{
    pthread_mutex_unlock(&w->lock);
}

/* Reserves an entry of the completion queue of the file's owner; returns false if the queue is
 * full. cq_high is the largest number of entries in use, which tests read. */
bool wire_reserve_entry(struct wire *w)
{
    uint64_t used = atomic_load(&w->cq_used);
    do {
        if (used >= w->cq_size)
            return false;
    } while (!atomic_compare_exchange_weak(&w->cq_used, &used, used + 1));
    uint64_t high = atomic_load(&w->cq_high);
    while (high < used + 1 && !atomic_compare_exchange_weak(&w->cq_high, &high, used + 1))
        ;
    return true;
}

/* Frees n entries that were reserved in the completion queue. */
void wire_free_entries(struct wire *w, uint64_t n)
{
    atomic_fetch_sub(&w->cq_used, n);
}

/* Returns where to store a record of size bytes: at *tail or, if too little is left before the
 * ring's end, at the ring's beginning. It then marks the rest as a pad, and moves *tail past it.
 * NULL: the ring is full. */
static struct record *room(struct wire *w, uint64_t *tail, size_t size)
{
    uint64_t head = atomic_load_explicit(&w->head, memory_order_acquire);
    uint64_t at = *tail % w->ring_size, left = w->ring_size - at;
    if (left < size || (head == *tail && at > HOT)) {
        if (*tail + left - head > w->ring_size)
            return NULL;
        if (left >= sizeof(struct record))
            *slot(w, *tail) = (struct record){.size = (uint32_t)left, .kind = RECORD_PAD};
        *tail += left;
    }
    return *tail + size - head <= w->ring_size ? slot(w, *tail) : NULL;
}

/* Puts a record with n bytes after it into the ring, reserves the receive and the queue entry that
 * the record needs at the owner (takes), and wakes the owner. Returns a value of PUT_. */
int wire_put(struct mapping *m, const struct record *r, const void *bytes, size_t n, unsigned takes)
{
    struct wire *w = m->w;
    const size_t size = (sizeof *r + n + 63) & ~(size_t)63;
    int ret = PUT_FULL;
    if (!wire_try_lock(w))
        return PUT_AGAIN;
    uint64_t tail = atomic_load_explicit(&w->tail, memory_order_relaxed);
    /* For records of immediate data the ring has room besides WIRE_BYTES, for a full queue of them
     * (wire_create). */
    const bool counted = r->kind != RECORD_DATA;
    struct record *to = NULL;
    if (takes & TAKES_RECEIVE && atomic_load(&w->credits) <= 0)
        ret = PUT_NO_RECEIVE;
    else if (!counted || atomic_load(&w->bytes) + size <= WIRE_BYTES)
        to = room(w, &tail, size);
    if (to != NULL && takes & TAKES_ENTRY && !wire_reserve_entry(w)) {
        ret = PUT_OVERRUN;
        to = NULL;
    }
    if (to != NULL) {
        if (takes & TAKES_RECEIVE)
            atomic_fetch_sub(&w->credits, 1);
        if (counted)
            atomic_fetch_add(&w->bytes, size);
        *to = *r;
        to->size = (uint32_t)size;
        if (n > 0)
            memcpy(to + 1, bytes, n);
        /* Pairs with the load in wire_peek. */
        atomic_store_explicit(&w->tail, tail + size, memory_order_release);
        ret = PUT_DONE;
    }
    pthread_mutex_unlock(&w->lock);
    if (ret == PUT_DONE)
        wire_ring(m);
    return ret;
}

/* Returns the next record in the ring, which wire_next consumes, or NULL. Records do not wrap: a
 * rest at the end of the ring that is too small, or a record RECORD_PAD, is skipped. */
const struct record *wire_peek(struct wire *w)
{
    for (;;) {
        uint64_t head = atomic_load_explicit(&w->head, memory_order_relaxed);
        uint64_t tail = atomic_load_explicit(&w->tail, memory_order_acquire);
        if (head == tail)
            return NULL;
        uint64_t left = w->ring_size - head % w->ring_size;
        struct record *r = slot(w, head);
        if (left >= sizeof *r && r->kind != RECORD_PAD)
            return r;
        atomic_store_explicit(&w->head, head + left, memory_order_release);
    }
}

/* Frees the first record of the ring. */
void wire_next(struct wire *w)
{
    uint64_t head = atomic_load_explicit(&w->head, memory_order_relaxed);
    struct record *r = slot(w, head);
    if (r->kind != RECORD_DATA)
        atomic_fetch_sub(&w->bytes, r->size);
    atomic_store_explicit(&w->head, head + r->size, memory_order_release);
}

/* Lets peers find a region in a slot of the file. The key is stored last, because a peer that finds
 * it reads the other members. */
int wire_publish(struct wire *w, int slot, const struct wire_region *r)
{
    if (slot >= WIRE_REGIONS)
        return -1;
    struct wire_region *to = &w->region[slot];
    to->remote = r->remote;
    to->relaxed = r->relaxed;
    to->base = r->base;
    to->len = r->len;
    to->memory = r->memory;
    atomic_store(&to->key, r->key + 1); /* 0 stands for a free slot, and is a valid key */
    uint32_t used = atomic_load(&w->regions);
    if (used <= (uint32_t)slot)
        atomic_store(&w->regions, (uint32_t)slot + 1);
    return 0;
}

/* Removes a region, and waits until no initiator moves its bytes. An initiator that was killed
 * meanwhile never releases the region, so the wait ends after 20000 * 50 us = 1 s. */
void wire_withdraw(struct wire *w, int slot)
{
    struct wire_region *r = &w->region[slot];
    atomic_store(&r->key, 0);
    for (int i = 0; atomic_load(&r->users) > 0 && i < 20000; i++)
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    atomic_store(&r->users, 0);
}

/* Returns the region of a key, which is not removed before wire_release_region, or NULL. The key is
 * compared again after the user was counted, because the owner may have removed the region in
 * between. */
struct wire_region *wire_acquire_region(struct wire *w, uint64_t key)
{
    uint32_t n = atomic_load(&w->regions);
    for (uint32_t i = 0; i < n; i++) {
        struct wire_region *r = &w->region[i];
        if (atomic_load(&r->key) != key + 1)
            continue;
        atomic_fetch_add(&r->users, 1);
        if (atomic_load(&r->key) == key + 1)
            return r;
        wire_release_region(r);
    }
    return NULL;
}

/* Ends the use of a region by an initiator. */
void wire_release_region(struct wire_region *r)
{
    uint32_t users = atomic_load(&r->users);
    while (users > 0 && !atomic_compare_exchange_weak(&r->users, &users, users - 1))
        ;
}

/* Returns the entry of the hash table of known addresses at which the search for an address begins
 * (Fibonacci hashing: the upper bits of a product with 2^64 divided by the golden ratio). */
static uint64_t hash_start(uint64_t id)
{
    return id * UINT64_C(0x9e3779b97f4a7c15) >> 40;
}

/* Adds an id to the table of ids that the owner of a file knows: those in the owner's address
 * vector. If the table is too full, all ids count as known (everybody). */
void wire_add_known(struct wire *w, uint64_t id)
{
    for (uint64_t i = 0; i < WIRE_KNOWN / 2; i++) {
        _Atomic uint64_t *at = &w->known[(hash_start(id) + i) % WIRE_KNOWN];
        uint64_t there = atomic_load(at);
        if (there == id)
            return;
        if (there == 0) {
            atomic_store(at, id);
            return;
        }
    }
    atomic_store(&w->everybody, 1);
}

/* Reports whether the owner of a file knows an address. */
bool wire_knows(struct wire *w, uint64_t id)
{
    for (uint64_t i = 0; i < WIRE_KNOWN / 2; i++) {
        uint64_t there = atomic_load(&w->known[(hash_start(id) + i) % WIRE_KNOWN]);
        if (there == id)
            return true;
        if (there == 0)
            break;
    }
    return atomic_load(&w->everybody) != 0;
}
