/*
 * steps.c: small collectives on teams of every size up to the number of PEs. The sizes decide in
 * which groups the PEs of a node meet, and which of them take no part in some steps.
 */
#include "check.h"

#include <unistd.h>

enum { SYNC, SUM, ORDER, MANY, FCOLLECT, COLLECT, AGAIN, TESTS };
enum { ROUNDS = 20, MOST = 32, BLOCK = 80 };

static uint64_t *came; /* the team and the round whose sync this PE has begun */
static long *sum, *number;
static double *total, *part;
static uint64_t *same;
static long *blocks;
static long in_static[MOST * BLOCK];

/* Behind a sync each PE of the team has begun it. */
static void test_sync(shmem_team_t team, int n)
{
    check_start(SYNC, "shmem_team_sync");
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t mine = (uint64_t)n * ROUNDS + round;
        __atomic_store_n(came, mine, __ATOMIC_RELEASE);
        shmem_team_sync(team);
        for (int pe = 0; pe < n; pe++)
            CHECK(shmem_uint64_g(came, pe) >= mine, "%d PEs, round %ju: PE %d has not begun", n,
                  (uintmax_t)round, pe);
    }
}

/* Each round has other numbers, and no sync between them. */
static void test_sum(shmem_team_t team, int n)
{
    check_start(SUM, "shmem_long_sum_reduce");
    for (long round = 1; round <= ROUNDS; round++) {
        *number = round * (check.me + 1);
        shmem_long_sum_reduce(team, sum, number, 1);
        CHECK(*sum == round * n * (n + 1) / 2, "%d PEs, round %ld: the sum is %ld, not %ld", n,
              round, *sum, round * n * (n + 1) / 2);
    }
}

/* A sum of numbers of very different sizes depends on the order; all PEs have the same. */
static void test_order(shmem_team_t team, int n)
{
    check_start(ORDER, "shmem_double_sum_reduce");
    for (int i = 0; i < 5; i++)
        part[i] = (check.me % 3 == 1 ? -1e16 : 1e16) / (1 + i) + check.me / 7.0;
    shmem_double_sum_reduce(team, total, part, 5);
    uint64_t bits;
    memcpy(&bits, total + 4, sizeof bits);
    *same = bits;
    shmem_team_sync(team);
    for (int pe = 0; pe < n; pe++)
        CHECK(shmem_uint64_g(same, pe) == bits, "%d PEs: PE %d has another result", n, pe);
    shmem_team_sync(team);
}

/* From the most that a line holds to what does not fit. */
static void test_many(shmem_team_t team, int n)
{
    check_start(MANY, "shmem_long_max_reduce");
    for (size_t nelems = 6; nelems <= 9; nelems++) {
        for (size_t i = 0; i < nelems; i++)
            number[i] = (check.me * 7 + (long)i) % n;
        shmem_long_max_reduce(team, sum, number, nelems);
        for (size_t i = 0; i < nelems; i++) {
            long want = 0;
            for (int pe = 0; pe < n; pe++)
                want = (pe * 7 + (long)i) % n > want ? (pe * 7 + (long)i) % n : want;
            CHECK(sum[i] == want, "%d PEs, element %zu of %zu: %ld, not %ld", n, i, nelems, sum[i],
                  want);
        }
    }
}

/* Blocks of all PEs together in one line, of some, of none; and more than go in steps. */
static void test_fcollect(shmem_team_t team, int n, long *dest)
{
    static const size_t sizes[] = {1, 3, 8, BLOCK};
    check_start(FCOLLECT, "shmem_long_fcollect");
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        size_t nelems = sizes[k];
        for (size_t i = 0; i < nelems; i++)
            number[i] = (long)(k * 1000 + i) + check.me * 10000;
        for (int i = 0; i < n * BLOCK; i++)
            dest[i] = -1;
        shmem_team_sync(team);
        shmem_long_fcollect(team, dest, number, nelems);
        for (size_t i = 0; i < nelems * (size_t)n; i++) {
            long want = (long)(k * 1000 + i % nelems) + (long)(i / nelems) * 10000;
            CHECK(dest[i] == want, "%d PEs, element %zu of %zu of each: %ld, not %ld", n, i, nelems,
                  dest[i], want);
        }
        CHECK(n * nelems == (size_t)n * BLOCK || dest[n * nelems] == -1, "%d PEs, %zu: it goes on",
              n, nelems);
        shmem_team_sync(team);
    }
}

/* Each PE has another number of elements, and some none. Two in a row, without a sync. */
static void test_collect(shmem_team_t team, int n)
{
    check_start(COLLECT, "shmem_long_collect");
    for (size_t round = 0; round < 4; round++) {
        size_t mine = (size_t)check.me * (round + 1) % 5, at = 0;
        long *dest = blocks + round * MOST * 4;
        for (size_t i = 0; i < mine; i++)
            number[i] = (long)(round * 1000 + i) + check.me * 10000;
        shmem_long_collect(team, dest, number, mine);
        for (int pe = 0; pe < n; pe++)
            for (size_t i = 0; i < (size_t)pe * (round + 1) % 5; i++, at++) {
                long want = (long)(round * 1000 + i) + pe * 10000;
                CHECK(dest[at] == want, "%d PEs, round %zu, element %zu of PE %d: %ld, not %ld", n,
                      round, i, pe, dest[at], want);
            }
    }
    shmem_team_sync(team);
}

/* Two teams one after the other, which take the same memory. In the second one a PE is late, and
 * the others may not take what the first team has left. */
static void test_again(void)
{
    check_start(AGAIN, "shmem_team_destroy");
    *came = 0;
    shmem_barrier_all();
    for (int which = 1; which <= 2; which++) {
        shmem_team_t team;
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, check.n, NULL, 0, &team);
        if (which == 2 && check.me != 0)
            shmem_uint64_atomic_inc(came, 0);
        if (which == 2 && check.me == 0) {
            shmem_uint64_wait_until(came, SHMEM_CMP_EQ, (uint64_t)check.n - 1);
            usleep(20000); /* their next call is the sum */
        }
        *number = which;
        shmem_long_sum_reduce(team, sum, number, 1);
        CHECK(*sum == which * check.n, "the sum in team %d is %ld, not %d", which, *sum,
              which * check.n);
        shmem_team_destroy(team);
    }
}

int main(void)
{
    check_open("steps", TESTS);
    came = check_alloc(sizeof *came);
    sum = check_alloc(MOST * sizeof *sum);
    number = check_alloc((MOST > BLOCK ? MOST : BLOCK) * sizeof *number);
    blocks = check_alloc(MOST * BLOCK * sizeof *blocks);
    total = check_alloc(MOST * sizeof *total);
    part = check_alloc(MOST * sizeof *part);
    same = check_alloc(sizeof *same);
    *came = 0;
    shmem_barrier_all();
    for (int n = 1; n <= check.n; n++) {
        shmem_team_t team;
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team);
        if (team == SHMEM_TEAM_INVALID)
            continue;
        test_sync(team, n);
        test_sum(team, n);
        test_order(team, n);
        test_many(team, n);
        test_fcollect(team, n, n % 2 ? blocks : in_static);
        test_collect(team, n);
        shmem_team_destroy(team);
    }
    test_sum(SHMEM_TEAM_WORLD, check.n);
    test_again();
    return check_close();
}
