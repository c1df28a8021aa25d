/*
 * ends.c: PEs end without shmem_finalize, by the end of main or by exit(0) after their last
 * collective call.
 *
 * The argument:
 *   barrier  a barrier is the last call
 *   sum      a reduction is
 *   put      each PE puts to the next one and ends at once; that one waits for the word
 *   large    the first PE puts 16 MiB to the last one and ends at once; that one waits for them
 *   again    the same behind a job with heaps in main memory: the GPU's driver is opened late
 *   ring     the first PE passes a put to the last one to its second proxy and ends at once
 *   handler  the handler of a signal calls exit(0) in the middle of puts
 */
#include <shmem.h>
#include <shmem/map.h>
#include <shmem/state.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { N = 1 << 16, PIECES = 32 };

static void end(int signal)
{
    (void)signal;
    exit(0);
}

static void pass_put(uint32_t pe, const long *to)
{
    const struct shmemi_device_state *s = shmemi_host_state();
    const struct shmemi_ring *rings = s->rings;
    struct shmemi_words put = shmemi_pack_p_wide(pe, 0, (uint64_t)(uintptr_t)to - s->segment, 1);
    if (s->ring_count < 2)
        shmem_global_exit(3);
    shmemi_push(&rings[1], &put, SHMEMI_SLOTS_P_WIDE);
}

int main(int argc, char **argv)
{
    bool again = argc > 1 && strcmp(argv[1], "again") == 0;
    if (again) {
        const char *heap = strdup(getenv("SHMEM_HEAP"));
        setenv("SHMEM_HEAP", "host", 1);
        shmem_init();
        shmem_finalize();
        setenv("SHMEM_HEAP", heap, 1);
    }
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), failed = 0;
    long *from = shmem_calloc(N, sizeof *from), *to = shmem_calloc(N, sizeof *to);
    if (argc < 2 || to == NULL)
        return 2;
    if (strcmp(argv[1], "barrier") == 0) {
        shmem_barrier_all();
    } else if (strcmp(argv[1], "sum") == 0) {
        shmem_long_p(from + N - 1, 1, me);
        failed = shmem_long_sum_reduce(SHMEM_TEAM_WORLD, to, from, N) != 0 ||
                 shmem_long_g(to + N - 1, me) != n;
    } else if (strcmp(argv[1], "put") == 0) {
        shmem_long_p(to, 1, (me + 1) % n);
        shmem_long_wait_until(to, SHMEM_CMP_EQ, 1);
    } else if (again || strcmp(argv[1], "large") == 0) {
        long *all = shmem_calloc((size_t)N * PIECES, sizeof *all);
        shmem_long_p(from + N - 1, 1, me);
        shmem_barrier_all();
        for (int i = 0; i < PIECES; i++)
            if (me == 0)
                shmem_putmem_nbi(all + N * i, from, sizeof *from * N, n - 1);
            else if (me == n - 1)
                shmem_long_wait_until(&all[N * i + N - 1], SHMEM_CMP_EQ, 1);
    } else if (strcmp(argv[1], "ring") == 0) {
        shmem_barrier_all();
        if (me == 0)
            pass_put((uint32_t)n - 1, to);
        else if (me == n - 1)
            shmem_long_wait_until(to, SHMEM_CMP_EQ, 1);
    } else {
        signal(SIGALRM, end);
        shmem_barrier_all();
        setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 20000 + me * 7000}, NULL);
        for (;;)
            shmem_putmem(to, from, sizeof *from * N, (me + 1) % n);
    }
    printf("PE %d: 1 passed, %d failed\n", me, failed);
    if (me % 2 == 0)
        return 0;
    exit(0);
}
