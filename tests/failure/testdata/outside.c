/*
 * outside.c: a PE dies with operations of another PE under way, and takes no part in the collective
 * call that the other PEs are in. The quiet within the call fails, and the call goes on.
 *
 * The last PE stops itself, so that it takes nothing. PE 0 puts to it, and then PE 1 kills it. The
 * others have a team.
 */
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { N = 100000 };

static int me, passed, failed;

#include "check.h"

/* Reports whether a process of this machine is stopped. */
static bool is_stopped(long pid)
{
    char name[64], state = 0;
    snprintf(name, sizeof name, "/proc/%ld/stat", pid);
    FILE *f = fopen(name, "r");
    if (f == NULL || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
        return false;
    fclose(f);
    return state == 'T';
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    const int n = shmem_n_pes(), victim = n - 1;
    static long pid, has_put, word;
    long *values = shmem_malloc(N * sizeof *values);
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n - 1, NULL, 0, &team);
    shmem_barrier_all();
    if (me == victim) {
        for (int pe = 0; pe < victim; pe++)
            shmem_long_p(&pid, getpid(), pe);
        shmem_quiet();
        raise(SIGSTOP);
    }
    shmem_long_wait_until(&pid, SHMEM_CMP_NE, 0);
    if (me == 0) {
        while (!is_stopped(pid))
            usleep(1000);
        shmem_long_p(&word, 1, victim);
        shmem_fence();
        shmem_long_p(&has_put, 1, 1);
    }
    if (me == 1) {
        shmem_long_wait_until(&has_put, SHMEM_CMP_EQ, 1);
        kill((pid_t)pid, SIGKILL);
    }
    for (int i = 0; i < N; i++)
        values[i] = me;
    CHECK(shmem_long_sum_reduce(team, values, values, N) == 0, "%s", shmemx_last_error_text());
    bool right = true;
    for (int i = 0; i < N; i++)
        right = right && values[i] == (long)victim * (victim - 1) / 2;
    CHECK(right, "a sum is wrong");
    shmem_quiet(); /* reports it on PE 0 */
    if (me == 0) {
        int error = shmemx_last_error();
        CHECK(error == SHMEMX_ERROR_PE_LOST && shmemx_last_error_pe() == victim, "error %d: %s",
              error, shmemx_last_error_text());
    }
    CHECK(shmem_team_sync(team) == 0, "%s", shmemx_last_error_text());
    shmem_finalize();
    printf("outside: %d passed, %d failed\n", passed, failed);
    return failed != 0;
}
