/*
 * groups.c: calls of every group of SHMEM_NVTX. Two PEs, each with two threads; with an argument,
 * on streams, too. All of it runs in two jobs one after the other.
 */
#include <shmem.h>
#include <shmemx.h>

#include <pthread.h>

static long *word;
static uint64_t *signal_word;
static int me, other;

static void moves(void)
{
    long here = me;
    shmem_long_p(word, me, other);
    (void)shmem_long_g(word, other);
    shmem_long_put(word, &here, 1, other);
    shmem_ctx_long_put(SHMEM_CTX_DEFAULT, word, &here, 1, other);
    shmem_long_get_nbi(&here, word, 1, other);
    shmem_long_put_signal(word + 1, &here, 1, signal_word, 1, SHMEM_SIGNAL_ADD, other);
    shmem_long_put_signal_nbi(word + 1, &here, 1, signal_word, 1, SHMEM_SIGNAL_ADD, other);
    shmem_long_iput(word + 2, &here, 1, 1, 1, other);
    shmem_quiet();
}

static void atomics(void)
{
    shmem_long_atomic_inc(word + 3, other);
    (void)shmem_long_atomic_fetch_add(word + 3, 1, other);
    shmem_signal_add(signal_word + 1, 1, other);
    shmem_fence();
}

static void *second(void *unused)
{
    (void)unused;
    moves();
    atomics();
    (void)shmem_long_test(word + 3, SHMEM_CMP_GE, 0);
    return NULL;
}

static int job(int streams)
{
    static long lock;
    int provided;
    pthread_t thread;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0)
        return 1;
    me = shmem_my_pe();
    other = 1 - me;
    word = shmem_calloc(8, sizeof *word);
    signal_word = shmem_calloc(2, sizeof *signal_word);
    lock = 0;
    shmem_barrier_all();
    if (pthread_create(&thread, NULL, second, NULL) != 0)
        return 1;
    moves();
    atomics();
    (void)shmem_signal_wait_until(signal_word, SHMEM_CMP_GE, 1);
    (void)shmem_long_test(word + 3, SHMEM_CMP_GE, 0);
    if (pthread_join(thread, NULL) != 0)
        return 1;
    shmem_barrier_all();
    (void)shmem_long_sum_reduce(SHMEM_TEAM_WORLD, word + 4, word + 3, 1);
    if (streams) {
        shmemx_long_p_on_stream(word + 5, 7, other, NULL);
        shmemx_long_wait_until_on_stream(word + 5, SHMEM_CMP_EQ, 7, NULL);
        shmemx_quiet_on_stream(NULL);
        (void)shmemx_long_g_on_stream(word + 5, me, NULL);
    } else {
        shmem_set_lock(&lock);
        shmem_clear_lock(&lock);
    }
    shmem_free(signal_word);
    shmem_free(word);
    shmem_finalize();
    return 0;
}

int main(int argc, char **argv)
{
    (void)argv;
    return job(argc > 1) || job(argc > 1);
}
