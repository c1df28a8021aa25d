/*
 * locks.c: set_lock, clear_lock and test_lock: one PE at a time, in the order of their requests,
 * and with the writes of the holder before.
 */
#include "check.h"

#include <pthread.h>
#include <sched.h>

enum { EXCLUSION, ORDER, TRY, COMPLETE, NESTED, THREADED, TESTS };
enum { LOCKS = 3, ROUNDS = 40, WORDS = 3000 };

static long *locks, *counters; /* LOCKS each */
static long *arrived, *order;  /* at PE 0 */
static uint64_t *data;         /* WORDS, at PE COMPLETE of n */

static void reset(int test, const char *name)
{
    check_start((size_t)test, name);
    shmem_barrier_all();
    memset(counters, 0, LOCKS * sizeof *counters);
    memset(order, 0xff, (size_t)check.n * sizeof *order);
    memset(data, 0, WORDS * sizeof *data);
    *arrived = 0;
    shmem_barrier_all();
}

/* Counters that are incremented by a read and a write, without an atomic operation. */
static void test_exclusion(void)
{
    reset(EXCLUSION, "shmem_set_lock");
    for (int round = 0; round < ROUNDS; round++) {
        int i = (round + check.me) % LOCKS, at = (i + 1) % check.n;
        shmem_set_lock(&locks[i]);
        long was = shmem_long_g(&counters[i], at);
        if (round % 8 == 0)
            sched_yield();
        shmem_long_p(&counters[i], was + 1, at);
        shmem_clear_lock(&locks[i]);
    }
    shmem_barrier_all();
    long sum = 0;
    for (int i = 0; i < LOCKS; i++)
        sum += shmem_long_g(&counters[i], (i + 1) % check.n);
    CHECK(sum == (long)ROUNDS * check.n, "counters add up to %ld, should be %ld", sum,
          (long)ROUNDS * check.n);
}

/*
 * PE 0 holds the lock while the others request it, each when the one before is in the queue. To see
 * that, and only here, the test reads the lock word, whose lower half at a PE names the PE behind
 * it.
 */
static void test_order(void)
{
    reset(ORDER, "first come, first served");
    long *lock = &locks[1];
    if (check.me == 0)
        shmem_set_lock(lock);
    shmem_barrier_all();
    /* From the last PE down, so that the order differs from that of their numbers. */
    if (check.me == 0) {
        for (int pe = check.n - 1, before = 0; pe > 0; before = pe--) {
            shmem_long_p(arrived, 1, pe);
            while ((shmem_long_g(lock, before) & 0x3fffffff) != pe + 1)
                sched_yield();
        }
        shmem_clear_lock(lock);
    } else {
        shmem_long_wait_until(arrived, SHMEM_CMP_EQ, 1);
        shmem_set_lock(lock);
        long place = shmem_long_g(counters, 0);
        shmem_long_p(counters, place + 1, 0);
        shmem_long_p(&order[place], check.me, 0);
        shmem_clear_lock(lock);
    }
    shmem_barrier_all();
    for (int i = 0; check.me == 0 && i < check.n - 1; i++)
        CHECK(order[i] == check.n - 1 - i, "number %d in the queue was PE %ld, should be %d", i,
              order[i], check.n - 1 - i);
}

static void test_try(void)
{
    reset(TRY, "shmem_test_lock");
    long *lock = &locks[2];
    if (check.me == 0) {
        int got = shmem_test_lock(lock);
        CHECK(got == 0, "a free lock: returned %d", got);
        got = shmem_test_lock(lock);
        CHECK(got == 1, "its own lock: returned %d", got);
    }
    shmem_barrier_all();
    if (check.me != 0) {
        int got = shmem_test_lock(lock);
        CHECK(got == 1, "a lock that PE 0 has: returned %d", got);
    }
    shmem_barrier_all();
    if (check.me == 0)
        shmem_clear_lock(lock);
    shmem_barrier_all();
    for (int round = 0; round < ROUNDS / 4; round++) {
        if (check.me % 2 == 0)
            shmem_set_lock(lock);
        else
            while (shmem_test_lock(lock) != 0)
                sched_yield();
        long was = shmem_long_g(counters, 0);
        shmem_long_p(counters, was + 1, 0);
        shmem_clear_lock(lock);
    }
    shmem_barrier_all();
    CHECK(check.me != 0 || *counters == ROUNDS / 4 * check.n, "counted %ld of %d", *counters,
          ROUNDS / 4 * check.n);
}

/* A PE that gets the lock sees the puts of the holder before, at any PE. */
static void test_complete(void)
{
    static uint64_t out[WORDS], in[WORDS];
    reset(COMPLETE, "shmem_clear_lock");
    int at = check.n - 1;
    for (int round = 0; round < ROUNDS / 4; round++) {
        shmem_set_lock(locks);
        shmem_uint64_get(in, data, WORDS, at);
        size_t old = 0;
        while (old < WORDS && in[old] == in[0])
            old++;
        CHECK(old == WORDS, "round %d: word %zu is %ju, the first %ju", round, old,
              (uintmax_t)in[old % WORDS], (uintmax_t)in[0]);
        for (size_t i = 0; i < WORDS; i++)
            out[i] = in[0] + 1;
        shmem_uint64_put_nbi(data, out, WORDS, at);
        shmem_clear_lock(locks);
        memset(out, 0, sizeof out); /* after the quiet it may be reused */
    }
    shmem_barrier_all();
    uint64_t last = shmem_uint64_g(&data[WORDS - 1], at);
    CHECK(last == (uint64_t)(ROUNDS / 4 * check.n), "%ju updates, should be %d", (uintmax_t)last,
          ROUNDS / 4 * check.n);
}

/* Several at once, always taken in the same order. */
static void test_nested(void)
{
    reset(NESTED, "several locks");
    for (int round = 0; round < ROUNDS / 4; round++) {
        for (int i = 0; i < LOCKS; i++)
            shmem_set_lock(&locks[i]);
        long was = shmem_long_g(counters, 0);
        shmem_long_p(counters, was + 1, 0);
        for (int i = 0; i < LOCKS; i++)
            shmem_clear_lock(&locks[(i + round) % LOCKS]);
    }
    shmem_barrier_all();
    CHECK(check.me != 0 || *counters == ROUNDS / 4 * check.n, "counted %ld of %d", *counters,
          ROUNDS / 4 * check.n);
}

/* Threads of a PE take turns, too. */
static void *count(void *arg)
{
    (void)arg;
    for (int round = 0; round < ROUNDS; round++) {
        shmem_set_lock(locks);
        long was = shmem_long_g(counters, 0);
        sched_yield();
        shmem_long_p(counters, was + 1, 0);
        shmem_clear_lock(locks);
    }
    return NULL;
}

static void test_threaded(void)
{
    reset(THREADED, "two threads of each PE");
    pthread_t other;
    if (pthread_create(&other, NULL, count, NULL) != 0)
        abort();
    count(NULL);
    pthread_join(other, NULL);
    shmem_barrier_all();
    CHECK(check.me != 0 || *counters == ROUNDS * 2 * check.n, "counted %ld of %d", *counters,
          ROUNDS * 2 * check.n);
}

int main(void)
{
    int level;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
    check_open("locks", TESTS);
    locks = check_alloc(LOCKS * sizeof *locks);
    counters = check_alloc(LOCKS * sizeof *counters);
    arrived = check_alloc(sizeof *arrived);
    order = check_alloc((size_t)check.n * sizeof *order);
    data = check_alloc(WORDS * sizeof *data);
    memset(locks, 0, LOCKS * sizeof *locks);
    test_exclusion();
    test_order();
    test_try();
    test_complete();
    test_nested();
    test_threaded();
    for (int i = 0; i < LOCKS; i++)
        CHECK(locks[i] == 0, "lock %d is 0x%lx in the end", i, (unsigned long)locks[i]);
    int rc = check_close();
    shmem_finalize();
    return rc;
}
