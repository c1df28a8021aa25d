/*
 * messages.c: the number of messages that a PE sends in collective calls, by the library's own
 * counters. When every PE is alone on its host each message uses the network, and the numbers are
 * those in docs/concepts/scale.md, which the simulated jobs check as well. The numbers are of tcp
 * where they depend on the network.
 */
#include "check.h"

#include <shmemx.h>

enum { BARRIER, SUM, ALLTOALL, LARGE, TEAM, TESTS };

static bool alone, together; /* no two PEs share memory, or all do */
static uint64_t *from, *to;

/* The messages sent so far, without the proxies' progress requests and replies. */
static uint64_t sent(void)
{
    static const char *const names[] = {"atomics", "elements", "puts", "put_signals"};
    uint64_t all = 0, n = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (shmemx_pcntr_get(shmemx_pcntr_find(names[i]), -1, &n) != 0)
            check_fail("there is no counter %s", names[i]);
        all += n;
    }
    return all;
}

static uint64_t before;

/* PEs that share memory with this one, itself included. */
static int near(void)
{
    int k = 0;
    for (int pe = 0; pe < check.n; pe++)
        k += shmem_ptr(to, pe) != NULL;
    return k;
}

static void start(void)
{
    shmem_barrier_all();
    before = sent();
}

static void compare(const char *what, uint64_t want)
{
    uint64_t got = sent() - before;
    /* Between PEs of one host there are none; on mixed hosts the number depends on the pair. */
    if (alone || together)
        CHECK(got == (alone ? want : 0), "%s: %ju messages, want %ju", what, (uintmax_t)got,
              (uintmax_t)(alone ? want : 0));
}

/* From so many hosts on, blocks of 8 bytes take one message for each power of two; not large ones.
 */
enum { MANY = 4, LARGE_BLOCK = 20 << 10 };

static unsigned log2_up(unsigned n)
{
    unsigned k = 0;
    while (1u << k < n)
        k++;
    return k;
}

/* The messages of a small reduction: to each PE if there are up to 16, else in pairs. */
static uint64_t sum_messages(unsigned n, unsigned me)
{
    if (n <= 16)
        return n - 1;
    unsigned steps = log2_up(n + 1) - 1, power = 1u << steps;
    if (me >= power)
        return 1;
    return steps + (me < n - power);
}

enum { ELEMENTS = 128, TEAMS = 50 };

/* Makes a team of all PEs, and returns how many messages it takes for a sum of 1 KiB. */
static uint64_t sum_in_team(shmem_team_t *team, long *dest, const long *source)
{
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, check.n, NULL, 0, team);
    start();
    shmem_long_sum_reduce(*team, dest, source, ELEMENTS);
    return sent() - before;
}

/* Memory for reductions between hosts is of a few teams, and goes from those that are destroyed to
 * new ones: the next team sums as the first one has. */
static void sum_after_many_teams(void)
{
    shmem_team_t teams[TEAMS];
    long *source = check_alloc(ELEMENTS * sizeof *source),
         *dest = check_alloc(ELEMENTS * sizeof *dest);
    uint64_t first = 0;
    for (long i = 0; i < ELEMENTS; i++)
        source[i] = i + 1;
    for (int i = 0; i < TEAMS; i++) {
        uint64_t n = sum_in_team(&teams[i], dest, source);
        first = i == 0 ? n : first;
    }
    for (int i = 0; i < TEAMS; i++)
        shmem_team_destroy(teams[i]);
    uint64_t next = sum_in_team(&teams[0], dest, source);
    CHECK(next == first, "a sum of 1 KiB takes %ju messages, and took %ju in the first team",
          (uintmax_t)next, (uintmax_t)first);
    CHECK(dest[ELEMENTS - 1] == (long)check.n * ELEMENTS, "the last sum is %ld",
          dest[ELEMENTS - 1]);
}

int main(void)
{
    check_open("messages", TESTS);
    unsigned n = (unsigned)check.n;
    from = check_alloc(n * sizeof *from);
    to = check_alloc(n * sizeof *to);
    from[0] = (uint64_t)near();
    shmem_barrier_all();
    alone = together = true;
    for (int pe = 0; pe < check.n; pe++) {
        uint64_t k = shmem_uint64_g(from, pe);
        alone &= k == 1;
        together &= k == n;
    }
    shmem_barrier_all();

    check_start(BARRIER, "shmem_barrier_all");
    start();
    shmem_barrier_all();
    compare("barrier", log2_up(n));

    check_start(SUM, "shmem_uint64_sum_reduce");
    from[0] = (uint64_t)check.me + 1;
    start();
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, to, from, 1);
    compare("sum", sum_messages(n, (unsigned)check.me));
    CHECK(to[0] == (uint64_t)n * (n + 1) / 2, "the sum is %ju", (uintmax_t)to[0]);

    check_start(ALLTOALL, "shmem_uint64_alltoall");
    for (unsigned pe = 0; pe < n; pe++)
        from[pe] = (uint64_t)check.me << 32 | pe;
    start();
    shmem_uint64_alltoall(SHMEM_TEAM_WORLD, to, from, 1);
    compare("alltoall", n >= MANY ? log2_up(n) : n - 1);
    for (unsigned pe = 0; pe < n; pe++)
        CHECK(to[pe] == ((uint64_t)pe << 32 | (unsigned)check.me), "block of PE %u: 0x%jx", pe,
              (uintmax_t)to[pe]);

    check_start(LARGE, "shmem_uint8_alltoall");
    uint8_t *large = check_alloc(2 * n * LARGE_BLOCK);
    start();
    shmem_uint8_alltoall(SHMEM_TEAM_WORLD, large, large + n * LARGE_BLOCK, LARGE_BLOCK);
    compare("alltoall of large blocks", n - 1);

    check_start(TEAM, "shmem_team_split_strided");
    sum_after_many_teams();
    return check_close();
}
