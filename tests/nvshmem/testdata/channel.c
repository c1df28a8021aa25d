/*
 * A program that was built with NVIDIA's device archive, in a job whose PEs loads and stores do not
 * all reach. Its threads play kernels: they submit requests to the proxy channel as device code of
 * the release does. GPU memory is memory of the process here. Arguments: the minor number of the
 * release, and what to do:
 *
 *   requests   every request, on every PE, by several threads at once
 *   unserved   a request that is not served: the job ends
 *   unfinished the same, and a thread stores a request, and a part of one, right before finalize
 */
#define _GNU_SOURCE
#include <nvshmem.h>
#include <nvshmemx.h>

#include "../../../abi/zz_archive.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nvshmemid_hostlib_init_attr(int requested, int *provided, unsigned int flags,
                                nvshmemx_init_attr_t *attr, nvshmemi_version_t archive,
                                int (*callback)(void **, void **));
void nvshmemid_hostlib_finalize(void *state, void *transport);

enum { THREADS = 3, WORDS = 4096, RING = 1 << 22, MOST = 1024 };
enum { PUT = 1, P, PUT_SIGNAL, GET, G, FENCE, AMO, QUIET_PAIRS = 108, PAIRS = 100 };
enum {
    SET = 3,
    ADD,
    AND,
    OR,
    XOR,
    SIGNAL,
    SIGNAL_SET,
    SIGNAL_ADD,
    FETCH = 12,
    FETCH_INC,
    FETCH_ADD,
    SWAP = 18,
    CSWAP
};

static char variable[MOST];
static const struct shmemi_archive_state *s = (const void *)variable;
static int minor;
static atomic_int failed;

static void check(int good, const char *what, int pe)
{
    if (!good) {
        fprintf(stderr, "PE %d, on PE %d: %s\n", s->mype, pe, what);
        failed = 1;
    }
}
#define CHECK(good) check(good, #good, pe)

static int find(void **state, void **transport)
{
    *state = variable;
    (void)transport;
    return 0;
}

/* ------------------------------------------------------------ a kernel's side */

static _Atomic uint64_t *word(uint64_t at)
{
    return (_Atomic uint64_t *)(uintptr_t)at;
}

static uint64_t get(uint64_t at)
{
    return atomic_load(word(at));
}

static void raise(uint64_t at, uint64_t to)
{
    uint64_t is = get(at);
    while (is < to && !atomic_compare_exchange_weak(word(at), &is, to))
        ;
}

/* Stores a request of n entries, whose lowest bits are not set. Returns the position after it. */
static uint64_t submit(const uint64_t *entries, uint64_t n)
{
    uint64_t at = atomic_fetch_add(word(s->proxy_channels_issue), 8 * n), end = at + 8 * n;
    while (get(s->proxy_channels_complete) + s->proxy_channel_buf_size < end)
        sched_yield();
    for (uint64_t i = n; i-- > 0;) { /* the last first: the proxy must not rely on an order */
        uint64_t p = at + 8 * i, flag = !(p >> s->proxy_channel_buf_logsize & 1);
        atomic_store(word(s->proxy_channels_buf + p % RING), entries[i] | flag);
    }
    return end;
}

/* Reports whether the next request of this thread is one on a queue pair: every other one, from 3.5
 * on. */
static int on_pair(void)
{
    static _Thread_local unsigned requests;
    return minor >= 5 && requests++ % 2;
}

/* Returns the first entry of a request. pair: it is one on a queue pair. */
static uint64_t base(int op, const void *there, int pair)
{
    uint64_t code = op + (pair ? PAIRS : 0);
    return ((uint64_t)(uintptr_t)there - s->heap_base) << 24 | code << 16 | 1 << 8;
}

static uint64_t low(uint64_t v)
{
    return (v & 0xff) << 8;
}

static uint64_t high(uint64_t v)
{
    return v & ~(uint64_t)0xff;
}

static void move(int op, const void *there, void *here, uint64_t n, int pe)
{
    uint64_t at = (uint64_t)(uintptr_t)here;
    uint64_t e[] = {base(op, there, on_pair()), high(at), n << 16 | low(at),
                    (uint64_t)pe << 16 | 1ull << 32};
    submit(e, 4);
}

static void p(void *there, uint64_t value, uint64_t size, int pe)
{
    int pair = on_pair();
    uint64_t e[] = {base(P, there, pair), value << 32 | (uint64_t)pe << 16,
                    value >> 32 << 32 | size << 16, 2ull << 32};
    submit(e, pair ? 4 : 3);
}

static void amo(int op, void *there, uint64_t value, uint64_t compare, uint64_t size, int pe,
                uint64_t element)
{
    int pair = on_pair();
    uint64_t e[] = {base(AMO, there, pair),
                    value << 32 | (uint64_t)pe << 16 | (uint64_t)op << 8,
                    value >> 32 << 32 | size << 16 | low(compare),
                    high(compare),
                    element << 8,
                    1ull << 32};
    submit(e, pair ? 6 : 5);
}

static void fence(void)
{
    uint64_t e[] = {(uint64_t)FENCE << 16};
    submit(e, 1);
}

/* nvshmem_fence of a kernel, which submits nothing if operations are ordered anyway. */
static void kernel_fence(void)
{
    if (!s->proxy_ops_are_ordered)
        fence();
}

/* Waits until everything before it is complete: for the acknowledgement of a position, or, from 3.5
 * on, by a request that complete has to pass, as blocking calls do. */
static void quiet(void)
{
    if (!on_pair()) {
        uint64_t issue = get(s->proxy_channels_issue);
        raise(s->proxy_channels_quiet_issue, issue);
        while (get(s->proxy_channels_quiet_ack) < issue)
            sched_yield();
        return;
    }
    uint64_t e[] = {2ull << 32 | QUIET_PAIRS << 16, 1ull << 32 | 0xffff << 16, 2ull << 32};
    uint64_t end = submit(e, 3);
    while (get(s->proxy_channels_complete) < end)
        sched_yield();
}

/* Takes an element, and sets *flag to what it is as long as it is free. */
static _Atomic uint64_t *take(uint64_t *number, uint64_t *flag)
{
    *number = atomic_fetch_add(word(s->proxy_channel_g_buf_head_ptr), 1);
    uint64_t at = *number * 16;
    _Atomic uint64_t *e = word(s->proxy_channel_g_buf + at % s->proxy_channel_g_buf_size);
    *flag = (at >> s->proxy_channel_g_buf_log_size) * 2;
    while (atomic_load(e + 1) < *flag)
        sched_yield();
    return e;
}

static uint64_t fetch(int op, void *there, uint64_t value, uint64_t compare, uint64_t size, int pe)
{
    uint64_t number, flag;
    _Atomic uint64_t *e = take(&number, &flag);
    amo(op, there, value, compare, size, pe, number);
    while (atomic_load(e + 1) < flag + 1)
        sched_yield();
    uint64_t is = atomic_load(e);
    atomic_store(e + 1, flag + 2);
    return size == 4 ? (uint32_t)is : is;
}

static uint64_t g(const void *there, uint64_t size, int pe)
{
    uint64_t number, flag, is = 0;
    _Atomic uint64_t *e = take(&number, &flag);
    move(G, there, (void *)e, size, pe);
    quiet();
    memcpy(&is, (void *)e, size);
    atomic_store(e + 1, flag + 2);
    return is;
}

/* The get of a warp: 32 words by one request. */
static void g_warp(const uint64_t *there, uint64_t *to, int pe)
{
    uint64_t number, flag;
    _Atomic uint64_t *e = take(&number, &flag);
    uint64_t at = number * 16 % s->proxy_channel_g_buf_size / 16;
    void *rows = (void *)(uintptr_t)(s->proxy_channel_g_coalescing_buf + at * 256);
    move(G, there, rows, 256, pe);
    quiet();
    memcpy(to, rows, 256);
    atomic_store(e + 1, flag + 2);
}

static void put_signal(void *there, void *here, uint64_t n, uint64_t *signal, uint64_t value,
                       int op, int pe)
{
    if (minor < 5) {
        move(PUT, there, here, n, pe);
        fence();
        amo(op, signal, value, 0, 8, pe, 0);
        return;
    }
    uint64_t at = (uint64_t)(uintptr_t)here, sat = (uint64_t)(uintptr_t)signal - s->heap_base;
    uint64_t e[] = {base(PUT_SIGNAL, there, on_pair()),
                    high(at),
                    n << 16 | low(at),
                    (uint64_t)pe << 16 | 1ull << 32,
                    sat << 24 | (uint64_t)op << 16 | low(value),
                    high(value)};
    submit(e, 6);
}

/* --------------------------------------------------------------------- checks */

/* Symmetric: each thread of each PE has a part. */
static struct part {
    uint64_t data[WORDS], source[WORDS], signals[4], counts[4], words[32];
} * parts;

static struct part *part_of(int pe, int thread)
{
    return parts + pe * THREADS + thread;
}

static uint64_t value_of(int pe, int thread, int i)
{
    return (uint64_t)(pe * THREADS + thread + 1) << 40 | (uint64_t)i * 2654435761u;
}

/* Every request, in the part of this thread at PE pe. */
static void requests_on(int pe, int thread)
{
    const int me = s->mype;
    struct part *mine = part_of(me, thread);
    uint64_t back[WORDS] = {0};
    for (int size = 8; size <= WORDS * 8; size *= 8) {
        move(PUT, mine->data, mine->source, size, pe);
        quiet();
        move(GET, mine->data, back, size, pe);
        quiet();
        CHECK(memcmp(back, mine->source, size) == 0);
    }
    p(mine->words, 0x1122334455667788, 8, pe);
    p((char *)(mine->words + 1) + 1, 0x99, 1, pe);
    p((char *)(mine->words + 1) + 2, 0x77aa, 2, pe);
    p((char *)(mine->words + 1) + 4, 0xffffffff, 4, pe);
    quiet();
    CHECK(g(mine->words, 8, pe) == 0x1122334455667788);
    CHECK(g(mine->words + 1, 8, pe) == 0xffffffff77aa9900);
    CHECK(g((char *)mine->words + 2, 2, pe) == 0x5566);
    uint64_t *count = mine->counts;
    amo(SET, count, 1ull << 50, 0, 8, pe, 0);
    amo(ADD, count, (uint64_t)-7, 0, 8, pe, 0);
    CHECK(fetch(FETCH, count, 0, 0, 8, pe) == (1ull << 50) - 7);
    CHECK(fetch(SWAP, count, 1ull << 63, 0, 8, pe) == (1ull << 50) - 7);
    CHECK(fetch(CSWAP, count, 5, 1ull << 63, 8, pe) == 1ull << 63);
    CHECK(fetch(CSWAP, count, 6, 77, 8, pe) == 5);
    CHECK(fetch(FETCH_INC, count, 0, 0, 8, pe) == 5 && fetch(FETCH_ADD, count, 3, 0, 8, pe) == 6);
    CHECK(fetch(FETCH, count, 0, 0, 8, pe) == 9);
    amo(AND, count + 1, 0, 0, 4, pe, 0);
    amo(OR, count + 1, 0xf00000f0, 0, 4, pe, 0);
    amo(XOR, count + 1, 0x80000010, 0, 4, pe, 0);
    CHECK(fetch(FETCH, count + 1, 0, 0, 4, pe) == 0x700000e0);
    g_warp(mine->source + 100, back, pe);
    for (int i = 0; i < 32; i++)
        CHECK(back[i] == value_of(pe, thread, 100 + i));
}

/* Puts with signals to the PE after this one, each of which waits for the signal of the PE before
 * it: the bytes are there before the signal. */
static void signals(int thread)
{
    const int me = s->mype, n = s->npes, pe = (me + 1) % n, from = (me + n - 1) % n;
    struct part *out = part_of(me, thread), *in = part_of(from, thread);
    for (int round = 1; round <= 200; round++) {
        int words = 1 + round * 37 % 1500;
        for (int i = 0; i < words; i++)
            out->source[i] = value_of(me, thread, round + i);
        put_signal(out->data, out->source, words * 8, out->signals, round, SIGNAL_SET, pe);
        put_signal(out->words + 8, out->source, 8, out->signals + 3, 2, SIGNAL_ADD, pe);
        /* As a reduction of the archive does: bytes, a fence, and a flag that is set. */
        move(PUT, out->words, out->source, 8, pe);
        move(PUT, out->data + WORDS / 2, out->source, words * 4, pe);
        kernel_fence();
        amo(SIGNAL, out->signals + 1, 2 * round, 0, 8, pe, 0);
        while (get((uintptr_t)in->signals) < (uint64_t)round)
            sched_yield();
        while (get((uintptr_t)(in->signals + 1)) < 2 * (uint64_t)round)
            sched_yield();
        while (get((uintptr_t)(in->signals + 3)) < 2 * (uint64_t)round)
            sched_yield();
        CHECK(in->words[8] == value_of(from, thread, round));
        for (int i = 0; i < words; i++)
            if (in->data[i] != value_of(from, thread, round + i)) {
                CHECK(!"bytes before the signal");
                break;
            }
        CHECK(in->words[0] == value_of(from, thread, round));
        CHECK(in->data[WORDS / 2 + words / 2 - 1] ==
                  value_of(from, thread, round + words / 2 - 1) ||
              words < 2);
        /* The PE before may write again when this word says so, which its next round waits for. */
        amo(SET, in->signals + 2, round, 0, 8, from, 0);
        quiet();
        while (get((uintptr_t)(out->signals + 2)) < (uint64_t)round)
            sched_yield();
    }
}

static void *kernel(void *number)
{
    const int thread = (int)(intptr_t)number;
    for (int i = 0; i < s->npes; i++)
        requests_on((s->mype + i) % s->npes, thread);
    return NULL;
}

static void *kernel_of_signals(void *number)
{
    signals((int)(intptr_t)number);
    return NULL;
}

/* Runs a kernel of all threads. */
static void launch(void *(*what)(void *))
{
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, what, (void *)i) != 0)
            exit(2);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void check_state(void)
{
    const int me = s->mype, pe = me;
    const uint64_t *direct = (const void *)(uintptr_t)s->peer_heap_base_p2p;
    int unreached = 0;
    for (int i = 0; i < s->npes; i++) {
        unreached += direct[i] == 0;
        CHECK((direct[i] == 0) == (nvshmem_ptr(parts, i) == NULL));
    }
    CHECK(unreached > 0 && s->proxy == 2 && s->job_connectivity == 8);
    CHECK(s->atomics_complete_on_quiet == 0);
    CHECK(s->proxy_channel_buf_size == RING && s->proxy_channel_buf_logsize == 22);
    CHECK(s->proxy_channel_g_buf_size == 1ull << s->proxy_channel_g_buf_log_size);
    const struct shmemi_archive_team *world =
        (const void *)(uintptr_t)((const uint64_t *)(uintptr_t)s->team_pool)[0];
    const struct shmemi_archive_team *node =
        (const void *)(uintptr_t)((const uint64_t *)(uintptr_t)s->team_pool)[2];
    CHECK(!world->are_gpus_p2p_connected && !node->are_gpus_p2p_connected && s->pe_dist == 2);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    int provided;
    minor = argc > 1 ? atoi(argv[1]) : 0;
    const char *what = argc > 2 ? argv[2] : "";
    if (nvshmemid_hostlib_init_attr(2, &provided, 0, NULL, (nvshmemi_version_t){3, minor, 1},
                                    find) != 0)
        return 1;
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    parts = nvshmem_malloc((size_t)n * THREADS * sizeof *parts);
    memset(parts, 0, (size_t)n * THREADS * sizeof *parts);
    for (int pe = 0; pe < n; pe++)
        for (int t = 0; t < THREADS; t++)
            for (int i = 0; i < WORDS; i++)
                part_of(pe, t)->source[i] = value_of(me, t, i);
    nvshmem_barrier_all();
    check_state();
    if (strcmp(what, "unserved") == 0) {
        uint64_t e[] = {(uint64_t)(me == n - 1 ? 77 : FENCE) << 16};
        submit(e, 1);
        quiet();
        return 0;
    }
    launch(kernel);
    nvshmem_barrier_all();
    launch(kernel_of_signals);
    nvshmem_barrier_all();
    /* What a kernel has submitted is complete after a barrier of the host. */
    const int pe = (me + 1) % n, from = (me + n - 1) % n;
    memset(part_of(from, 0)->data, 0, sizeof part_of(from, 0)->data);
    nvshmem_barrier_all();
    move(PUT, part_of(me, 0)->data, part_of(me, 0)->source, WORDS * 8, pe);
    nvshmem_barrier_all();
    CHECK(part_of(from, 0)->data[WORDS - 1] == value_of(from, 0, WORDS - 1));
    if (strcmp(what, "unfinished") == 0) {
        p(part_of(me, 0)->data, 1, 8, pe);
        uint64_t e[] = {(uint64_t)PUT << 16};
        submit(e, 1); /* as of a kernel that ended by an error */
    }
    nvshmemid_hostlib_finalize(variable, NULL);
    if (!failed)
        printf("PE passed\n");
    return failed;
}
