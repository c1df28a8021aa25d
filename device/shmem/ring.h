/*
 * ring.h: how a thread passes an operation to the proxy.
 *
 * It is one header for GPU threads (nvcc) and host threads (any C99 or C++11 compiler with GCC's
 * builtins), so that the code that runs under ThreadSanitizer on a machine without a GPU is the
 * code of a kernel. zz_wire.h has the layout, memory.h every access to memory that others see.
 *
 * A producer reserves positions by one addition to the head, waits until the consumer has read the
 * earlier slots at these positions, and stores its slots. Slots carry their own mark of validity,
 * so no flag follows them; writes that must be visible before an operation is seen go before its
 * slots (shmemi_before_slots).
 *
 * Reserved positions must be filled: a thread that dies in between stops its ring there, and the
 * proxy names the ring and the position.
 */
#ifndef SHMEM_RING_H
#define SHMEM_RING_H

#include "memory.h"
#include "zz_wire.h"

/*
 * The result of a wait when the ring was stopped: the job ends, and the awaited event may not have
 * happened.
 */
#define SHMEMI_STOPPED (-1)

/* Returns the words of a ring that its producers share, in memory near to them. */
SHMEMI_HD struct shmemi_ring_near *shmemi_near_of(const struct shmemi_ring *r)
{
    return (struct shmemi_ring_near *)r->near;
}

/* Returns the words in which the proxy tells producers what it has read and completed. */
SHMEMI_HD struct shmemi_ring_progress *shmemi_progress_of(const struct shmemi_ring *r)
{
    return (struct shmemi_ring_progress *)r->line;
}

/*
 * Pauses between two polls of a word that the proxy writes, and reports whether the ring was
 * stopped. It checks that only at each 64th poll, since over PCIe the check takes as long as the
 * poll itself.
 */
SHMEMI_HD int shmemi_pause_or_stopped(const struct shmemi_ring *r, uint32_t *polls)
{
    shmemi_pause(polls);
    return (*polls & 63) == 0 && shmemi_load_far32(&shmemi_progress_of(r)->stopped);
}

/*
 * Waits until the proxy has read all positions below goal. Returns 0, or SHMEMI_STOPPED. Producers
 * poll the tail that one of them saw last; one at a time reads the proxy's, over PCIe for a GPU.
 * When each reads it for itself, a thousand warps that wait for free slots keep PCIe so busy that
 * 2.5 M operations a second get through.
 *
 * What the proxy read before it published the tail happens before what the caller does next,
 * whether this thread has read the tail or another one: for that the last load acquires the tail,
 * whose value is not needed.
 */
SHMEMI_HD int shmemi_await_read(const struct shmemi_ring *r, uint64_t goal)
{
    uint32_t polls = 0;
    /* Positions wrap at 2^64, so distances are compared, not positions. */
    while ((int64_t)(goal - shmemi_load_near(&shmemi_near_of(r)->tail)) > 0) {
        if (shmemi_claim_near(&shmemi_near_of(r)->poller, 1 /* bits */) == 0) {
            struct shmemi_ring_near *near = shmemi_near_of(r);
            uint64_t tail = shmemi_acquire_far(&shmemi_progress_of(r)->tail);
            uint32_t stopped = shmemi_load_far32(&shmemi_progress_of(r)->stopped);
            shmemi_publish_near(&near->tail, tail);
            shmemi_release_claim(&near->poller, 1 /* bits */);
            if ((int64_t)(goal - tail) <= 0)
                return 0;
            if (stopped)
                return SHMEMI_STOPPED;
        }
        shmemi_pause_near(&polls);
        /* The thread that reads the tail may have died: then only this check ends the wait. */
        if ((polls & 4095) == 0 && shmemi_load_far32(&shmemi_progress_of(r)->stopped))
            return SHMEMI_STOPPED;
    }
    shmemi_acquire_near(&shmemi_near_of(r)->tail);
    return 0;
}

/*
 * Reserves n positions and waits until the proxy has read all positions that are more than
 * `positions` before the end of these; *status is then 0, or SHMEMI_STOPPED. The cached tail is
 * read first, so that the two reads overlap (on an H200 708 cycles one after the other, 361
 * together). It may be older than the position, which at worst costs another poll.
 */
SHMEMI_HD uint64_t shmemi_reserve_slots_within(const struct shmemi_ring *r, uint64_t n,
                                               uint64_t positions, int *status)
{
    uint64_t seen = shmemi_load_near(&shmemi_near_of(r)->tail);
    uint64_t p = shmemi_fetch_add_near(&shmemi_near_of(r)->head, n);
    uint64_t goal = p + n - positions;
    *status = (int64_t)(goal - seen) <= 0 ? 0 : shmemi_await_read(r, goal);
    return p;
}

/* Reserves n positions, and returns the first. The caller may then store their slots, unless
 * *status is SHMEMI_STOPPED. */
SHMEMI_HD uint64_t shmemi_reserve_slots(const struct shmemi_ring *r, uint64_t n, int *status)
{
    return shmemi_reserve_slots_within(r, n, (uint64_t)1 << r->log2_slots, status);
}

/*
 * Returns the cell of position p, the memory for bytes beside its slot, if the ring has cells. A
 * producer copies the bytes to its cell, orders them before its slots (shmemi_before_slots), and
 * names the cell as it would name other memory; it does not wait for a reply. The proxy has read
 * the cell before it publishes that it has read the operation, whatever the operation's target.
 *
 * A cell belongs to two positions. Operations of two slots and more that are less than 2 *
 * SHMEMI_CELLS positions apart have different cells; so a thread that reserves a position waits
 * until the proxy has read all positions further back, as in a smaller ring.
 */
SHMEMI_HD char *shmemi_cell(const struct shmemi_ring *r, uint64_t p)
{
    return (char *)r->cells + (p >> 1 & (SHMEMI_CELLS - 1)) * SHMEMI_CELL_BYTES;
}

/* Reserves n positions, and returns the first. If *status is 0, the caller may then store the slots
 * and the cell of the first position (shmemi_cell). If it is SHMEMI_STOPPED, the proxy has stopped,
 * and the caller must store nothing. */
SHMEMI_HD uint64_t shmemi_reserve_cell(const struct shmemi_ring *r, uint64_t n, int *status)
{
    uint64_t size = (uint64_t)1 << r->log2_slots;
    return shmemi_reserve_slots_within(r, n, size < 2 * SHMEMI_CELLS ? size : 2 * SHMEMI_CELLS,
                                       status);
}

/* Stores slot i of an operation, whose first slot is at position p. Both words get the lap bit,
 * which is 1 in the first pass over the ring, whose memory is zero, and changes at each pass: by
 * this bit the proxy sees that a word is new. A slot has 16 bytes. */
SHMEMI_HD void shmemi_store_one(const struct shmemi_ring *r, uint64_t p,
                                const struct shmemi_words *words, int i)
{
    uint64_t at = p + (uint64_t)i, mask = ((uint64_t)1 << r->log2_slots) - 1;
    uint64_t lap = (~(at >> r->log2_slots) & 1) << SHMEMI_LAP_BIT;
    shmemi_store_slot((char *)r->slots + (at & mask) * 16, words->w[2 * i] | lap,
                      words->w[2 * i + 1] | lap);
}

/* Stores the slots of an operation from position p on, which the caller has reserved. The number of
 * slots is a constant of the caller, so that the loop can be unrolled. */
SHMEMI_HD void shmemi_store_slots(const struct shmemi_ring *r, uint64_t p,
                                  const struct shmemi_words *words, int slots)
{
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int i = 0; i < slots; i++)
        shmemi_store_one(r, p, words, i);
}

/*
 * Stores the slots of an operation from position p on, for a number of slots that is not a
 * constant. nvcc would unroll the loop by four, for 20 registers more in all functions of the call
 * chain.
 */
SHMEMI_HD void shmemi_store_some(const struct shmemi_ring *r, uint64_t p,
                                 const struct shmemi_words *words, int slots)
{
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (int i = 0; i < slots; i++)
        shmemi_store_one(r, p, words, i);
}

/*
 * Wakes a proxy that sleeps. Only host producers can: a proxy that serves a GPU polls. The proxy
 * announces its sleep, makes every running thread order its memory accesses (membarrier), and polls
 * its rings once more: so either it finds these slots, or this function finds it asleep.
 */
SHMEMI_HD void shmemi_wake_proxy(const struct shmemi_ring *r)
{
#ifndef __CUDA_ARCH__
    shmemi_after_slots();
    if (r->wake != NULL && shmemi_load_far32(&shmemi_progress_of(r)->asleep))
        ((void (*)(void *))(uintptr_t)r->wake)(r->wake_arg);
#else
    (void)r;
#endif
}

/*
 * Pushes one operation. Returns the position of its first slot; if the ring was stopped nothing is
 * stored and the position has no meaning.
 */
SHMEMI_HD uint64_t shmemi_push(const struct shmemi_ring *r, const struct shmemi_words *words,
                               int slots)
{
    int status;
    uint64_t p = shmemi_reserve_slots(r, (uint64_t)slots, &status);
    if (status == 0) {
        shmemi_store_slots(r, p, words, slots);
        shmemi_wake_proxy(r);
    }
    return p;
}

/*
 * A burst: positions for many operations, reserved by one addition. The caller stores count
 * operations of `slots` slots each by shmemi_burst_store, in any order. A burst has at most as many
 * slots as the ring.
 */
struct shmemi_burst {
    const struct shmemi_ring *ring;
    uint64_t position;
    int open; /* 0: the ring was stopped */
};

/* Reserves the positions of a burst, count operations of `slots` slots each, and waits until they
 * are free. */
SHMEMI_HD struct shmemi_burst shmemi_burst_begin(const struct shmemi_ring *r, uint32_t count,
                                                 int slots)
{
    struct shmemi_burst b;
    int status;
    b.ring = r;
    b.position = shmemi_reserve_slots(r, (uint64_t)count * (uint64_t)slots, &status);
    b.open = status == 0;
    return b;
}

/* Stores operation number index of a burst, unless the ring was stopped. */
SHMEMI_HD void shmemi_burst_store(const struct shmemi_burst *b, uint32_t index,
                                  const struct shmemi_words *words, int slots)
{
    if (b->open)
        shmemi_store_slots(b->ring, b->position + (uint64_t)index * (uint64_t)slots, words, slots);
}

/* Ends a burst: wakes a proxy that sleeps. */
SHMEMI_HD void shmemi_burst_end(const struct shmemi_burst *b)
{
    if (b->open)
        shmemi_wake_proxy(b->ring);
}

#ifdef __CUDACC__
/*
 * Reserves positions for each lane that calls it together with others for the same ring: one
 * addition and one read of the tail for all of them. Every lane has an operation of its own. The
 * lanes that share the addition have the same ring and the same number of slots (alike: rings are
 * further apart than a number of slots, so the sum of both identifies them).
 */
static __device__ __forceinline__ uint64_t shmemi_reserve_lanes(const struct shmemi_ring *r,
                                                                int slots, int *status)
{
    unsigned mask = __activemask(), before;
    if ((mask & (mask - 1)) != 0) {
        unsigned long long alike = (unsigned long long)(uintptr_t)r + (unsigned)slots;
        int same;
        __match_all_sync(mask, alike, &same);
        if (!same) /* lanes push to different rings; this instruction takes 200 cycles */
            mask = __match_any_sync(mask, alike);
    }
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(before));
    int rank = __popc(mask & before); /* of this lane among those alike */
    uint64_t p = 0;
    *status = 0;
    if (rank == 0)
        p = shmemi_reserve_slots(r, (uint64_t)__popc(mask) * (uint64_t)slots, status);
    int leader = __ffs((int)mask) - 1;
    p = __shfl_sync(mask, (unsigned long long)p, leader);
    *status = __shfl_sync(mask, *status, leader);
    return p + (uint64_t)rank * (uint64_t)slots;
}

/*
 * Pushes one operation for each lane that calls it together, all with the same number of slots.
 * Returns the position of this lane's operation.
 */
static __device__ __forceinline__ uint64_t shmemi_push_lanes(const struct shmemi_ring *r,
                                                             const struct shmemi_words *words,
                                                             int slots)
{
    int status;
    uint64_t p = shmemi_reserve_lanes(r, slots, &status);
    if (status == 0)
        shmemi_store_slots(r, p, words, slots);
    return p;
}
#endif

/* The result of shmemi_reply_claim if all reply places are claimed and the ring was stopped. */
#define SHMEMI_NO_REPLY UINT32_MAX

/*
 * Claims a reply place and returns its number, or SHMEMI_NO_REPLY. The search begins at place hint,
 * so that threads with different hints seldom try the same place. The place is the caller's until
 * shmemi_reply_wait has returned. A claim waits only for another thread's reply, never for its own.
 * Threads that wait when a ring is stopped keep their places, so a claim must check for that before
 * it tries again.
 */
SHMEMI_HD uint32_t shmemi_reply_claim(const struct shmemi_ring *r, uint32_t hint)
{
    uint32_t *claims = (uint32_t *)(void *)(shmemi_near_of(r) + 1);
    uint32_t mask = ((uint32_t)1 << r->log2_replies) - 1;
    uint32_t polls = 0;
    for (uint32_t n = 0;; n++) {
        uint32_t i = (hint + n) & mask;
        uint32_t bit = (uint32_t)1 << (i & 31);
        if ((shmemi_claim_near(&claims[i >> 5], bit) & bit) == 0)
            return i;
        if ((n & mask) == mask) {
            if (shmemi_load_far32(&shmemi_progress_of(r)->stopped))
                return SHMEMI_NO_REPLY;
            shmemi_pause(&polls);
        }
    }
}

/* Returns reply place i of a ring, into which the proxy stores the result of the operation that has
 * claimed it. */
SHMEMI_HD struct shmemi_reply *shmemi_reply_at(const struct shmemi_ring *r, uint32_t i)
{
    return (struct shmemi_reply *)r->replies + i;
}

/* Returns the turn of a reply place, the number of replies that it has had. A thread reads it
 * before it pushes an operation; when it changes, the reply has arrived. */
SHMEMI_HD uint32_t shmemi_reply_turn(const struct shmemi_ring *r, uint32_t i)
{
    return shmemi_load_far32(&shmemi_reply_at(r, i)->turn);
}

/*
 * Waits for the reply, stores its value and releases the place. Returns the status of the
 * operation, or SHMEMI_STOPPED; then the place is not released, because the reply may still arrive.
 */
SHMEMI_HD int shmemi_reply_wait(const struct shmemi_ring *r, uint32_t i, uint32_t turn,
                                uint64_t *value)
{
    uint32_t *claims = (uint32_t *)(void *)(shmemi_near_of(r) + 1);
    struct shmemi_reply *reply = shmemi_reply_at(r, i);
    uint32_t polls = 0;
    while (shmemi_acquire_far32(&reply->turn) == turn) {
        if (shmemi_pause_or_stopped(r, &polls))
            return SHMEMI_STOPPED;
    }
    int status = (int)shmemi_load_far32((const uint32_t *)(const void *)&reply->status);
    *value = shmemi_load_far(&reply->value);
    shmemi_release_claim(&claims[i >> 5], (uint32_t)1 << (i & 31));
    return status;
}

/*
 * Waits until the proxy has read the operations that any thread pushed into the other rings before
 * this call. A quiet or fence in one ring, `mine`, then covers them. The heads show what was
 * pushed; visible slots do not, because a position that was reserved and is not filled yet may be
 * before filled ones. Returns 0, or SHMEMI_STOPPED.
 */
SHMEMI_HD int shmemi_await_rings_read(const struct shmemi_ring *rings, uint32_t count,
                                      uint32_t mine)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct shmemi_ring *r = &rings[i];
        if (i != mine && shmemi_await_read(r, shmemi_load_near(&shmemi_near_of(r)->head)) != 0)
            return SHMEMI_STOPPED;
    }
    return 0;
}

/*
 * Waits until a position that the proxy publishes, such as that of the last quiet, has passed p.
 * Returns 0, or SHMEMI_STOPPED.
 */
SHMEMI_HD int shmemi_wait_past(const struct shmemi_ring *r, const uint64_t *word, uint64_t p)
{
    uint32_t polls = 0;
    while ((int64_t)(shmemi_acquire_far(word) - p) <= 0) {
        if (shmemi_pause_or_stopped(r, &polls))
            return SHMEMI_STOPPED;
    }
    return 0;
}

/*
 * Waits until all operations that happen before this call, of any thread and in any of the count
 * rings, are complete. Returns 0, or SHMEMI_STOPPED; also when the quiet itself could not be
 * pushed, because the wait then finds the ring stopped. mine is the ring into which the quiet is
 * pushed; threads that wait at the same time share one flush. context goes into the slot; 0 is the
 * default.
 */
SHMEMI_HD int shmemi_ring_quiet(const struct shmemi_ring *rings, uint32_t count, uint32_t mine,
                                uint32_t context)
{
    const struct shmemi_ring *r = &rings[mine];
    struct shmemi_words words = shmemi_pack_quiet(context);
    shmemi_before_slots();
    if (shmemi_await_rings_read(rings, count, mine) != 0)
        return SHMEMI_STOPPED;
    return shmemi_wait_past(r, &shmemi_progress_of(r)->done,
                            shmemi_push(r, &words, SHMEMI_SLOTS_QUIET));
}

/*
 * Orders the operations that happen before this call, of any thread and in any ring, before those
 * that happen after it. A single ring keeps its order by itself. Among several, the proxy could
 * read a later operation of another thread in another ring before this fence, so the caller waits
 * until the proxy has read the fence; it does not wait for the network. mine and context are those
 * of shmemi_ring_quiet. Returns 0, or SHMEMI_STOPPED.
 */
SHMEMI_HD int shmemi_ring_fence(const struct shmemi_ring *rings, uint32_t count, uint32_t mine,
                                uint32_t context)
{
    const struct shmemi_ring *r = &rings[mine];
    struct shmemi_words words = shmemi_pack_fence(context);
    shmemi_before_slots();
    if (shmemi_await_rings_read(rings, count, mine) != 0)
        return SHMEMI_STOPPED;
    uint64_t p = shmemi_push(r, &words, SHMEMI_SLOTS_FENCE);
    return count > 1 ? shmemi_wait_past(r, &shmemi_progress_of(r)->fenced, p) : 0;
}

#endif
