/*
 * pipeline.c: the schedule, and the two ends of one transfer.
 *
 * The specification's promises that this file rests on (OpenSHMEM 1.6):
 *  - Signaling Operations: the signal of a put-with-signal is written after
 *    the data of the same call has been delivered. Nothing is promised
 *    between two calls, not even to the same PE: chunk 7 may arrive before
 *    chunk 6, and does on networks that use several paths. A single counter
 *    of arrivals could therefore not tell which chunk is there. That is why
 *    each slot has a signal word of its own.
 *  - Point-To-Point Synchronization Routines: when a wait returns, what was
 *    delivered before the word it waited for can be read.
 *  - Nonblocking puts: the source must stay as it is until a quiet. Shards
 *    are never written to here, so nothing has to be waited for on the way.
 */
#include "pipeline.h"

#include <shmem.h>
#include <stdatomic.h>
#include <stdlib.h>

void pipeline_init(struct pipeline *p, struct symmetric *heap, size_t chunk, size_t depth)
{
    *p = (struct pipeline){
        .me = shmem_my_pe(), .n_pes = shmem_n_pes(), .chunk = chunk, .depth = depth};
    size_t n = (size_t)p->n_pes;
    p->landing = symmetric_alloc(heap, n * depth * chunk);
    p->arrived = symmetric_alloc(heap, n * depth * sizeof *p->arrived);
    p->credit = symmetric_alloc(heap, n * sizeof *p->credit);
    p->sent = calloc(n, sizeof *p->sent);
}

void pipeline_free(struct pipeline *p)
{
    shmem_free(p->credit);
    shmem_free(p->arrived);
    shmem_free(p->landing);
    free(p->sent);
}

/* The index of a slot among all slots, and so of its signal word. */
static size_t slot_of(const struct pipeline *p, int sender, uint64_t number)
{
    return (size_t)sender * p->depth + number % p->depth;
}

/* Sends chunk `number` (from 0) to `to`: waits until its slot there is free. */
static void send_chunk(struct pipeline *p, int to, uint64_t number, const unsigned char *from,
                       size_t nbytes)
{
    /* The slot was last used by chunk number - depth, which is out of it when
     * the receiver has taken number - depth + 1 chunks. */
    if (number >= p->depth)
        shmem_uint64_wait_until(&p->credit[to], SHMEM_CMP_GE, number - p->depth + 1);
    size_t slot = slot_of(p, p->me, number);
    shmem_putmem_signal_nbi(p->landing + slot * p->chunk, from, nbytes, &p->arrived[slot],
                            number + 1, SHMEM_SIGNAL_SET, to);
    p->sent[to] += nbytes;
}

/* Waits for chunk `number` of `from` and takes it out of its slot. */
static void receive_chunk(struct pipeline *p, const struct layout *l, int from, uint64_t number,
                          const struct chunk *c, unsigned char *block)
{
    size_t slot = slot_of(p, from, number);
    shmem_signal_wait_until(&p->arrived[slot], SHMEM_CMP_EQ, number + 1);
    layout_place_chunk(l, c, from, p->landing + slot * p->chunk,
                       block + l->places[c->tensor].offset);
    /* The copy must have read the slot before the sender sees the credit and writes to the slot
     * again. shmem_fence orders only writes, so this is C11's fence. On x86 it costs nothing, since
     * a store there never overtakes an earlier load; on other processors it may. */
    atomic_thread_fence(memory_order_release);
    /* A count, not a flag: each new value contains all earlier ones, so it does no harm when two of
     * them arrive as one. Only this PE writes the word, and only its latest value is used. */
    shmem_uint64_atomic_set(&p->credit[p->me], number + 1, from);
}

/* Copies the data that is already on the right PE to its new place. */
static void copy_own(const struct pipeline *p, const struct layout *l, const unsigned char *shards,
                     const size_t *shard_at, unsigned char *block)
{
    struct chunks own = {.layout = l, .sender = p->me, .receiver = p->me, .limit = p->chunk};
    struct chunk c;
    while (layout_next_chunk(&own, &c)) {
        layout_place_chunk(l, &c, p->me, shards + shard_at[c.tensor] + c.offset,
                           block + l->places[c.tensor].offset);
    }
}

/*
 * One step of the schedule: sends all chunks for `to`, and takes all chunks of `from`. In round i,
 * chunks up to i + depth - 1 are sent, and chunk i is taken.
 *
 * No PE can wait for ever. Take a PE whose (step, round) is the lowest of all. The credit it needs
 * in round i is for chunk i - 1, which its receiver took in round i - 1 of this step, or earlier.
 * Chunk i, which it then waits for, its sender put in round i - depth + 1, or earlier; with a depth
 * of 1 that is the sender's present round, where it waits for nothing but such a credit. So the
 * lowest PE always proceeds, and every PE becomes the lowest eventually.
 */
static void exchange(struct pipeline *p, const struct layout *l, int to, int from,
                     const unsigned char *shards, const size_t *shard_at, unsigned char *block,
                     struct progress *progress)
{
    struct chunks out = {.layout = l, .sender = p->me, .receiver = to, .limit = p->chunk};
    struct chunks in = {.layout = l, .sender = from, .receiver = p->me, .limit = p->chunk};
    bool sending = true, taking = true;
    uint64_t sent = 0;
    for (uint64_t round = 0; sending || taking; round++) {
        struct chunk c;
        while (sending && sent < round + p->depth) {
            sending = layout_next_chunk(&out, &c);
            if (sending)
                send_chunk(p, to, sent++, shards + shard_at[c.tensor] + c.offset, c.nbytes);
        }
        taking = taking && layout_next_chunk(&in, &c);
        if (taking) {
            receive_chunk(p, l, from, round, &c, block);
            progress_add(progress, c.nbytes);
        }
    }
}

void pipeline_run(struct pipeline *p, const struct layout *l, const unsigned char *shards,
                  const size_t *shard_at, unsigned char *block, struct progress *progress)
{
    /* In step s every PE sends to the one s places after it, so at any time
     * each is the target of one sender, not all of the same one. */
    for (int step = 1; step < p->n_pes; step++) {
        int to = (p->me + step) % p->n_pes;
        int from = (p->me + p->n_pes - step) % p->n_pes;
        exchange(p, l, to, from, shards, shard_at, block, progress);
    }
    copy_own(p, l, shards, shard_at, block);
    /* Completes the nonblocking puts: the shards may be freed after this. */
    shmem_quiet();
}
