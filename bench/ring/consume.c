/*
 * consume.c: the reference consumer in C. It takes the same operations as the one in Go does by
 * package queue, decodes the same fields and posts to the same provider: the difference between the
 * two is the cost of Go.
 */
#define _GNU_SOURCE
#include "consume.h"
#include "load.h"

#include <sched.h>
#include <string.h>
#include <time.h>

uint64_t bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int bench_pin(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    return sched_setaffinity(0, sizeof set, &set);
}

/* Reads the words of the next operation into w. Returns how many slots it has, 0 if it is not
 * complete yet, and -1 if its code is unknown. A slot is written when the lap bits of both its
 * words have the value of this pass through the ring. */
static inline int next(const struct bench_view *v, uint64_t *w)
{
    uint64_t mask = ((uint64_t)1 << v->log2_slots) - 1;
    int slots = 1;
    for (int i = 0; i < slots; i++) {
        uint64_t p = v->position + (uint64_t)i;
        uint64_t lap = (~(p >> v->log2_slots) & 1) << SHMEMI_LAP_BIT;
        const uint64_t *at = v->slots + (p & mask) * 2;
        w[2 * i] = __atomic_load_n(at, __ATOMIC_ACQUIRE);
        w[2 * i + 1] = __atomic_load_n(at + 1, __ATOMIC_ACQUIRE);
        if (((w[2 * i] ^ lap) | (w[2 * i + 1] ^ lap)) >> SHMEMI_LAP_BIT)
            return 0;
        if (i == 0) {
            slots = shmemi_slots_of(shmemi_get_op(w));
            if (slots == 0)
                return -1;
        }
    }
    return slots;
}

/* Replies to a fetching operation: with its dest, since there is no memory to fetch from. The
 * producer waits until the turn changes. */
static void answer(const struct bench_view *v, const uint64_t *w)
{
    uint64_t i = shmemi_get_reply(w) & (((uint64_t)1 << v->log2_replies) - 1);
    struct shmemi_reply *r = &v->replies[i];
    r->value = shmemi_get_dest(w);
    r->status = 0;
    __atomic_store_n(&r->turn, r->turn + 1, __ATOMIC_RELEASE);
}

/* The request to the provider for an operation. */
static struct bench_request request(const uint64_t *w)
{
    struct bench_request r;
    memset(&r, 0, sizeof r);
    r.op = (uint8_t)shmemi_get_op(w);
    r.width = (uint8_t)shmemi_get_width(w);
    r.context = (uint16_t)shmemi_get_context(w);
    r.pe = (uint32_t)shmemi_get_pe(w);
    r.dest = shmemi_get_dest(w);
    if (r.op == SHMEMI_OP_PUT) {
        r.local = shmemi_get_local(w);
        r.length = shmemi_get_length(w);
    } else {
        r.value = (uint64_t)(int64_t)(int32_t)shmemi_get_value32(w);
    }
    return r;
}

/* Takes up to BENCH_BATCH operations of a ring, adds up their fields, posts them in a paced run,
 * and then publishes the tail. Returns their number. */
static int batch(struct bench_view *v, struct bench_run *run, struct bench_null *provider)
{
    struct bench_request requests[BENCH_BATCH];
    uint64_t w[2 * SHMEMI_MAX_SLOTS];
    uint64_t sum = 0;
    int n = 0, slots;
    for (; n < BENCH_BATCH && (slots = next(v, w)) != 0; n++) {
        if (slots < 0) {
            run->unknown++;
            slots = 1;
        }
        v->position += (uint64_t)slots;
        sum += bench_fields(w);
        if (run->paced)
            requests[n] = request(w);
        switch (shmemi_get_op(w)) {
        case SHMEMI_OP_QUIET:
            __atomic_store_n(&v->line->done, v->position, __ATOMIC_RELEASE);
            break;
        case SHMEMI_OP_AMO_WIDE:
            answer(v, w);
            break;
        default:
            break;
        }
    }
    if (n == 0)
        return 0;
    run->sum += sum;
    if (run->paced)
        bench_post(provider, requests, n);
    __atomic_store_n(&v->line->tail, v->position, __ATOMIC_RELEASE);
    return n;
}

void bench_consume(struct bench_view *rings, int count, struct bench_run *run,
                   struct bench_null *provider)
{
    uint64_t since = bench_now(), seen = run->consumed, idle = 0;
    while (run->consumed < run->operations) {
        int found = 0;
        for (int i = 0; i < count; i++) {
            int n = batch(&rings[i], run, provider);
            found += n;
            run->batches += n != 0;
        }
        if (found != 0) {
            if (run->consumed == 0)
                run->first_ns = bench_now();
            run->consumed += (uint64_t)found;
            continue;
        }
#ifdef __x86_64__
        __builtin_ia32_pause();
#endif
        if ((++idle & 1023) == 0) {
            if (run->yields)
                sched_yield();
            uint64_t now = bench_now();
            if (run->consumed != seen) {
                since = now;
                seen = run->consumed;
            } else if (now - since > run->limit_ns) {
                run->gave_up = 1;
                break;
            }
        }
    }
    run->last_ns = bench_now();
}

int bench_yield(void)
{
    return sched_yield();
}

uint64_t bench_expected(int load, uint64_t threads, uint64_t each, uint64_t sources)
{
    uint64_t sum = 0;
    for (uint64_t t = 0; t < threads; t++)
        for (uint64_t i = 0; i < each; i++) {
            struct shmemi_words w = bench_words(load, t * each + i, bench_source(sources, t, i));
            sum += bench_fields(w.w);
        }
    return sum;
}
