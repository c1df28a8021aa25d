/*
 * goes_on.c: the last PE ends its agent, and thereby itself. The others notice that, synchronise
 * among themselves, and end well.
 */
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), last = shmem_n_pes() - 1;
    long *word = shmem_calloc(1, sizeof *word);
    shmem_team_t rest;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, last, NULL, 0, &rest);
    shmem_barrier_all();
    if (me == last) {
        kill(getppid(), SIGKILL);
        pause();
    }
    while (shmemx_last_error() != SHMEMX_ERROR_PE_LOST) {
        shmem_long_p(word, 1, last);
        shmem_quiet();
        usleep(1000);
    }
    if (shmem_team_sync(rest) == 0)
        printf("PE %d goes on\n", me);
    shmem_finalize();
    return 0;
}
