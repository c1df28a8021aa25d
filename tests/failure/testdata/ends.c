/*
 * ends.c: PEs end without shmem_finalize, by the end of main or by exit(0) after their last
 * collective call.
 *
 * The argument:
 *   barrier  a barrier is the last call
 *   sum      a reduction is
 *   put      each PE puts to the next one and ends at once; that one waits for the word
 *   handler  the handler of a signal calls exit(0) in the middle of puts
 */
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { N = 1 << 16 };

static long word;

static void end(int signal)
{
    (void)signal;
    exit(0);
}

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), failed = 0;
    long *from = shmem_calloc(N, sizeof *from), *to = shmem_calloc(N, sizeof *to);
    if (argc < 2 || to == NULL)
        return 2;
    if (strcmp(argv[1], "barrier") == 0) {
        shmem_barrier_all();
    } else if (strcmp(argv[1], "sum") == 0) {
        from[N - 1] = 1;
        failed = shmem_long_sum_reduce(SHMEM_TEAM_WORLD, to, from, N) != 0 || to[N - 1] != n;
    } else if (strcmp(argv[1], "put") == 0) {
        shmem_long_p(&word, 1, (me + 1) % n);
        shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
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
