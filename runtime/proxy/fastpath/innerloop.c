#include "innerloop.h"

#include "wake.h"

#include <sched.h>
#include <time.h>

/* In this file l is the loop, x the state of its engine (layout.State in Go), r a ring, p a
 * position in the ring, and w the words of the slots of an operation. If x->staging is 1, a local
 * buffer may be GPU memory: then C posts only puts whose bytes are in the ring or its cells. */

/* Iterations without work for each read of the clock, which takes as long as half an iteration. */
#define CLOCK_ITERATIONS 16

/* Polls of the rings, without the lock, between two iterations that find nothing. They cost less
 * than polls of the network, so operations are found sooner, and callers in C get the lock. */
#define IDLE_POLLS 4

/* How often the loop tries the lock before it returns to Go, which waits for the lock. */
#define LOCK_TRIES 1000

/* Operations with one time in the flight recorder: a clock reading takes half an operation. */
#define TICK_OPERATIONS 16

/* Returns the time of the monotonic clock, in nanoseconds. */
static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Locks the engine; returns false if another thread holds the lock. unlock releases it. */
static inline bool try_lock(const struct shmemi_innerloop *l)
{
    return __atomic_exchange_n(l->lock, 1, __ATOMIC_ACQUIRE) == 0;
}

static inline void unlock(const struct shmemi_innerloop *l)
{
    __atomic_store_n(l->lock, 0, __ATOMIC_RELEASE);
}

/* Tries for a while to take the lock that another thread holds, and yields the processor between
 * the tries. Returns whether it has the lock. Words.LockYielding does the same in Go. */
static __attribute__((noinline)) bool lock_late(const struct shmemi_innerloop *l)
{
    bool have = false;
    if (l->wanted)
        __atomic_fetch_add(l->wanted, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < LOCK_TRIES && !have; i++) {
        sched_yield();
        have = try_lock(l);
    }
    if (l->wanted)
        __atomic_fetch_sub(l->wanted, 1, __ATOMIC_SEQ_CST);
    return have;
}

/* Reads the two words of the slot at position p into w. False: the producer has not stored both.
 * The highest bit of a stored word, its lap bit, is 1 in even laps round the ring and else 0. */
static inline bool slot_at(const struct shmemi_innerloop_ring *r, uint64_t p, uint64_t *w)
{
    uint64_t mask = ((uint64_t)1 << r->log2_slots) - 1;
    uint64_t lap = ~(p >> r->log2_slots) << SHMEMI_LAP_BIT;
    const uint64_t *at = r->slots + (p & mask) * 2;
    w[0] = __atomic_load_n(at, __ATOMIC_ACQUIRE);
    w[1] = __atomic_load_n(at + 1, __ATOMIC_ACQUIRE);
    return (int64_t)((w[0] ^ lap) | (w[1] ^ lap)) >= 0;
}

/* Reads slots 1 to slots-1 of the operation at p into w. False: the producer has not stored all. */
static inline bool read_rest(const struct shmemi_innerloop_ring *r, uint64_t p, uint64_t *w,
                             int slots)
{
    for (int i = 1; i < slots; i++)
        if (!slot_at(r, p + (uint64_t)i, w + 2 * i))
            return false;
    return true;
}

/* Reports whether n bytes at an offset are in the symmetric segment. */
static inline bool in_segment(const struct shmemi_fastpath *x, uint64_t at, uint64_t n)
{
    return at <= x->size && n <= x->size - at;
}

/* Reports whether n bytes at an address are known to be readable memory of this process: main
 * memory of the segment, or one of the areas of memory that Go has announced (Loop.AddLocal). */
static inline bool readable(const struct shmemi_innerloop *l, uint64_t at, uint64_t n)
{
    uint64_t o = at - (uint64_t)(uintptr_t)l->engine->segment;
    if (o < l->engine->reach && n <= l->engine->reach - o)
        return true;
    for (int i = 0; i < SHMEMI_INNERLOOP_AREAS; i++)
        if (at >= l->areas[i].begin && at < l->areas[i].end && n <= l->areas[i].end - at)
            return true;
    return false;
}

/* Reports whether n bytes at an address lie in a cell, the memory beside each slot of a ring for
 * the bytes of a put. A cell belongs to the put until the ring's tail has passed the slot. */
static inline bool in_ring_cell(const struct shmemi_innerloop_ring *r, uint64_t at, uint64_t n)
{
    uint64_t o = at - r->cells;
    return r->cells != 0 && n != 0 && o < SHMEMI_CELLS * SHMEMI_CELL_BYTES &&
           n <= SHMEMI_CELL_BYTES - o % SHMEMI_CELL_BYTES;
}

/* Fills reply i of a ring with success, and changes its turn, for which the producer waits. */
static void fill_reply(const struct shmemi_innerloop_ring *r, uint64_t i)
{
    struct shmemi_reply *reply = &r->replies[i];
    reply->value = 0;
    reply->status = 0;
    __atomic_store_n(&reply->turn, reply->turn + 1, __ATOMIC_RELEASE);
}

/* post_next, and the functions that it calls, return how many operations they posted: one, or
 * several puts that were merged into one. NOT_STORED: the producer has not stored the whole
 * operation. NOT_SIMPLE: Go has to post it. AT_FENCE: it is a fence, for pass_fences. */
enum { NOT_STORED = 0, NOT_SIMPLE = -1, AT_FENCE = -2 };

/* Posts the put at *p, together with later puts whose source and destination continue those of the
 * put before: they travel as one message. It merges at most `limit` puts. If the whole is too large
 * for a message, nothing is posted, and Go starts with the first of them. */
static int put(struct shmemi_innerloop *l, const struct shmemi_innerloop_ring *r, uint64_t *p,
               const uint64_t *w, uint32_t limit)
{
    struct shmemi_fastpath *x = l->engine;
    uint64_t dest = shmemi_get_dest(w), local = shmemi_get_local(w), n = shmemi_get_length(w);
    uint64_t end = *p + SHMEMI_SLOTS_PUT, want = shmemi_get_want(w), v[4];
    const uint64_t payload = x->max_inject - sizeof(struct shmemi_header);
    const bool in_cell = in_ring_cell(r, local, n);
    int count = 1;
    if (n == 0 || n > payload || (want && shmemi_get_reply(w) >= SHMEMI_REPLIES))
        return NOT_SIMPLE;
    for (; !want && !in_cell && (uint32_t)count < limit; count++) {
        if (!slot_at(r, end, v) || shmemi_get_op(v) != SHMEMI_OP_PUT ||
            shmemi_get_pe(v) != shmemi_get_pe(w) ||
            shmemi_get_context(v) != shmemi_get_context(w) || shmemi_get_want(v) ||
            !read_rest(r, end, v, SHMEMI_SLOTS_PUT) || shmemi_get_dest(v) != dest + n ||
            shmemi_get_local(v) != local + n || in_ring_cell(r, local + n, shmemi_get_length(v)))
            break;
        uint64_t length = shmemi_get_length(v);
        if (length > payload - n)
            return NOT_SIMPLE;
        n += length;
        end += SHMEMI_SLOTS_PUT;
    }
    if (!in_segment(x, dest, n) || !(in_cell || readable(l, local, n)) ||
        (x->staging && !in_cell) ||
        shmemi_fastpath_bytes(x, &l->native, (uint32_t)shmemi_get_pe(w),
                              (int64_t)(dest - x->internal), (const void *)(uintptr_t)local,
                              n) != SHMEMI_DONE)
        return NOT_SIMPLE;
    *p = end;
    if (want)
        fill_reply(r, shmemi_get_reply(w));
    return count;
}

/* Reports whether an operation's signal is valid: set or add, on an aligned word in the segment. */
static inline bool signal_valid(const struct shmemi_fastpath *x, const uint64_t *w)
{
    uint64_t kind = shmemi_get_kind(w), at = shmemi_get_signal_at(w);
    return (kind == SHMEMI_AMO_SET || kind == SHMEMI_AMO_ADD) && at % 8 == 0 &&
           in_segment(x, at, 8);
}

/* Posts the put with a signal at *p, whose decoded slots are in w. NOT_SIMPLE: Go has to. If the
 * producer wants a reply, it gets the reply at once, because the bytes have been copied. */
static int put_signal(struct shmemi_innerloop *l, const struct shmemi_innerloop_ring *r,
                      uint64_t *p, const uint64_t *w)
{
    struct shmemi_fastpath *x = l->engine;
    uint64_t dest = shmemi_get_dest(w), local = shmemi_get_local(w), n = shmemi_get_length(w);
    uint64_t want = shmemi_get_want(w);
    const bool in_cell = in_ring_cell(r, local, n);
    if (!signal_valid(x, w) || n > x->max_inject || !in_segment(x, dest, n) ||
        (n != 0 && !in_cell && !readable(l, local, n)) || (x->staging && !in_cell) ||
        (want && shmemi_get_reply(w) >= SHMEMI_REPLIES))
        return NOT_SIMPLE;
    if (shmemi_fastpath_bytes_signal(x, &l->native, (uint32_t)shmemi_get_pe(w),
                                     (int64_t)(dest - x->internal), (const void *)(uintptr_t)local,
                                     n, (int64_t)(shmemi_get_signal_at(w) - x->internal),
                                     shmemi_get_signal(w), (int)shmemi_get_kind(w)) != SHMEMI_DONE)
        return NOT_SIMPLE;
    *p += SHMEMI_SLOTS_PUT_SIGNAL;
    if (want)
        fill_reply(r, shmemi_get_reply(w));
    return 1;
}

/* Posts the atomic operation at *p, of `slots` slots with the words w, if it fetches nothing. */
static int amo(struct shmemi_innerloop *l, uint64_t *p, const uint64_t *w, int slots,
               uint64_t operand, uint64_t compare)
{
    struct shmemi_fastpath *x = l->engine;
    uint64_t dest = shmemi_get_dest(w), kind = shmemi_get_kind(w), n = 1u << shmemi_get_width(w);
    if (kind < SHMEMI_AMO_SET || kind >= SHMEMI_AMO_SWAP || n < 4 || (dest & (n - 1)) != 0 ||
        !in_segment(x, dest, n) ||
        shmemi_fastpath_amo(x, &l->native, (uint32_t)shmemi_get_pe(w),
                            (int64_t)(dest - x->internal), (int)kind, (int)n, operand,
                            compare) != SHMEMI_DONE)
        return NOT_SIMPLE;
    *p += (uint64_t)slots;
    return 1;
}

/* Posts the store of an element of n bytes at *p, of `slots` slots. NOT_SIMPLE: Go has to. */
static inline int store(struct shmemi_innerloop *l, uint64_t *p, const uint64_t *w, int slots,
                        int n, uint64_t value)
{
    struct shmemi_fastpath *x = l->engine;
    uint64_t dest = shmemi_get_dest(w);
    if (!in_segment(x, dest, (uint64_t)n) ||
        shmemi_fastpath_store(x, &l->native, (uint32_t)shmemi_get_pe(w),
                              (int64_t)(dest - x->internal), n, value) != SHMEMI_DONE)
        return NOT_SIMPLE;
    *p += (uint64_t)slots;
    return 1;
}

/* Posts the put at *p whose bytes, at most 16, are in the slots. NOT_SIMPLE: Go has to. */
static int put_inline(struct shmemi_innerloop *l, uint64_t *p, const uint64_t *w)
{
    struct shmemi_fastpath *x = l->engine;
    uint64_t dest = shmemi_get_dest(w), n = shmemi_get_size(w);
    const uint64_t value[2] = {shmemi_get_value(w), shmemi_get_value2(w)};
    if (n == 0 || n > sizeof value || !in_segment(x, dest, n) ||
        shmemi_fastpath_bytes(x, &l->native, (uint32_t)shmemi_get_pe(w),
                              (int64_t)(dest - x->internal), value, n) != SHMEMI_DONE)
        return NOT_SIMPLE;
    *p += SHMEMI_SLOTS_P_BYTES;
    return 1;
}

/* Posts a put with signal whose bytes, at most 16, are in its slots at *p; or NOT_SIMPLE. */
static int put_inline_signal(struct shmemi_innerloop *l, uint64_t *p, const uint64_t *w)
{
    struct shmemi_fastpath *x = l->engine;
    uint64_t dest = shmemi_get_dest(w), n = shmemi_get_size(w);
    const uint64_t value[2] = {shmemi_get_value(w), shmemi_get_value2(w)};
    if (n == 0 || n > sizeof value || !in_segment(x, dest, n) || !signal_valid(x, w) ||
        shmemi_fastpath_bytes_signal(x, &l->native, (uint32_t)shmemi_get_pe(w),
                                     (int64_t)(dest - x->internal), value, n,
                                     (int64_t)(shmemi_get_signal_at(w) - x->internal),
                                     shmemi_get_signal(w), (int)shmemi_get_kind(w)) != SHMEMI_DONE)
        return NOT_SIMPLE;
    *p += SHMEMI_SLOTS_P_SIGNAL;
    return 1;
}

/* Returns the 32-bit operand of an operation, sign-extended. */
static inline uint64_t value32(const uint64_t *w)
{
    return (uint64_t)(int64_t)(int32_t)shmemi_get_value32(w);
}

/* Posts the operation at position *p of a ring, and moves *p past it and the puts that are merged
 * with it: at most `limit` operations in all. Returns their number, or a value of the enum. */
static inline int post_next(struct shmemi_innerloop *l, const struct shmemi_innerloop_ring *r,
                            uint64_t *p, uint32_t limit)
{
    uint64_t w[2 * SHMEMI_MAX_SLOTS];
    if (!slot_at(r, *p, w))
        return NOT_STORED;
    uint64_t op = shmemi_get_op(w);
    if (op == SHMEMI_OP_P && shmemi_get_pe(w) < l->engine->n_pes)
        return store(l, p, w, SHMEMI_SLOTS_P, 1 << shmemi_get_width(w), value32(w));
    int slots = shmemi_slots_of(op);
    if (slots == 0 || op == SHMEMI_OP_QUIET || op == SHMEMI_OP_GET)
        return NOT_SIMPLE;
    if (!read_rest(r, *p, w, slots))
        return NOT_STORED;
    if (op == SHMEMI_OP_FENCE) {
        if (!l->serves_all)
            return NOT_SIMPLE;
        if (l->ring_count > 1)
            return AT_FENCE;
        l->engine->epoch++;
        *p += SHMEMI_SLOTS_FENCE;
        __atomic_store_n(&r->line->fenced, *p, __ATOMIC_RELEASE);
        return 1;
    }
    if (op == SHMEMI_OP_NOP) {
        *p += SHMEMI_SLOTS_NOP;
        return 1;
    }
    if (shmemi_get_pe(w) >= l->engine->n_pes)
        return NOT_SIMPLE;
    switch (op) {
    case SHMEMI_OP_P_WIDE:
        return store(l, p, w, SHMEMI_SLOTS_P_WIDE, 8, shmemi_get_value(w));
    case SHMEMI_OP_P_BYTES:
        return put_inline(l, p, w);
    case SHMEMI_OP_P_SIGNAL:
        return put_inline_signal(l, p, w);
    case SHMEMI_OP_AMO:
        return amo(l, p, w, SHMEMI_SLOTS_AMO, value32(w), 0);
    case SHMEMI_OP_AMO_WIDE:
        if (shmemi_get_want(w))
            return NOT_SIMPLE;
        return amo(l, p, w, SHMEMI_SLOTS_AMO_WIDE, shmemi_get_value(w), shmemi_get_value2(w));
    case SHMEMI_OP_PUT:
        return put(l, r, p, w, limit);
    case SHMEMI_OP_PUT_SIGNAL:
        return put_signal(l, r, p, w);
    }
    return NOT_SIMPLE;
}

/* Posts up to l->batch operations from ring i, moves the ring's tail past them, and returns their
 * number. It sets *left if Go has to post the next operation, and *fence if that is a fence. */
static inline uint32_t drain(struct shmemi_innerloop *l, uint32_t i, bool *left, bool *fence)
{
    const struct shmemi_innerloop_ring *r = &l->rings[i];
    uint64_t p = l->positions[i], w[2];
    uint32_t n = 0;
    if (!slot_at(r, p, w))
        return 0;
    for (uint32_t turns = 0; n < l->batch; turns++) {
        if (turns % TICK_OPERATIONS == 0)
            l->engine->tick = shmemi_ticks(l->engine->coarse);
        int did = post_next(l, r, &p, l->batch - n);
        if (did <= 0) {
            *left |= did == NOT_SIMPLE;
            *fence |= did == AT_FENCE;
            break;
        }
        n += (uint32_t)did;
    }
    l->engine->tick = 0;
    if (n > 0) {
        l->positions[i] = p;
        /* Not before the n operations are posted: a quiet of another ring relies on that. */
        __atomic_store_n(&r->line->tail, p, __ATOMIC_RELEASE);
    }
    return n;
}

/* Passes the fences at which rings have stopped, and returns their number. The operations before
 * them are posted, so a new epoch orders later ones after them. It first waits for an iteration
 * without work, or for many operations, so that one epoch serves the fences of many rings. */
static inline uint32_t pass_fences(struct shmemi_innerloop *l, uint32_t did)
{
    if ((l->passed += did) < SHMEMI_INNERLOOP_FENCE_AFTER && did > 0)
        return 0;
    l->passed = 0;
    l->engine->epoch++;
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->ring_count; i++) {
        uint64_t p = l->positions[i] + SHMEMI_SLOTS_FENCE, w[2];
        if (!slot_at(&l->rings[i], l->positions[i], w) || shmemi_get_op(w) != SHMEMI_OP_FENCE)
            continue;
        l->positions[i] = p;
        __atomic_store_n(&l->rings[i].line->fenced, p, __ATOMIC_RELEASE);
        __atomic_store_n(&l->rings[i].line->tail, p, __ATOMIC_RELEASE);
        n++;
    }
    return n;
}

/* Reports whether some ring has an operation. It only reads, so it does not need the lock. */
static inline bool pushed(const struct shmemi_innerloop *l)
{
    for (uint32_t i = 0; i < l->ring_count; i++) {
        uint64_t w[2];
        if (slot_at(&l->rings[i], l->positions[i], w))
            return true;
    }
    return false;
}

/* Pauses after an iteration without work: yields the processor, or polls the rings a few times. */
static inline void idle_pause(const struct shmemi_innerloop *l)
{
    if (l->yields) {
        sched_yield();
        return;
    }
    for (int i = 0; i < IDLE_POLLS && !pushed(l); i++) {
#ifdef __x86_64__
        __builtin_ia32_pause();
#endif
    }
}

/* Reports whether the engine and the caller of Run need nothing of Go: nothing waits to be retried,
 * no GPU stream has work, and no request or quiet has completed since the caller's last check. */
static inline bool no_work_for_go(const struct shmemi_innerloop *l)
{
    const struct shmemi_fastpath *x = l->engine;
    return !x->stuck && !x->busy && x->n_unposted == 0 && x->finished == l->finished &&
           (l->ticket == 0 || x->quieted < l->ticket);
}

/* Empties rings, polls the network, applies messages, and unlocks the engine, which the caller has
 * locked. Returns the number of operations and completions; -1: the loop ends with *reason. With
 * SHMEMI_INNERLOOP_COMPLETION it stays locked, since Go handles the rest of the completions. */
static inline int step(struct shmemi_innerloop *l, int *reason)
{
    bool left = false, fence = false;
    int did = 0;
    if (!no_work_for_go(l)) {
        unlock(l);
        *reason = SHMEMI_INNERLOOP_STATE;
        return -1;
    }
    for (uint32_t i = 0; i < l->ring_count; i++)
        did += (int)drain(l, i, &left, &fence);
    if (fence)
        did += (int)pass_fences(l, (uint32_t)did);
    l->taken += (uint64_t)did;
    l->left = left;
    int n = l->native.poll(l->native.self, l->completions, SHMEMI_INNERLOOP_COMPLETIONS);
    if (n == SHMEMI_IN_GO) { /* only Go can fetch the completions of this provider now */
        unlock(l);
        *reason = SHMEMI_INNERLOOP_STATE;
        return -1;
    }
    if (n < 0) {
        unlock(l);
        l->error = n;
        *reason = SHMEMI_INNERLOOP_ERROR;
        return -1;
    }
    l->completed += (uint64_t)n;
    for (int i = 0; i < n; i++)
        if (shmemi_fastpath_receive(l->engine, &l->native, &l->completions[i]) != SHMEMI_DONE) {
            l->first = i;
            l->count = n;
            *reason = SHMEMI_INNERLOOP_COMPLETION;
            return -1;
        }
    if (n > 0)
        shmemi_wake_sleepers(l->sleepers, l->wakes);
    unlock(l);
    if (left) {
        *reason = SHMEMI_INNERLOOP_OPERATION;
        return -1;
    }
    return did + n;
}

/* Completes the loop's account of its times, and returns reason. last is the time of the last read
 * of the clock, last_work the time of the last work before it; did: there was work after it. */
static int finish_account(struct shmemi_innerloop *l, int reason, int64_t begin, int64_t last,
                          int64_t last_work, bool did)
{
    int64_t t = now();
    if (t - last > l->gap)
        l->gap = t - last;
    l->ran = t - begin;
    l->idle = did ? 0 : t - last_work;
    return reason;
}

/* Runs iterations until Go has to do something, the time is over, or there was no work for long. */
int shmemi_innerloop_run(struct shmemi_innerloop *l)
{
    const int64_t begin = now();
    int64_t last = begin, last_work = begin;
    bool did = false; /* it has done work since `last` */
    l->taken = l->completed = 0;
    l->left = 0;
    l->gap = 0;
    for (uint32_t iterations = 1;; iterations++) {
        int reason = SHMEMI_INNERLOOP_ATTENTION;
        if (__atomic_load_n(&l->engine->attention, __ATOMIC_RELAXED))
            return finish_account(l, reason, begin, last, last_work, did);
        /* Otherwise the loop may lock again before a waiting thread sees the lock free. */
        if (l->wanted && __atomic_load_n(l->wanted, __ATOMIC_RELAXED))
            sched_yield();
        if (!try_lock(l) && !lock_late(l))
            return finish_account(l, SHMEMI_INNERLOOP_BUSY, begin, last, last_work, did);
        int n = step(l, &reason);
        if (n != 0) {
            did = true;
            if (n < 0)
                return finish_account(l, reason, begin, last, last_work, did);
        } else if (l->spin > 0) {
            idle_pause(l);
        }
        if (iterations % CLOCK_ITERATIONS != 0 && (n != 0 || l->spin > 0))
            continue;
        int64_t t = now();
        if (t - last > l->gap)
            l->gap = t - last;
        last = t;
        if (did)
            last_work = t;
        did = false;
        if (t - begin >= l->limit)
            return finish_account(l, SHMEMI_INNERLOOP_TIME, begin, last, last_work, did);
        if (t - last_work >= l->spin && n == 0)
            return finish_account(l, SHMEMI_INNERLOOP_IDLE, begin, last, last_work, did);
    }
}
