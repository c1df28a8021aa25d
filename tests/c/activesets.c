/*
 * activesets.c: barrier and sync on active sets: no PE leaves before all have arrived, whatever set
 * was used before and however far ahead a PE runs; and sets in two threads.
 */
#define SHMEM_ALLOW_DEPRECATED
#include "check_sets.h"

#include <pthread.h>
#include <sched.h>

enum { BARRIER, SYNC, COMPLETES, IN_TURN, PARITY, UNUSED, THREADED };
enum { TESTS = THREADED + 1, ROUNDS = 40 };

static int64_t *phase; /* of each PE, written to all members */

static void meet(const struct check_set *set, int kind, bool barrier)
{
    if (barrier)
        shmem_barrier(set->start, set->log_stride, set->size, check_sync(kind));
    else
        shmem_sync(set->start, set->log_stride, set->size, check_sync(kind));
}

/* Each PE publishes its round, and checks that no PE is behind. */
static void rounds(bool barrier)
{
    for (int kind = 0; kind < CHECK_SETS; kind++) {
        struct check_set set = check_set(kind);
        memset(phase, 0, (size_t)check.n * sizeof *phase);
        shmem_barrier_all();
        for (int64_t round = 1; set.rank >= 0 && round <= ROUNDS; round++) {
            if (round % set.size == set.rank)
                sched_yield(); /* a late one */
            for (int rank = 0; rank < set.size; rank++)
                shmem_int64_p(phase + check.me, round, check_set_pe(&set, rank));
            if (!barrier)
                shmem_quiet();
            meet(&set, kind, barrier);
            for (int rank = 0; rank < set.size; rank++) {
                int pe = check_set_pe(&set, rank);
                int64_t there = shmem_int64_atomic_fetch(phase + pe, check.me);
                CHECK(there == round || there == round + 1,
                      "set %d, round %jd: PE %d is in round %jd", kind, (intmax_t)round, pe,
                      (intmax_t)there);
            }
        }
        shmem_barrier_all();
        check_sync_restored(kind);
    }
}

static void test_barrier(void)
{
    check_start(BARRIER, "shmem_barrier");
    rounds(true);
}

static void test_sync(void)
{
    check_start(SYNC, "shmem_sync");
    rounds(false);
}

/* A barrier completes earlier operations: large puts, which take long. */
static void test_completes(void)
{
    check_start(COMPLETES, "shmem_barrier completes operations");
    enum { MANY = 100000 };
    int64_t *from = malloc(MANY * sizeof *from), *to = check_alloc(MANY * sizeof *to);
    for (int kind = 1; kind < CHECK_SETS; kind++) {
        struct check_set set = check_set(kind);
        memset(to, 0, MANY * sizeof *to);
        shmem_barrier_all();
        if (set.rank >= 0) {
            int right = check_set_pe(&set, (set.rank + 1) % set.size);
            int left = check_set_pe(&set, (set.rank + set.size - 1) % set.size);
            for (int i = 0; i < MANY; i++)
                from[i] = (int64_t)check.me << 32 | i;
            shmem_int64_put_nbi(to, from, MANY, right);
            meet(&set, kind, true);
            for (int i = 0; i < MANY; i++)
                if (to[i] != ((int64_t)left << 32 | i)) {
                    check_fail("set %d: element %d of %d is 0x%jx", kind, i, MANY,
                               (uintmax_t)to[i]);
                    break;
                }
        }
        shmem_barrier_all();
    }
    shmem_free(to);
    free(from);
}

/* Sets in turn, each with its pSync, without other calls between them. */
static void test_in_turn(void)
{
    check_start(IN_TURN, "overlapping sets in turn");
    int64_t *count = check_alloc(CHECK_SETS * sizeof *count);
    memset(count, 0, CHECK_SETS * sizeof *count);
    shmem_barrier_all();
    for (int round = 1; round <= ROUNDS; round++)
        for (int kind = 0; kind < CHECK_SETS; kind++) {
            struct check_set set = check_set(kind);
            if (set.rank < 0)
                continue;
            shmem_int64_atomic_inc(count + kind, set.start);
            meet(&set, kind, true);
            int64_t now = shmem_int64_atomic_fetch(count + kind, set.start);
            CHECK(now >= (int64_t)round * set.size, "set %d, round %d: %jd came of %d", kind, round,
                  (intmax_t)now, round * set.size);
        }
    shmem_barrier_all();
    shmem_free(count);
}

/* Two pSyncs alternately, as in programs that broadcast in a loop. The barrier between a call
 * and the next but one with its pSync is that of the set. */
static void test_parity(void)
{
    check_start(PARITY, "pSync by turns");
    int64_t *source = check_alloc(ROUNDS * sizeof *source);
    int64_t *dest = check_alloc(ROUNDS * sizeof *dest);
    long *sync = check_alloc(2 * SHMEM_BCAST_SYNC_SIZE * sizeof *sync);
    for (int i = 0; i < 2 * SHMEM_BCAST_SYNC_SIZE; i++)
        sync[i] = SHMEM_SYNC_VALUE;
    for (int kind = 0; kind < CHECK_SETS; kind++) {
        struct check_set set = check_set(kind);
        for (int i = 0; i < ROUNDS; i++) {
            source[i] = check.me * 1000 + i;
            dest[i] = -1;
        }
        shmem_barrier_all();
        for (int i = 0; set.rank >= 0 && i < ROUNDS; i++) {
            int root = i % set.size;
            shmem_broadcast64(dest + i, source + i, 1, root, set.start, set.log_stride, set.size,
                              sync + i % 2 * SHMEM_BCAST_SYNC_SIZE);
            int64_t want = root == set.rank ? -1 : check_set_pe(&set, root) * 1000 + i;
            CHECK(dest[i] == want, "set %d, call %d: %jd, should be %jd", kind, i,
                  (intmax_t)dest[i], (intmax_t)want);
            if (i % 2 == 1)
                meet(&set, kind, false);
        }
        shmem_barrier_all();
    }
    shmem_free(sync);
    shmem_free(dest);
    shmem_free(source);
}

/* A set of all PEs uses neither pSync nor pWrk, and a reduction of many elements no pWrk. */
static void test_unused(void)
{
    enum { MANY = 3000 };
    check_start(UNUSED, "work arrays that are not used");
    struct check_set set = check_set(1);
    long *source = check_alloc(MANY * sizeof *source), *dest = check_alloc(MANY * sizeof *dest);
    long all = check.n * (check.n - 1L) / 2, some = set.size * (set.size - 1L) / 2;
    for (int i = 0; i < MANY; i++)
        source[i] = check.me;
    shmem_barrier(0, 0, check.n, NULL);
    shmem_long_sum_to_all(dest, source, 1, 0, 0, check.n, NULL, NULL);
    CHECK(dest[0] == all, "the sum over all PEs is %ld, should be %ld", dest[0], all);
    shmem_sync(0, 0, check.n, NULL);
    shmem_broadcast64(dest, source, 1, check.n - 1, 0, 0, check.n, NULL);
    CHECK(check.me == check.n - 1 || dest[0] == check.n - 1, "the root's is %ld", dest[0]);
    shmem_barrier_all();
    if (set.rank >= 0 && set.size < check.n) {
        shmem_long_sum_to_all(dest, source, MANY, 0, 0, set.size, NULL, check_sync(1));
        CHECK(dest[MANY - 1] == some, "the sum is %ld, should be %ld", dest[MANY - 1], some);
    }
    shmem_barrier_all();
    shmem_free(dest);
    shmem_free(source);
}

static int64_t *totals; /* one for each thread and round */

/* Sums over the set that two threads share, each with its own pSync. */
static void *sum(void *arg)
{
    int thread = *(int *)arg;
    struct check_set set = check_set(2);
    long *sync = check_sync(thread);
    int64_t *mine = totals + thread * 2 * ROUNDS;
    static int64_t *work[2];
    work[thread] = totals + 4 * ROUNDS + thread * SHMEM_REDUCE_MIN_WRKDATA_SIZE;
    for (int i = 0; set.rank >= 0 && i < ROUNDS; i++) {
        shmem_long_sum_to_all((long *)mine + ROUNDS + i, (long *)mine + i, 1, set.start,
                              set.log_stride, set.size, (long *)work[thread], sync);
        shmem_sync(set.start, set.log_stride, set.size, check_sync(2 + thread));
    }
    return NULL;
}

static void test_threaded(void)
{
    check_start(THREADED, "one set in two threads");
    totals = check_alloc((4 * ROUNDS + 2 * SHMEM_REDUCE_MIN_WRKDATA_SIZE) * sizeof *totals);
    for (int thread = 0; thread < 2; thread++)
        for (int i = 0; i < ROUNDS; i++)
            totals[thread * 2 * ROUNDS + i] = (check.me + 1) * (thread + 1) + i;
    struct check_set set = check_set(2);
    shmem_barrier_all();
    pthread_t other;
    int first = 0, second = 1;
    /* A set of all PEs is the world's, and only one thread at a time uses it. */
    bool alone = set.size == check.n;
    bool runs = !alone && pthread_create(&other, NULL, sum, &second) == 0;
    CHECK(alone || runs, "no thread");
    sum(&first);
    if (runs)
        pthread_join(other, NULL);
    else
        sum(&second);
    int64_t members = 0;
    for (int rank = 0; rank < set.size; rank++)
        members += check_set_pe(&set, rank) + 1;
    for (int thread = 0; set.rank >= 0 && thread < 2; thread++)
        for (int i = 0; i < ROUNDS; i++) {
            int64_t want = members * (thread + 1) + (int64_t)set.size * i;
            int64_t got = totals[thread * 2 * ROUNDS + ROUNDS + i];
            CHECK(got == want, "thread %d, call %d: %jd, should be %jd", thread, i, (intmax_t)got,
                  (intmax_t)want);
        }
    shmem_barrier_all();
    shmem_free(totals);
}

int main(void)
{
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    check_open("activesets", TESTS);
    phase = check_alloc((size_t)check.n * sizeof *phase);
    test_barrier();
    test_sync();
    test_completes();
    test_in_turn();
    test_parity();
    test_unused();
    test_threaded();
    shmem_finalize();
    return check_close();
}
