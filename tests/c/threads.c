/*
 * threads.c: several threads of each PE call at once (SHMEM_THREAD_MULTIPLE).
 */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, N = 5000, ROUNDS = 40, QUIETS = 10 };
enum { LEVEL, PUT_GET, COUNTER, SIGNALS, QUIET, TESTS };

static uint64_t *area; /* THREADS * N words */
static uint64_t *counter;
static uint64_t *signals; /* one for each thread */
static int bad[THREADS];

static void *work(void *arg)
{
    int id = (int)(intptr_t)arg;
    int right = (check.me + 1) % check.n;
    uint64_t *mine = area + (size_t)id * N;
    uint64_t *out = malloc(N * sizeof *out), *back = malloc(N * sizeof *back);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        size_t n = round % 2 ? N : 7;
        for (size_t i = 0; i < n; i++)
            out[i] = check_mix((uint64_t)id << 40 | (uint64_t)check.me << 20 | (round * N + i));
        shmem_fence(); /* behind the put of the last round's signal */
        shmem_uint64_put_nbi(mine, out, n, right);
        shmem_quiet();
        shmem_uint64_get(back, mine, n, right);
        bad[id] += memcmp(out, back, n * sizeof *out) != 0;
        shmem_uint64_atomic_inc(counter, right);
        bad[id] += shmem_uint64_atomic_fetch_add(counter, 1, right) == 0;
        /* Thread to thread: my partner on the right has the same number. */
        shmem_putmem_signal(mine, out, 8, &signals[id], round, SHMEM_SIGNAL_SET, right);
        shmem_signal_wait_until(&signals[id], SHMEM_CMP_GE, round);
    }
    free(back);
    free(out);
    return NULL;
}

static uint32_t talking;

/* Never calls quiet: posts until the others are done. */
static void *talk(void *arg)
{
    int right = (check.me + 1) % check.n;
    uint64_t *word = area + 1 + (intptr_t)arg;
    uint64_t *words = area + N + (intptr_t)arg * (N / THREADS);
    for (uint64_t i = 0; __atomic_load_n(&talking, __ATOMIC_RELAXED); i++) {
        shmem_uint64_p(word, i, right);
        if (i % 1024 == 0)
            shmem_uint64_put_nbi(words, area + 2 * N, N / THREADS, right);
    }
    return NULL;
}

/* The puts of one thread are complete after its quiet, which ends although the others continue to
   put. */
static int quiet_among_talkers(void)
{
    int right = (check.me + 1) % check.n, wrong = 0;
    pthread_t talkers[THREADS];
    talking = 1;
    for (intptr_t i = 0; i < THREADS - 1; i++)
        if (pthread_create(&talkers[i], NULL, talk, (void *)i) != 0)
            shmem_global_exit(1);
    for (uint64_t i = 1; i <= QUIETS; i++) {
        shmem_uint64_p(area, i, right);
        shmem_quiet();
        wrong += shmem_uint64_g(area, right) != i;
    }
    __atomic_store_n(&talking, 0, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS - 1; i++)
        pthread_join(talkers[i], NULL);
    shmem_barrier_all();
    return wrong;
}

int main(void)
{
    int provided = -1, queried = -1;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0)
        return 1;
    check_open("threads", TESTS);
    shmem_query_thread(&queried);
    check_start(LEVEL, "shmem_init_thread");
    CHECK(provided == SHMEM_THREAD_MULTIPLE && queried == provided, "provided %d, queried %d",
          provided, queried);

    area = check_alloc(THREADS * N * sizeof *area);
    counter = check_alloc(sizeof *counter);
    signals = check_alloc(THREADS * sizeof *signals);
    memset(signals, 0, THREADS * sizeof *signals);
    *counter = 0;
    shmem_barrier_all();

    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
            shmem_global_exit(1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    shmem_barrier_all();

    check_start(PUT_GET, "put_nbi, quiet, get of four threads");
    for (int i = 0; i < THREADS; i++)
        CHECK(bad[i] == 0, "thread %d read back wrong data %d times", i, bad[i]);
    check_start(COUNTER, "atomics of four threads");
    CHECK(*counter == (uint64_t)2 * THREADS * ROUNDS, "counter is %llu, should be %d",
          (unsigned long long)*counter, 2 * THREADS * ROUNDS);
    check_start(SIGNALS, "put_signal of four threads");
    for (int i = 0; i < THREADS; i++)
        CHECK(signals[i] == ROUNDS, "signal %d is %llu", i, (unsigned long long)signals[i]);

    check_start(QUIET, "quiet of a thread while others post");
    int wrong = quiet_among_talkers();
    CHECK(wrong == 0, "the last put was not there after %d of %d quiets", wrong, QUIETS);

    int failed = check_close(); /* finalizes once; init was called twice */
    shmem_finalize();
    return failed;
}
