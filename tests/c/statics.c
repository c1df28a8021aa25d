/*
 * statics.c: the program's globals and statics as symmetric memory, in the oldest style of
 * OpenSHMEM programs: arrays, flags, locks and counters at file scope, and no shmem_malloc.
 */
#define SHMEM_ALLOW_DEPRECATED
#include "check.h"

#include <pthread.h>

enum {
    CONTENTS,
    PUT_GET,
    LARGE,
    ELEMENTS,
    ATOMICS,
    SIGNALS,
    MESSAGES,
    STRIDED,
    COLLECTIVES,
    REDUCTIONS,
    ACTIVE_SETS,
    LOCKS,
    ACCESS,
    THREADS,
    TESTS
};
enum { MANY = 20, LONG = 3000, BIG = 1 << 17, ROUNDS = 50, APART = 2048 };

/* Every PE starts with these contents, in .data and in .bss. */
long initialised[3] = {11, 22, 33};
static char text[] = "as it was written";
static const char *const names[] = {"read", "only"};
static double zeros[100];

/* From and to. */
static long from[MANY], to[MANY * MANY];
static uint64_t large_from[BIG], large_to[BIG];
static int32_t small[4];
static uint64_t flag, data_flag, counter64;
static uint32_t counter32;
static double sums_from[LONG], sums_to[LONG];
static long lock, guarded;
static _Thread_local long mine = 5;

/* The page with the end of .bss may hold other data as well; a large array makes the end uneven. */
static char uneven[4099];

static void test_contents(void)
{
    check_start(CONTENTS, "what they begin with");
    CHECK(initialised[0] == 11 && initialised[2] == 33, "initialised: %ld, %ld", initialised[0],
          initialised[2]);
    CHECK(strcmp(text, "as it was written") == 0 && strcmp(names[1], "only") == 0, "text: %s",
          text);
    for (int i = 0; i < 100; i++)
        CHECK(zeros[i] == 0, "zeros[%d] is %f", i, zeros[i]);
    CHECK(shmem_long_g(&initialised[1], check_right()) == 22, "the neighbour has %ld",
          shmem_long_g(&initialised[1], check_right()));
    char there[sizeof text];
    shmem_getmem(there, text, sizeof text, check_left());
    CHECK(strcmp(there, text) == 0, "the neighbour has %s", there);
}

static void test_put_get(void)
{
    check_start(PUT_GET, "put and get");
    static long inside[3]; /* of a function, and symmetric as well */
    for (int i = 0; i < MANY; i++)
        from[i] = check.me * 1000 + i;
    shmem_long_put(to, from, MANY, check_right());
    shmem_long_put_nbi(inside, from, 3, check_right());
    shmem_long_p(&initialised[1], check.me, check_right());
    shmem_putmem(uneven + sizeof uneven - 3, "end", 3, check_right());
    shmem_barrier_all();
    for (int i = 0; i < MANY; i++)
        CHECK(to[i] == check_left() * 1000 + i, "to[%d] is %ld", i, to[i]);
    CHECK(inside[2] == check_left() * 1000 + 2, "inside: %ld", inside[2]);
    CHECK(initialised[1] == check_left() && initialised[0] == 11, "p: %ld", initialised[1]);
    CHECK(memcmp(uneven + sizeof uneven - 4, "\0end", 4) == 0, "the end of .bss");
    long got[2];
    shmem_long_get(got, to + 1, 2, check_left());
    CHECK(got[1] == (check_left() + check.n - 1) % check.n * 1000 + 2, "get: %ld", got[1]);
    shmem_long_get_nbi(to + MANY, from, MANY, check_right()); /* into a static, from one */
    shmem_quiet();
    CHECK(to[MANY] == check_right() * 1000, "get of %ld", to[MANY]);
}

static void test_large(void)
{
    check_start(LARGE, "1 MiB");
    for (size_t i = 0; i < BIG; i++)
        large_from[i] = check_mix((uint64_t)check.me * BIG + i);
    shmem_barrier_all();
    shmem_putmem(large_to, large_from, sizeof large_to, check_right());
    shmem_barrier_all();
    size_t bad = 0;
    for (size_t i = 0; i < BIG; i++)
        bad += large_to[i] != check_mix((uint64_t)check_left() * BIG + i);
    CHECK(bad == 0, "put: %zu words of %d are wrong", bad, BIG);
    shmem_barrier_all();
    memset(large_to, 0, sizeof large_to);
    shmem_getmem(large_to, large_from, sizeof large_to, check_right());
    for (size_t i = bad = 0; i < BIG; i++)
        bad += large_to[i] != check_mix((uint64_t)check_right() * BIG + i);
    CHECK(bad == 0, "get: %zu words of %d are wrong", bad, BIG);
    shmem_barrier_all();
}

static void test_elements(void)
{
    check_start(ELEMENTS, "elements of 4 bytes");
    shmem_int32_p(&small[1], 7 + check.me, check_right());
    shmem_barrier_all();
    CHECK(small[0] == 0 && small[1] == 7 + check_left() && small[2] == 0, "%d %d %d", small[0],
          small[1], small[2]);
    CHECK(shmem_int32_g(&small[1], check_right()) == 7 + check.me, "g");
}

static void test_atomics(void)
{
    check_start(ATOMICS, "atomic operations");
    for (int i = 0; i < ROUNDS; i++) {
        shmem_uint64_atomic_inc(&counter64, i % check.n);
        shmem_uint32_atomic_add(&counter32, 2, 0);
        /* On this PE too, by library calls: atomic with those of the others. */
        shmem_uint64_atomic_fetch_add(&counter64, 3, check.me);
    }
    shmem_barrier_all();
    uint64_t sum = 0;
    for (int pe = 0; pe < check.n; pe++)
        sum += shmem_uint64_atomic_fetch(&counter64, pe);
    CHECK(sum == (uint64_t)check.n * ROUNDS * 4, "64 bits: %llu", (unsigned long long)sum);
    CHECK(shmem_uint32_g(&counter32, 0) == (uint32_t)check.n * ROUNDS * 2, "32 bits");
    shmem_barrier_all();
    uint64_t old = shmem_uint64_atomic_swap(&counter64, 42, check_right());
    shmem_barrier_all();
    CHECK(counter64 == 42 && old != 42, "swap: %llu", (unsigned long long)old);
    CHECK(shmem_uint64_atomic_compare_swap(&counter64, 42, 43, check.me) == 42 && counter64 == 43,
          "compare_swap");
    shmem_barrier_all();
}

static void test_signals(void)
{
    check_start(SIGNALS, "put with signal, and waits");
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        from[0] = (long)round * 100 + check.me;
        shmem_long_put_signal(&to[0], from, 1, &flag, round, SHMEM_SIGNAL_SET, check_right());
        shmem_signal_wait_until(&flag, SHMEM_CMP_GE, round);
        CHECK(to[0] == (long)round * 100 + check_left(), "round %d: %ld", (int)round, to[0]);
        shmem_uint64_p(&data_flag, round, check_left());
        shmem_uint64_wait_until(&data_flag, SHMEM_CMP_EQ, round);
    }
    static long many[MANY];
    static long want[MANY];
    for (int i = 0; i < MANY; i++)
        want[i] = i + 1;
    shmem_long_put(many, want, MANY, check_right());
    shmem_long_wait_until_all_vector(many, MANY, NULL, SHMEM_CMP_EQ, want);
    CHECK(shmem_long_test(&many[3], SHMEM_CMP_EQ, 4), "test");
    CHECK(shmem_signal_fetch(&flag) == ROUNDS, "signal_fetch");
    shmem_barrier_all();
}

/* The flag and the data are not on one page. */
static void test_messages(void)
{
    check_start(MESSAGES, "put, fence, put");
    static int go[2 * APART];
    for (int round = 1; round <= ROUNDS; round++) {
        int *flag_at = &go[round % 2 * APART];
        for (int i = 0; i < MANY; i++)
            from[i] = round * MANY + i;
        shmem_long_put(to, from, MANY, check_right());
        shmem_fence();
        shmem_int_p(flag_at, round, check_right());
        shmem_int_wait_until(flag_at, SHMEM_CMP_EQ, round);
        for (int i = 0; i < MANY; i++)
            CHECK(to[i] == round * MANY + i, "round %d: to[%d] is %ld", round, i, to[i]);
        shmem_barrier_all();
    }
}

static void test_strided(void)
{
    check_start(STRIDED, "iput and iget");
    memset(to, 0, sizeof to);
    for (int i = 0; i < MANY; i++)
        from[i] = check.me * 100 + i;
    shmem_barrier_all();
    shmem_long_iput(to, from, 3, 2, MANY / 2, check_right());
    shmem_barrier_all();
    for (int i = 0; i < MANY / 2; i++)
        CHECK(to[3 * i] == check_left() * 100 + 2 * i && to[3 * i + 1] == 0, "iput %d", i);
    long got[MANY];
    shmem_long_iget(got, from, 1, 2, MANY / 2, check_left());
    CHECK(got[4] == check_left() * 100 + 8, "iget: %ld", got[4]);
    shmem_barrier_all();
}

static void test_collectives(void)
{
    check_start(COLLECTIVES, "collectives that move");
    int root = check.n - 1;
    for (int i = 0; i < MANY; i++)
        from[i] = check.me * 100 + i;
    shmem_long_broadcast(SHMEM_TEAM_WORLD, to, from, MANY, root);
    CHECK(to[MANY - 1] == root * 100 + MANY - 1, "broadcast: %ld", to[MANY - 1]);
    shmem_uint64_broadcast(SHMEM_TEAM_WORLD, large_to, large_from, BIG, root);
    CHECK(large_to[BIG - 1] == check_mix((uint64_t)root * BIG + BIG - 1), "large broadcast");
    shmem_barrier_all();
    shmem_long_fcollect(SHMEM_TEAM_WORLD, to, from, 2);
    for (int pe = 0; pe < check.n; pe++)
        CHECK(to[2 * pe + 1] == pe * 100 + 1, "fcollect of %d: %ld", pe, to[2 * pe + 1]);
    shmem_barrier_all();
    shmem_long_alltoall(SHMEM_TEAM_WORLD, to, from, 1);
    for (int pe = 0; pe < check.n; pe++)
        CHECK(to[pe] == pe * 100 + check.me, "alltoall of %d: %ld", pe, to[pe]);
    shmem_barrier_all();
    shmem_long_collect(SHMEM_TEAM_WORLD, to, from, (size_t)check.me % 3);
    shmem_barrier_all();
}

static void test_reductions(void)
{
    check_start(REDUCTIONS, "reductions and scans");
    for (int i = 0; i < LONG; i++)
        sums_from[i] = check.me + i;
    shmem_barrier_all();
    double want = check.n * (check.n - 1) / 2.0;
    for (size_t n = 1; n <= LONG; n += LONG - 1) {
        shmem_double_sum_reduce(SHMEM_TEAM_WORLD, sums_to, sums_from, n);
        CHECK(sums_to[n - 1] == want + check.n * (double)(n - 1), "%zu: %f", n, sums_to[n - 1]);
        shmem_barrier_all();
    }
    for (int i = 0; i < LONG; i++)
        large_from[i] = (uint64_t)(check.me + i);
    shmem_barrier_all();
    for (size_t n = 1; n <= LONG; n += LONG - 1) {
        shmem_uint64_sum_inscan(SHMEM_TEAM_WORLD, large_to, large_from, n);
        uint64_t upto = (uint64_t)(check.me * (check.me + 1) / 2 + (check.me + 1) * ((int)n - 1));
        CHECK(large_to[n - 1] == upto, "inscan of %zu: %llu", n,
              (unsigned long long)large_to[n - 1]);
        shmem_barrier_all();
    }
}

/* Active sets, as in all programs before teams. */
static long psync[SHMEM_REDUCE_SYNC_SIZE], psync_bcast[SHMEM_BCAST_SYNC_SIZE],
    psync_barrier[SHMEM_BARRIER_SYNC_SIZE];
static long pwrk[SHMEM_REDUCE_MIN_WRKDATA_SIZE + MANY];

static void test_active_sets(void)
{
    check_start(ACTIVE_SETS, "active sets with pSync and pWrk");
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        psync[i] = SHMEM_SYNC_VALUE;
    for (int i = 0; i < SHMEM_BCAST_SYNC_SIZE; i++)
        psync_bcast[i] = SHMEM_SYNC_VALUE;
    for (int i = 0; i < SHMEM_BARRIER_SYNC_SIZE; i++)
        psync_barrier[i] = SHMEM_SYNC_VALUE;
    for (int i = 0; i < MANY; i++)
        from[i] = check.me + i;
    shmem_barrier_all();
    /* The last PE is in none. */
    int size = check.n > 1 ? check.n - 1 : 1;
    for (int round = 0; round < 3 && check.me < size; round++) {
        shmem_long_sum_to_all(to, from, MANY, 0, 0, size, pwrk, psync);
        CHECK(to[3] == size * (size - 1) / 2 + size * 3, "sum_to_all: %ld", to[3]);
        shmem_barrier(0, 0, size, psync_barrier);
        shmem_broadcast64(to, from, MANY, size - 1, 0, 0, size, psync_bcast);
        if (check.me != size - 1)
            CHECK(to[3] == size - 1 + 3, "broadcast64: %ld", to[3]);
        shmem_barrier(0, 0, size, psync_barrier);
    }
    shmem_barrier_all();
}

static void test_locks(void)
{
    check_start(LOCKS, "locks");
    for (int i = 0; i < ROUNDS / 5; i++) {
        shmem_set_lock(&lock);
        shmem_long_p(&guarded, shmem_long_g(&guarded, check.n - 1) + 1, check.n - 1);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    long all = shmem_long_g(&guarded, check.n - 1);
    CHECK(all == (long)check.n * (ROUNDS / 5), "%ld", all);
}

static void test_access(void)
{
    check_start(ACCESS, "shmem_ptr and shmem_addr_accessible");
    long here = 0;
    for (int pe = 0; pe < check.n; pe++) {
        CHECK(shmem_addr_accessible(&from[3], pe) == 1, "a static of PE %d", pe);
        CHECK(shmem_addr_accessible(&here, pe) == 0, "the stack");
        CHECK(shmem_addr_accessible(&mine, pe) == 0, "a thread-local variable");
        CHECK(shmem_addr_accessible(&names[0], pe) == 0, "a constant");
        long *there = shmem_ptr(&from[3], pe);
        if (there != NULL)
            CHECK(*there == shmem_long_g(&from[3], pe), "shmem_ptr of PE %d: %ld", pe, *there);
    }
    CHECK(shmem_ptr(&from[3], check.me) == &from[3], "shmem_ptr of this PE");
    mine++;
}

static void *add(void *times)
{
    for (int i = 0; i < *(int *)times; i++)
        shmem_uint64_atomic_inc(&counter64, i % shmem_n_pes());
    return NULL;
}

static void test_threads(void)
{
    check_start(THREADS, "two threads at once");
    shmem_barrier_all();
    shmem_uint64_atomic_set(&counter64, 0, check.me);
    shmem_barrier_all();
    int times = ROUNDS * check.n;
    pthread_t other;
    if (pthread_create(&other, NULL, add, &times) != 0)
        abort();
    add(&times);
    pthread_join(other, NULL);
    shmem_barrier_all();
    uint64_t want = (uint64_t)(2 * ROUNDS * check.n);
    CHECK(counter64 == want, "%llu, should be %llu", (unsigned long long)counter64,
          (unsigned long long)want);
}

int main(void)
{
    int level;
    initialised[0] += 0; /* before init it is an ordinary variable */
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
    check_open("statics", TESTS);
    test_contents();
    shmem_barrier_all();
    test_put_get();
    shmem_barrier_all();
    test_large();
    test_elements();
    test_atomics();
    test_signals();
    test_messages();
    test_strided();
    test_collectives();
    test_reductions();
    test_active_sets();
    test_locks();
    test_access();
    test_threads();
    int rc = check_close();
    shmem_finalize();
    return rc;
}
