/*
 * stream.c: calls on a stream that need no kernel of the library: the default stream of a fake GPU,
 * whose work another thread executes.
 */
#include <shmem.h>
#include <shmemx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 1000 };

static int me, n, passed, failed;

static void expect(const char *what, int good)
{
    if (good) {
        passed++;
    } else {
        failed++;
        printf("stream: PE %d: %s\n", me, what);
    }
}

static int has(const long *words, int pe)
{
    for (int i = 0; i < WORDS; i++)
        if (words[i] != (long)pe * WORDS + i)
            return 0;
    return 1;
}

/* From every PE to the next: it waits for data of the PE before it. */
static void round_of(long *to, uint64_t *signal, long *near, uint64_t number)
{
    uint64_t turn = 2 * number;
    int next = (me + 1) % n, before = (me + n - 1) % n;
    for (int i = 0; i < WORDS; i++)
        near[i] = (long)me * WORDS + i;
    shmemx_long_put_signal_on_stream(to, near, WORDS, signal, turn, SHMEM_SIGNAL_SET, next, NULL);
    shmemx_signal_wait_until_on_stream(signal, number % 2 ? SHMEM_CMP_EQ : SHMEM_CMP_GE, turn,
                                       NULL);
    shmemx_long_get_on_stream(near, to, WORDS, me, NULL);
    expect("what the stream gets is there when it is asked",
           shmemx_uint64_g_on_stream(signal, me, NULL) == turn);
    expect("put with signal, wait and get on a stream", has(near, before));
    shmemx_long_get_nbi_on_stream(near, to, WORDS, next, NULL);
    shmemx_quiet_on_stream(NULL);
    expect("what the stream gets from another PE",
           shmemx_uint64_g_on_stream(signal, me, NULL) == turn && has(near, me));
    shmem_barrier_all();
    for (int i = 0; i < WORDS; i++)
        near[i] = (long)next * WORDS + i;
    shmemx_long_put_on_stream(to, near, WORDS, next, NULL);
    shmemx_quiet_on_stream(NULL);
    shmemx_signal_op_on_stream(signal, turn + 1, SHMEM_SIGNAL_SET, next, NULL);
    shmemx_signal_wait_until_on_stream(signal, SHMEM_CMP_EQ, turn + 1, NULL);
    shmemx_long_get_on_stream(near, to, WORDS, me, NULL);
    expect("what a stream has put",
           shmemx_uint64_g_on_stream(signal, me, NULL) == turn + 1 && has(near, me));
    shmem_barrier_all();
}

static void words(long *to, uint64_t *signal)
{
    int next = (me + 1) % n, before = (me + n - 1) % n;
    shmemx_long_p_on_stream(to, me + 7, next, NULL);
    shmemx_int_p_on_stream((int *)(to + 1), me + 9, next, NULL);
    shmemx_quiet_on_stream(NULL);
    shmemx_signal_op_on_stream(signal, 99, SHMEM_SIGNAL_SET, next, NULL);
    shmemx_uint64_wait_until_on_stream(signal, SHMEM_CMP_EQ, 99, NULL);
    expect("p and g of a long", shmemx_long_g_on_stream(to, me, NULL) == before + 7);
    expect("p and g of an int", shmemx_int_g_on_stream((int *)(to + 1), me, NULL) == before + 9);
    expect("g of another PE", shmemx_int_g_on_stream((int *)(to + 1), next, NULL) == me + 9);
    shmem_barrier_all();
}

static void nothing(long *to, uint64_t *signal)
{
    shmemx_putmem_on_stream(NULL, NULL, 0, me, NULL);
    shmemx_getmem_nbi_on_stream(NULL, NULL, 0, me, NULL);
    shmemx_putmem_signal_nbi_on_stream(NULL, NULL, 0, signal, 5, SHMEM_SIGNAL_SET, me, NULL);
    expect("a signal without data", shmemx_uint64_g_on_stream(signal, me, NULL) == 5);
    expect("a team that is none", shmemx_barrier_on_stream(SHMEM_TEAM_INVALID, NULL) != 0 &&
                                      shmemx_int_sum_reduce_on_stream(SHMEM_TEAM_INVALID, (int *)to,
                                                                      (int *)to, 1, NULL) != 0);
    expect("collectives of nothing",
           shmemx_fcollectmem_on_stream(SHMEM_TEAM_WORLD, NULL, NULL, 0, NULL) == 0 &&
               shmemx_half_max_reduce_on_stream(SHMEM_TEAM_WORLD, NULL, NULL, 0, NULL) == 0);
}

/* Collectives of a team of one are copies. */
static void alone(long *to)
{
    shmem_team_t self, others;
    expect("teams of one",
           shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, NULL, 0, &self, NULL, 0, &others) == 0);
    shmemx_long_p_on_stream(to, me + 3, me, NULL);
    expect("a sum of one", shmemx_long_sum_reduce_on_stream(self, to + 1, to, 1, NULL) == 0 &&
                               shmemx_long_g_on_stream(to + 1, me, NULL) == me + 3);
    expect("a broadcast to one",
           shmemx_long_broadcast_on_stream(self, to + 2, to + 1, 1, 0, NULL) == 0 &&
               shmemx_long_g_on_stream(to + 2, me, NULL) == me + 3);
    expect("an exchange with one", shmemx_long_alltoall_on_stream(self, to + 3, to, 3, NULL) == 0 &&
                                       shmemx_long_g_on_stream(to + 5, me, NULL) == me + 3);
    expect("a barrier of one", shmemx_barrier_on_stream(self, NULL) == 0);
    shmemx_quiet_on_stream(NULL);
    shmem_barrier_all();
    shmem_team_destroy(self);
    shmem_team_destroy(others);
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    long *to = shmem_calloc(WORDS, sizeof *to), *near = malloc(WORDS * sizeof *near);
    uint64_t *signal = shmem_calloc(1, sizeof *signal);
    shmem_barrier_all();
    for (uint64_t turn = 1; turn <= 20; turn++)
        round_of(to, signal, near, turn);
    words(to, signal);
    nothing(to, signal);
    alone(to);
    printf("stream: PE %d of %d: %d passed, %d failed\n", me, n, passed, failed);
    shmem_barrier_all();
    free(near);
    shmem_finalize();
    return failed != 0;
}
