/*
 * ring.c: the list of rings. Rings are memory from mmap, so that the program's own heap is the same
 * as without the shim. They are never removed from the list: when a thread has ended and the writer
 * has emptied its ring, the next new thread gets it.
 */
#define _GNU_SOURCE
#include "ring.h"

#include "ticks.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread struct preload_ring *preload_ring __attribute__((tls_model("initial-exec")));
_Atomic uint64_t preload_ringless;

static _Atomic(struct preload_ring *) rings; /* the list, linked by next */
static pthread_key_t key; /* has each thread's ring as its value, for mark_ended */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Marks the ring of a thread that ends as free for another thread. */
static void mark_ended(void *ring)
{
    preload_ring = NULL;
    atomic_store_explicit(&((struct preload_ring *)ring)->ended, 1, memory_order_release);
}

/* Makes the key of the threads' rings. At the end of a thread that has set it to its ring, the
 * system calls mark_ended. */
static void make_key(void)
{
    pthread_key_create(&key, mark_ended);
}

/* Claims the ring of a thread that has ended, if the writer has written all its records; NULL if
 * there is no such ring. */
static struct preload_ring *claim_ended(void)
{
    for (struct preload_ring *r = atomic_load(&rings); r; r = r->next) {
        int expected = 1; /* the states of ended are in ring.h */
        if (atomic_load_explicit(&r->ended, memory_order_acquire) == 1 &&
            atomic_load_explicit(&r->tail, memory_order_acquire) ==
                atomic_load_explicit(&r->head, memory_order_relaxed) &&
            atomic_compare_exchange_strong(&r->ended, &expected, 2))
            return r;
    }
    return NULL;
}

/* Touches the memory of PRELOAD_TOUCHED records from records[head] on, so that recording takes no
 * page faults, and adds the time to r->touch_ns. It overwrites their first bytes: the records must
 * be free. */
void preload_ring_touch(struct preload_ring *r, uint64_t head)
{
    uint64_t begin = preload_monotonic();
    volatile char *at = (volatile char *)&r->records[head];
    volatile char *end = (volatile char *)&r->records[head + PRELOAD_TOUCHED];
    for (; at < end; at += 4096) /* a page */
        *at = 0;
    end[-1] = 0; /* the last page, which the loop misses if it begins within a page */
    r->touch_ns += preload_monotonic() - begin;
}

/* Sets the ring of the calling thread, and returns it: that of a thread that has ended, or a new
 * one. Returns NULL, and counts a lost record, if there is no memory for a new one. */
struct preload_ring *preload_ring_open(void)
{
    pthread_once(&once, make_key);
    struct preload_ring *r = claim_ended();
    if (!r) {
        r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (r == MAP_FAILED) {
            atomic_fetch_add(&preload_ringless, 1);
            return NULL;
        }
        r->tid = (int)syscall(SYS_gettid);
        r->limit = PRELOAD_RING;
        preload_ring_touch(r, 0);
        r->next = atomic_load(&rings);
        while (!atomic_compare_exchange_weak(&rings, &r->next, r))
            ;
    } else {
        r->tid = (int)syscall(SYS_gettid);
        atomic_store_explicit(&r->ended, 0, memory_order_release);
    }
    preload_preempted(&r->share);
    r->last_end = preload_ticks();
    r->touch_ns = 0;
    pthread_setspecific(key, r);
    preload_ring = r;
    return r;
}

/* Returns the rings of all threads, as a list. */
struct preload_ring *preload_rings(void)
{
    return atomic_load_explicit(&rings, memory_order_acquire);
}

/* In the child of a fork: forgets the rings. */
void preload_rings_forked(void)
{
    preload_ring = NULL;
    atomic_store(&rings, NULL);
}
