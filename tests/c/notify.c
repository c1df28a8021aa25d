/*
 * notify.c: puts with notifications: each counts once, after its bytes, whatever its length, its
 * context and its path; and waits, tests, values and ranges of the counters.
 *
 * With the argument "carried" the network is one where writes bring their notifications along and
 * keep no order; with "ordered" one that keeps puts in order.
 */
#include "check.h"

#include <shmemx.h>

enum { COUNTS, NBI, CONTEXTS, WAITS, RESET, RANGES, CARRIED, ORDERED, TESTS };
enum { ROUNDS = 20, ROOM = 70000, FIRST_OF_CONTEXTS = 100, PING = 200, PONG = 201, LAST = 300 };

static const size_t sizes[] = {0, 1, 8, 100, 4040, 4041, 4104, 4105, ROOM};
enum { SIZES = sizeof sizes / sizeof *sizes };
_Static_assert((SIZES - 1) % 3 != 0, "test_ordered takes each third size, and so each size once");

static unsigned char *area;   /* symmetric: for each PE one of ROOM for each size */
static unsigned char *source; /* one of ROOM for each size */

static unsigned char *place(int pe, size_t size)
{
    return area + ((size_t)pe * SIZES + size) * ROOM;
}

static unsigned char byte_of(int from, size_t size, int round, size_t i)
{
    return (unsigned char)(from * 31 + (int)size * 7 + round * 3 + (int)(i % 251));
}

static void fill(int round)
{
    for (size_t s = 0; s < SIZES; s++)
        for (size_t i = 0; i < sizes[s]; i++)
            source[s * ROOM + i] = byte_of(check.me, s, round, i);
}

static void compare(int from, size_t s, int round)
{
    const unsigned char *at = place(from, s);
    for (size_t i = 0; i < sizes[s]; i++)
        if (at[i] != byte_of(from, s, round, i)) {
            check_fail("round %d: byte %zu of %zu from PE %d is %u", round, i, sizes[s], from,
                       at[i]);
            return;
        }
}

/* The other PEs' puts of one round have been counted, and no others. */
static void counted(int counter, uint64_t want)
{
    uint64_t got = shmemx_notify_fetch(counter);
    CHECK(got == want, "counter %d is %ju, want %ju", counter, (uintmax_t)got, (uintmax_t)want);
}

/* Every PE puts every length to every PE; each length has its counter. */
static void test_counts(void)
{
    check_start(COUNTS, "shmemx_putmem_notify");
    for (int round = 1; round <= ROUNDS; round++) {
        fill(round);
        for (int k = 0; k < check.n; k++)
            for (size_t s = 0; s < SIZES; s++)
                shmemx_putmem_notify(place(check.me, s), source + s * ROOM, sizes[s], (int)s,
                                     (check.me + k) % check.n);
        for (size_t s = 0; s < SIZES; s++) {
            uint64_t want = (uint64_t)round * (unsigned)check.n;
            uint64_t got = shmemx_notify_wait((int)s, want);
            CHECK(got == want, "counter %zu is %ju, want %ju", s, (uintmax_t)got, (uintmax_t)want);
            for (int pe = 0; pe < check.n; pe++)
                compare(pe, s, round);
        }
        shmem_barrier_all();
        for (size_t s = 0; s < SIZES; s++)
            counted((int)s, (uint64_t)round * (unsigned)check.n);
        shmem_sync_all(); /* the next round changes the areas */
    }
}

/* The same in one counter, the highest, without a wait: a quiet completes them. */
static void test_nbi(void)
{
    check_start(NBI, "shmemx_putmem_notify_nbi");
    const int counter = 4095;
    for (int round = 1; round <= ROUNDS; round++) {
        fill(round);
        for (int k = 0; k < check.n; k++)
            for (size_t s = 0; s < SIZES; s++)
                shmemx_putmem_notify_nbi(place(check.me, s), source + s * ROOM, sizes[s], counter,
                                         (check.me + k) % check.n);
        shmem_quiet();
        shmem_sync_all();
        counted(counter, (uint64_t)round * SIZES * (unsigned)check.n);
        for (int pe = 0; pe < check.n; pe++)
            for (size_t s = 0; s < SIZES; s++)
                compare(pe, s, round);
        shmem_sync_all();
    }
}

/* By contexts of a team in which the PEs have other numbers, to one PE only. */
static void test_contexts(void)
{
    check_start(CONTEXTS, "shmemx_ctx_putmem_notify");
    shmem_team_t reverse = SHMEM_TEAM_INVALID;
    shmem_ctx_t ctx[2];
    int rc =
        shmem_team_split_strided(SHMEM_TEAM_WORLD, check.n - 1, -1, check.n, NULL, 0, &reverse);
    CHECK(rc == 0, "no team");
    for (int i = 0; i < 2; i++)
        CHECK(shmem_team_create_ctx(reverse, 0, &ctx[i]) == 0, "no context %d", i);
    fill(1);
    for (int k = 0; k < ROUNDS; k++)
        for (size_t s = 0; s < SIZES; s++) {
            int counter = FIRST_OF_CONTEXTS + k % 4;
            if (k % 2 == 0)
                shmemx_ctx_putmem_notify(ctx[0], place(check.me, s), source + s * ROOM, sizes[s],
                                         counter, check_rank(0));
            else
                shmemx_ctx_putmem_notify_nbi(ctx[1], place(check.me, s), source + s * ROOM,
                                             sizes[s], counter, check_rank(0));
        }
    for (int i = 0; i < 2; i++)
        shmem_ctx_quiet(ctx[i]);
    shmem_sync_all();
    for (int i = 0; i < 4; i++)
        counted(FIRST_OF_CONTEXTS + i,
                check.me == 0 ? (uint64_t)(ROUNDS / 4) * SIZES * (unsigned)check.n : 0);
    for (int pe = 0; check.me == 0 && pe < check.n; pe++)
        for (size_t s = 0; s < SIZES; s++)
            compare(pe, s, 1);
    for (int i = 0; i < 2; i++)
        shmem_ctx_destroy(ctx[i]);
    shmem_team_destroy(reverse);
}

/* The right neighbour's ping is answered by a pong, many times. */
static void test_waits(void)
{
    check_start(WAITS, "shmemx_notify_wait");
    int right = (check.me + 1) % check.n, left = (check.me + check.n - 1) % check.n;
    shmem_barrier_all();
    for (uint64_t turn = 1; turn <= 100; turn++) {
        shmemx_putmem_notify(NULL, NULL, 0, PING, right);
        CHECK(shmemx_notify_wait(PING, turn) == turn, "ping %ju", (uintmax_t)turn);
        shmemx_putmem_notify(NULL, NULL, 0, PONG, left);
        while (!shmemx_notify_test(PONG, turn))
            ;
        CHECK(!shmemx_notify_test(PONG, turn + 1), "pong %ju came early", (uintmax_t)turn + 1);
    }
    CHECK(shmemx_notify_wait(PONG, 0) == 100, "a wait for 0 gives another value");
    CHECK(shmemx_notify_test(PONG, INT64_MAX) == 0, "the largest count is there");
    shmem_barrier_all();
}

static void test_reset(void)
{
    check_start(RESET, "shmemx_notify_reset");
    shmemx_notify_reset(PING, INT64_MAX);
    counted(PING, INT64_MAX);
    counted(PONG, 100);
    shmemx_notify_reset(PING, 7);
    shmem_barrier_all();
    shmemx_putmem_notify(place(check.me, 1), source, 1, PING, (check.me + 1) % check.n);
    CHECK(shmemx_notify_wait(PING, 8) == 8, "a notification does not add to the value");
    shmem_barrier_all();
}

/* The PEs get the same ranges, of counters that are 0. */
static void test_ranges(void)
{
    check_start(RANGES, "shmemx_notify_alloc");
    shmemx_notify_reset(1, 5);
    int a = shmemx_notify_alloc(10), b = shmemx_notify_alloc(4000), c = shmemx_notify_alloc(100);
    CHECK(a == 0 && b == 10 && c == -1, "ranges begin at %d, %d and %d", a, b, c);
    counted(1, 0);
    shmemx_putmem_notify(NULL, NULL, 0, b + 3999, (check.me + 1) % check.n);
    CHECK(shmemx_notify_wait(b + 3999, 1) == 1, "the last counter of a range");
    shmemx_notify_free(b);
    int d = shmemx_notify_alloc(86), e = shmemx_notify_alloc(4000), f = shmemx_notify_alloc(1);
    CHECK(d == 10 && e == 96 && f == -1, "ranges begin at %d, %d and %d", d, e, f);
    counted(b + 3999, 0);
    shmemx_notify_free(a);
    shmemx_notify_free(d);
    f = shmemx_notify_alloc(96);
    CHECK(f == 0, "two free ranges side by side are not one, but %d", f);
    shmemx_notify_free(e);
    shmemx_notify_free(f);
}

/* How notifications between hosts have travelled. */
static void test_carried(bool expected)
{
    check_start(CARRIED, "shmemx_pcntr_get");
    uint64_t carried = 0, numbered = 0, writes = 0;
    CHECK(shmemx_pcntr_get(shmemx_pcntr_find("notified_writes"), -1, &carried) == 0 &&
              shmemx_pcntr_get(shmemx_pcntr_find("numbered_writes"), -1, &numbered) == 0 &&
              shmemx_pcntr_get(shmemx_pcntr_find("writes"), -1, &writes) == 0,
          "the counters cannot be read");
    CHECK(carried <= numbered && numbered <= writes, "%ju of %ju writes with numbers, %ju in all",
          (uintmax_t)carried, (uintmax_t)numbered, (uintmax_t)writes);
    CHECK(!expected || carried > 0, "no write brought its notification along");
}

/* Where the route keeps the order of puts, the last one announces all: by its notification in odd
 * rounds, by its signal in even ones. The lengths are those of messages and of writes, in turns. */
static void test_ordered(const char *network)
{
    check_start(ORDERED, "shmemx_put_ordered");
    int to = (check.me + 1) % check.n, from = (check.me + check.n - 1) % check.n;
    int far = shmem_ptr(area, to) == NULL, kept = shmemx_put_ordered(to);
    if (far && strcmp(network, "ordered") == 0)
        CHECK(kept == 1, "the network keeps no order");
    if (far && strcmp(network, "carried") == 0)
        CHECK(kept == 0, "the network keeps the order");
    uint64_t *word = check_alloc(sizeof *word);
    *word = 0;
    shmem_barrier_all();
    for (uint64_t round = 1; round <= (uint64_t)(10 * ROUNDS); round++) {
        fill((int)round);
        for (size_t s = 1; s < SIZES; s++) {
            size_t size = (s * 3 + round) % (SIZES - 1) + 1; /* another order in each round */
            void *dest = place(check.me, size);
            const void *bytes = source + size * ROOM;
            if (!kept)
                shmem_fence();
            if (s < SIZES - 1)
                shmem_putmem_nbi(dest, bytes, sizes[size], to);
            else if (round % 2 == 1)
                shmemx_putmem_notify_nbi(dest, bytes, sizes[size], LAST, to);
            else
                shmem_putmem_signal_nbi(dest, bytes, sizes[size], word, round, SHMEM_SIGNAL_SET,
                                        to);
        }
        if (round % 2 == 1)
            shmemx_notify_wait(LAST, round / 2 + 1);
        else
            shmem_uint64_wait_until(word, SHMEM_CMP_EQ, round);
        for (size_t s = 1; s < SIZES; s++)
            compare(from, s, (int)round);
        shmem_barrier_all();
    }
}

int main(int argc, char **argv)
{
    check_open("notify", TESTS);
    area = check_alloc((size_t)check.n * SIZES * ROOM);
    source = check_alloc(SIZES * ROOM);
    test_counts();
    test_nbi();
    test_contexts();
    test_waits();
    test_reset();
    test_ranges();
    test_ordered(argc > 1 ? argv[1] : "");
    test_carried(argc > 1 && strcmp(argv[1], "carried") == 0);
    return check_close();
}
