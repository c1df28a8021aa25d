/* host.c: host threads as producers. Each thread of each block is a host thread. */
#include "consume.h"
#include "load.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define MOST 64 /* producers of a run */

/* The number of threads that share a schedule: more would starve the consumer on 2 cores. */
#define PACERS 1

/* What one thread does: the arguments of push, ack and paced (producer.h). */
struct task {
    void (*body)(const struct task *);
    struct bench_target target;
    uint32_t number, of; /* of this thread among all threads of the run */
    uint64_t each;       /* operations: of this thread; in paced, of all threads together */
    int load, kind;
    uint64_t start, period_ps;
    uint64_t *samples;
};

static struct task tasks[MOST];
static pthread_t threads[MOST];
static uint32_t running;
static char error_text[128];

static int stopped(const struct shmemi_ring *r)
{
    return shmemi_load_far32(&shmemi_progress_of(r)->stopped) != 0;
}

/* Pushes this thread's operations of a load into its ring, number by number, so that all threads
 * together push each number once. */
static void push_body(const struct task *t)
{
    const struct shmemi_ring *r = &t->target.rings[t->number % t->target.count];
    uint64_t first = t->number * t->each;
    if (t->load == BENCH_BURST) {
        for (uint64_t i = 0; i < t->each && !stopped(r); i += BENCH_BURST_OPS) {
            struct shmemi_burst b = shmemi_burst_begin(r, BENCH_BURST_OPS, SHMEMI_SLOTS_P);
            for (uint32_t k = 0; k < BENCH_BURST_OPS; k++) {
                struct shmemi_words w = bench_words(BENCH_P, first + i + k, 0 /* no source */);
                shmemi_burst_store(&b, k, &w, SHMEMI_SLOTS_P);
            }
            shmemi_burst_end(&b);
        }
        return;
    }
    for (uint64_t i = 0; i < t->each; i++) {
        uint64_t source = bench_source(t->target.sources, t->number, i);
        struct shmemi_words w = bench_words(t->load, first + i, source);
        if (t->load == BENCH_PUT) {
            *(uint64_t *)(uintptr_t)source = i;
            shmemi_before_slots();
            shmemi_push(r, &w, SHMEMI_SLOTS_PUT);
        } else {
            shmemi_push(r, &w, SHMEMI_SLOTS_P);
        }
        if (i % BENCH_LOOK == 0 && stopped(r))
            return;
    }
}

/* Pushes one operation after the other into ring 0, and stores the ns until each was acknowledged.
 * The two numbers behind the samples are ticks and ns of all; here a tick is 1 ns. */
static void ack_body(const struct task *t)
{
    const struct shmemi_ring *r = &t->target.rings[0];
    uint64_t begin = bench_now(), value;
    for (uint64_t i = 0; i < t->each; i++) {
        uint64_t t0 = bench_now();
        if (t->kind == BENCH_ACK_FETCH) {
            uint32_t at = shmemi_reply_claim(r, 0 /* where the search begins */);
            if (at == SHMEMI_NO_REPLY)
                return;
            uint32_t turn = shmemi_reply_turn(r, at);
            /* dest and value are i. Consumers reply with dest, so the operation has no kind (0).
             * width 3: 8 bytes; 1: a reply is wanted, in place at. */
            struct shmemi_words w = shmemi_pack_amo_wide(0, 0, i, 0, 3, i, 0, 1, at);
            shmemi_push(r, &w, SHMEMI_SLOTS_AMO_WIDE);
            if (shmemi_reply_wait(r, at, turn, &value) != 0)
                return;
        } else {
            struct shmemi_words w = bench_words(BENCH_P, i, 0 /* no source */);
            uint64_t p = shmemi_push(r, &w, SHMEMI_SLOTS_P);
            /* On the host, BENCH_ACK_BARE waits as BENCH_ACK_TAIL does. */
            if (t->kind == BENCH_ACK_QUIET
                    ? shmemi_ring_quiet(r, 1 /* ring */, 0 /* its number */, 0 /* context */) != 0
                    : shmemi_wait_past(r, &shmemi_progress_of(r)->tail, p) != 0)
                return;
        }
        t->samples[i] = bench_now() - t0;
    }
    t->samples[t->each] = t->samples[t->each + 1] = bench_now() - begin;
}

/* Pushes this thread's operations when they are due: number, number + of, ... of all of them. A
 * slot has the time as dest, the logarithm of 4 bytes, and PE and context 0. */
static void paced_body(const struct task *t)
{
    for (uint64_t i = t->number; i < t->each; i += t->of) {
        const struct shmemi_ring *r = &t->target.rings[i % t->target.count];
        uint64_t due = i * t->period_ps / 1000;
        while (bench_now() < t->start + due) {
#ifdef __x86_64__
            __builtin_ia32_pause();
#endif
        }
        struct shmemi_words w = shmemi_pack_p(0 /* PE */, 0 /* context */, due, 2, (uint32_t)i);
        shmemi_push(r, &w, SHMEMI_SLOTS_P);
        if (i % BENCH_LOOK == t->number && stopped(r))
            return;
    }
}

static void *run_task(void *arg)
{
    const struct task *t = arg;
    t->body(t);
    return NULL;
}

/* Starts count threads with copies of a task, which differ by their number. */
static int start(const struct task *like, uint32_t count)
{
    if (running != 0 || count > MOST) {
        snprintf(error_text, sizeof error_text, "start %u threads: %u run, at most %d may", count,
                 running, MOST);
        return -1;
    }
    for (uint32_t i = 0; i < count; i++) {
        tasks[i] = *like;
        tasks[i].number = i;
        tasks[i].of = count;
        int e = pthread_create(&threads[i], NULL, run_task, &tasks[i]);
        if (e != 0) {
            snprintf(error_text, sizeof error_text, "pthread_create: %s", strerror(e));
            return -1;
        }
        running++;
    }
    return 0;
}

static int host_open(int device)
{
    (void)device;
    return 0;
}

static const char *host_error(void)
{
    return error_text;
}

static int host_push(int load, uint32_t blocks, uint32_t per_block, uint64_t each,
                     const struct bench_target *target)
{
    struct task t = {.body = push_body, .target = *target, .load = load, .each = each};
    return start(&t, blocks * per_block);
}

static int host_ack(int kind, uint32_t count, const struct bench_target *target, uint64_t *samples)
{
    struct task t = {
        .body = ack_body, .target = *target, .kind = kind, .each = count, .samples = samples};
    return start(&t, 1);
}

static int host_paced(uint64_t start_ns, uint64_t period_ps, uint64_t count,
                      const struct bench_target *target)
{
    struct task t = {.body = paced_body,
                     .target = *target,
                     .start = start_ns,
                     .period_ps = period_ps,
                     .each = count};
    return start(&t, PACERS);
}

static int host_clock(struct bench_clock *clock)
{
    clock->host = clock->own = bench_now();
    clock->window = 0;
    return 0;
}

static int host_wait(void)
{
    for (; running != 0; running--)
        pthread_join(threads[running - 1], NULL);
    return 0;
}

const struct bench_producer *bench_host(void)
{
    static const struct bench_producer table = {
        .open = host_open,
        .error = host_error,
        .push = host_push,
        .ack = host_ack,
        .paced = host_paced,
        .clock = host_clock,
        .wait = host_wait,
    };
    return &table;
}
