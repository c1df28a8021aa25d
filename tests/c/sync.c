/*
 * sync.c: the guarantees of fence, quiet, barrier and sync for a third PE, and signal words without
 * data.
 */
#include "check.h"

#include <inttypes.h>
#include <shmemx.h>
#include <signal.h>
#include <sys/time.h>

enum { FENCE, QUIET, PE_QUIET, BARRIER, SYNC, SET, ADD, COMPARISONS, LIMIT, TESTS };
enum { ROUNDS = 100, WORDS = 1000 };

static uint64_t *data; /* WORDS words */
static uint64_t *flag, *phase;
enum { PHASE, OVER, MESSAGES, PHASES };

static int neighbour(int distance)
{
    return (check.me + distance + check.n) % check.n;
}

/* Words that belong to the round of a PE. */
static void write_out(uint64_t *out, int pe, uint64_t round)
{
    for (size_t i = 0; i < WORDS; i++)
        out[i] = check_mix(round * WORDS + i) + (uint64_t)pe;
}

static void compare(const uint64_t *got, int pe, uint64_t round, const char *when)
{
    static uint64_t want[WORDS];
    write_out(want, pe, round);
    for (size_t i = 0; i < WORDS; i++)
        if (got[i] != want[i]) {
            check_fail("round %ju, %s, word %zu of PE %d: expected 0x%jx, got 0x%jx",
                       (uintmax_t)round, when, i, pe, (uintmax_t)want[i], (uintmax_t)got[i]);
            return;
        }
}

static void reset(void)
{
    shmem_barrier_all();
    *flag = 0;
    memset(data, 0, WORDS * sizeof *data);
    shmem_barrier_all();
}

/* A PE that sees the flag sees the data that was put before the fence. */
static void test_fence(void)
{
    static uint64_t out[WORDS];
    check_start(FENCE, "shmem_fence");
    reset();
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        write_out(out, check.me, round);
        shmem_uint64_put_nbi(data, out, WORDS, neighbour(1));
        shmem_fence();
        shmem_uint64_p(flag, round, neighbour(1));
        shmem_uint64_wait_until(flag, SHMEM_CMP_EQ, round);
        compare(data, neighbour(-1), round, "after the flag");
        shmem_barrier_all();
    }
}

/* After a quiet, every PE that is informed of the data finds it, and not only its target. */
static void test_quiet(bool one)
{
    static uint64_t out[WORDS], in[WORDS];
    check_start(one ? PE_QUIET : QUIET, one ? "shmem_pe_quiet" : "shmem_quiet");
    reset();
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        write_out(out, check.me, round);
        shmem_uint64_put_nbi(data, out, WORDS, neighbour(1));
        if (one)
            shmem_pe_quiet(neighbour(1));
        else
            shmem_quiet();
        memset(out, 0, sizeof out); /* quiet allows its reuse */
        shmem_uint64_p(flag, round, neighbour(2));
        shmem_uint64_wait_until(flag, SHMEM_CMP_EQ, round);
        shmem_uint64_get_nbi(in, data, WORDS, neighbour(-1));
        if (one)
            shmem_pe_quiet(neighbour(-1));
        else
            shmem_quiet();
        compare(in, neighbour(-2), round, "read by a third PE");
        shmem_barrier_all();
    }
}

/* A barrier completes the operations that were issued before it. */
static void test_barrier(void)
{
    static uint64_t out[WORDS];
    check_start(BARRIER, "shmem_barrier_all");
    reset();
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        int distance = (int)(round % (uint64_t)check.n);
        write_out(out, check.me, round);
        shmem_uint64_put_nbi(data, out, WORDS, neighbour(distance));
        shmem_barrier_all();
        compare(data, neighbour(-distance), round, "after the barrier");
        shmem_barrier_all();
    }
}

/* No PE leaves before all have arrived, and none enters again before all have left. */
static void test_sync(void)
{
    check_start(SYNC, "shmem_sync_all");
    reset();
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        __atomic_store_n(phase, round, __ATOMIC_RELEASE);
        shmem_sync_all();
        for (int pe = 0; pe < check.n; pe++) {
            uint64_t there = shmem_uint64_atomic_fetch(phase, pe);
            CHECK(there == round, "round %ju: PE %d is in round %ju", (uintmax_t)round, pe,
                  (uintmax_t)there);
        }
        shmem_sync_all();
    }
    shmem_barrier_all();
}

static void test_signal_set(void)
{
    check_start(SET, "shmem_signal_set");
    reset();
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        uint64_t value = check_mix(round);
        shmem_signal_set(flag, value, neighbour(1));
        uint64_t seen = shmem_signal_wait_until(flag, SHMEM_CMP_EQ, value);
        CHECK(seen == value, "wait returned 0x%jx, expected 0x%jx", (uintmax_t)seen,
              (uintmax_t)value);
        CHECK(shmem_signal_fetch(flag) == value, "fetch returned 0x%jx, expected 0x%jx",
              (uintmax_t)shmem_signal_fetch(flag), (uintmax_t)value);
        shmem_barrier_all();
    }
}

static void test_signal_add(void)
{
    uint64_t big = (uint64_t)1 << 40, n = (uint64_t)check.n;
    check_start(ADD, "shmem_signal_add");
    reset();
    for (int i = 0; i < ROUNDS; i++)
        for (int pe = 0; pe < check.n; pe++)
            shmem_signal_add(flag, big + 1, pe);
    uint64_t want = (big + 1) * ROUNDS * n;
    uint64_t seen = shmem_signal_wait_until(flag, SHMEM_CMP_GE, want);
    CHECK(seen == want, "sum: expected 0x%jx, got 0x%jx", (uintmax_t)want, (uintmax_t)seen);
    shmem_barrier_all();
    shmem_signal_add(flag, ~(uint64_t)0, neighbour(1)); /* modulo 2^64: minus one */
    seen = shmem_signal_wait_until(flag, SHMEM_CMP_NE, want);
    CHECK(seen == want - 1, "minus one: expected 0x%jx, got 0x%jx", (uintmax_t)(want - 1),
          (uintmax_t)seen);
    shmem_barrier_all();
}

/* Each comparison with a value on its edge; the words are unsigned. */
static void test_comparisons(void)
{
    const uint64_t top = (uint64_t)1 << 63;
    const struct {
        const char *name;
        int cmp;
        uint64_t before, after, value;
    } cases[] = {
        {"==", SHMEM_CMP_EQ, 0, top, top},          {"!=", SHMEM_CMP_NE, top, 0, top},
        {">", SHMEM_CMP_GT, top - 1, top, top - 1}, {">=", SHMEM_CMP_GE, top - 1, top, top},
        {"<", SHMEM_CMP_LT, top, top - 1, top},     {"<=", SHMEM_CMP_LE, ~(uint64_t)0, top, top},
    };
    check_start(COMPARISONS, "shmem_signal_wait_until");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        *flag = cases[i].before;
        shmem_barrier_all();
        shmem_signal_set(flag, cases[i].after, neighbour(1));
        uint64_t seen = shmem_signal_wait_until(flag, cases[i].cmp, cases[i].value);
        CHECK(seen == cases[i].after, "%s 0x%jx: expected 0x%jx, got 0x%jx", cases[i].name,
              (uintmax_t)cases[i].value, (uintmax_t)cases[i].after, (uintmax_t)seen);
        shmem_barrier_all();
    }
}

static volatile sig_atomic_t rung;

static void ring(int number)
{
    (void)number;
    rung = 1;
}

/* A wait without an event ends after the limit, and by a signal; other waits do not. */
static void test_limit(void)
{
    check_start(LIMIT, "shmemx_wait_limit");
    *flag = 0;
    shmem_barrier_all();
    CHECK(shmemx_wait_limit(1000000) == 0, "a wait ended before there was a limit");
    for (int i = 0; i < 3; i++) {
        shmem_uint64_wait_until(flag, SHMEM_CMP_EQ, 1);
        CHECK(shmemx_wait_limit(1000000) == 1, "wait %d: no limit ended it", i);
    }
    uint64_t got = shmem_signal_wait_until(flag, SHMEM_CMP_EQ, 1);
    CHECK(got == 0 && shmemx_wait_limit(1000000) == 1, "the signal was %" PRIu64, got);
    size_t which = shmem_uint64_wait_until_any(flag, 1, NULL, SHMEM_CMP_EQ, 1);
    CHECK(which == SIZE_MAX && shmemx_wait_limit(1000000) == 1, "any was %zu", which);
    shmem_uint64_wait_until(flag, SHMEM_CMP_EQ, 0);
    CHECK(shmemx_wait_limit(1000000) == 0, "a limit ended a wait that held");

    /* Again and again, because a signal may come before the wait sleeps. */
    struct itimerval often = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, ring);
    shmemx_wait_limit(UINT64_C(3600) * 1000000000);
    setitimer(ITIMER_REAL, &often, NULL);
    shmem_uint64_wait_until(flag, SHMEM_CMP_EQ, 1);
    setitimer(ITIMER_REAL, &never, NULL);
    CHECK(rung && shmemx_wait_limit(0) == 1, "no signal ended it");

    /* It does not depend on a pause of the network either: the others send until PE 0's wait has
       ended. */
    shmem_barrier_all();
    if (check.me == 0) {
        shmemx_wait_limit(30000000);
        shmem_uint64_wait_until(flag, SHMEM_CMP_EQ, 1);
        CHECK(shmemx_wait_limit(0) == 1, "no limit ended a wait beside messages");
        for (int pe = 0; pe < check.n; pe++)
            shmem_uint64_atomic_inc(phase + OVER, pe);
    }
    while (shmem_uint64_test(phase + OVER, SHMEM_CMP_EQ, 0))
        shmem_uint64_atomic_fetch_inc(phase + MESSAGES, 0);
    shmem_barrier_all();

    shmemx_wait_limit(1);
    shmem_barrier_all(); /* has no limit */
    shmemx_wait_limit(0);
    shmem_uint64_p(flag, 1, neighbour(1));
    shmem_uint64_wait_until(flag, SHMEM_CMP_EQ, 1);
    CHECK(*flag == 1 && shmemx_wait_limit(0) == 0, "a wait without a limit ended early");
    shmem_barrier_all();
}

int main(void)
{
    check_open("sync", TESTS);
    data = check_alloc(WORDS * sizeof *data);
    flag = check_alloc(sizeof *flag);
    phase = check_alloc(PHASES * sizeof *phase);
    memset(phase, 0, PHASES * sizeof *phase);
    test_fence();
    test_quiet(false);
    test_quiet(true);
    test_barrier();
    test_sync();
    test_signal_set();
    test_signal_add();
    test_comparisons();
    test_limit();
    return check_close();
}
