/*
 * ring.h: the records of one thread, which it writes and the writer reads. Neither waits for the
 * other: where a ring is full, the record is counted as lost.
 *
 * The thread owns head, limit, last_end, touch_ns, share, lost and counts, and publishes a record
 * by storing head with release order; the writer owns tail and frees space with the same order.
 */
#ifndef PRELOAD_RING_H
#define PRELOAD_RING_H

#include "preempted.h"
#include "preload.h"

#include <stdatomic.h>
#include <string.h>

/* One call of the program, as mode trace records it. */
struct preload_record {
    uint64_t begin, end; /* ticks */
    uint64_t bytes;      /* that the call moves or allocates */
    int32_t pe;          /* that the call names, as its number in the job */
    uint32_t team;       /* its number, from teams.c */
    uint32_t
        stolen; /* nanoseconds lost before the call to preemption or to page faults of the ring */
    uint16_t number; /* of the function: its index in preload_calls */
    uint16_t has;    /* which of pe, bytes and team are set: PRELOAD_HAS_ */
};
_Static_assert(PRELOAD_CALLS <= UINT16_MAX, "the number of a call has 16 bits");

enum { PRELOAD_HAS_PE = 1, PRELOAD_HAS_BYTES = 2, PRELOAD_HAS_TEAM = 4 };

/* The number of records in a ring: 10 MB of memory, which is touched only when it is needed. A
 * thread that only calls shmem_p, 70 ns each, fills it in 18 ms; the writer is woken at each
 * quarter. */
#define PRELOAD_RING ((uint64_t)1 << 18)

/* The ring of one thread. What the thread writes, what the writer writes, and the records each
 * begin a cache line. */
struct preload_ring {
    struct preload_ring *next; /* in the list of all rings; does not change after that */
    int tid;                   /* the kernel's number of the thread */
    /* 0: the thread runs, 1: it has ended, 2: a new thread is claiming the ring */
    _Atomic int ended;

    /* head and tail count records and never wrap; record i is in records[i % PRELOAD_RING]. The
     * records from tail up to head are complete and not written yet. */
    _Alignas(64) _Atomic uint64_t head;
    uint64_t limit;    /* head may advance up to this without another read of tail */
    uint64_t last_end; /* when the thread's last recorded call ended, in ticks */
    uint64_t touch_ns; /* nanoseconds since then that were spent in page faults of the ring */
    struct preload_share share;             /* the kernel's counts when the thread last read them */
    _Atomic uint64_t lost;                  /* records for which the ring had no place */
    _Atomic uint64_t counts[PRELOAD_CALLS]; /* calls that are counted and not recorded */

    _Alignas(64) _Atomic uint64_t tail;
    /* Used by the writer: up to which record it writes now; the thread whose name it has last
     * written to a file, and the number of that file. */
    uint64_t written_to;
    int named;
    unsigned named_in;

    _Alignas(64) struct preload_record records[PRELOAD_RING];
};

/* The calling thread's ring; NULL until it calls preload_ring_open. */
extern __thread struct preload_ring *preload_ring
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Returns a ring for the calling thread. Returns NULL if there is no memory for one, and counts a
 * lost record. */
struct preload_ring *preload_ring_open(void);

/* Returns the first of the list of all rings, linked by next. */
struct preload_ring *preload_rings(void);

/* Records that were lost because their thread got no ring. */
extern _Atomic uint64_t preload_ringless;

/* In the child of a fork: forgets the rings, which are the parent's. */
void preload_rings_forked(void);

/* For how many records memory is touched at a time. Otherwise every hundredth call would have a
 * page fault, 2.8 us on a virtual machine, which the trace would count as the program's time. */
#define PRELOAD_TOUCHED ((uint64_t)1 << 12)

/* Touches the memory of PRELOAD_TOUCHED records from records[head] on, which are free, and adds the
 * time to r->touch_ns. head + PRELOAD_TOUCHED is at most PRELOAD_RING. */
void preload_ring_touch(struct preload_ring *r, uint64_t head);

/* Called by the ring's thread: reports whether the ring is full, so that the next record would be
 * lost. Reads tail only if limit, from an earlier read, has been reached. */
static inline bool preload_ring_full(struct preload_ring *r)
{
    if (atomic_load_explicit(&r->head, memory_order_relaxed) != r->limit)
        return false;
    r->limit = atomic_load_explicit(&r->tail, memory_order_acquire) + PRELOAD_RING;
    return atomic_load_explicit(&r->head, memory_order_relaxed) == r->limit;
}

/* Called by the ring's thread: adds a record, or counts it as lost. Returns true, once for each
 * quarter of the ring, if the caller should wake the writer. */
static inline bool preload_ring_put(struct preload_ring *r, const struct preload_record *record)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    if (__builtin_expect(head == r->limit, 0) && preload_ring_full(r)) {
        uint64_t lost = atomic_load_explicit(&r->lost, memory_order_relaxed);
        atomic_store_explicit(&r->lost, lost + 1, memory_order_relaxed);
        return false;
    }
    r->records[head % PRELOAD_RING] = *record;
    atomic_store_explicit(&r->head, head + 1, memory_order_release);
    return (head + 1) % (PRELOAD_RING / 4) == 0;
}

/* Counts a call that is not recorded. */
static inline void preload_ring_count(struct preload_ring *r, unsigned number)
{
    uint64_t n = atomic_load_explicit(&r->counts[number], memory_order_relaxed);
    atomic_store_explicit(&r->counts[number], n + 1, memory_order_relaxed);
}

#endif
