/*
 * job.c: the work of the PEs of a job: every PE writes to every other one, in several jobs one
 * after the other.
 *
 * The arguments: how many jobs, and then any number of pairs, a PE and how it ends the first one:
 * "sleeps" or "ends" before shmem_init, is "killed" after it, or calls shmem_"global_exit". Where
 * APART is set, each host name is a host of its own. Where STARTS is set, PE 1 starts the program
 * once more: as it is, and by the command STARTS, which is to make it a job of its own.
 */
#define _GNU_SOURCE
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N 4096

static const char *ending(int argc, char **argv, int pe)
{
    for (int i = 2; i + 1 < argc; i += 2)
        if (atoi(argv[i]) == pe)
            return argv[i + 1];
    return "";
}

/* The launcher's own report, before the library does. */
static int rank(void)
{
    const char *names[] = {"SHMEM_LAUNCHER_PE", "PMIX_RANK", "PMI_RANK", "PMI_ID", "SLURM_PROCID"};
    for (int i = 0; i < 5; i++)
        if (getenv(names[i]) != NULL)
            return atoi(getenv(names[i]));
    return 0;
}

static int starts(const char *with, const char *program)
{
    char line[4096];
    snprintf(line, sizeof line, "%s %s 1", with, program);
    return system(line);
}

int main(int argc, char **argv)
{
    char host[256];
    gethostname(host, sizeof host);
    if (getenv("APART") != NULL)
        setenv("SHMEM_HOST_ID", host, 1);
    const char *end = ending(argc, argv, rank());
    if (strcmp(end, "ends") == 0)
        return 0;
    if (strcmp(end, "sleeps") == 0)
        sleep(600);

    int jobs = atoi(argv[1]), wrong = 0, me = 0, n = 0;
    for (int job = 0; job < jobs; job++) {
        shmem_init();
        me = shmem_my_pe();
        n = shmem_n_pes();
        wrong += me != rank();
        long *in = shmem_calloc((size_t)n * N, sizeof *in);
        long *out = shmem_malloc(N * sizeof *out);
        for (int i = 0; i < N; i++)
            out[i] = 1000L * me + i + job;
        for (int pe = 0; pe < n; pe++)
            shmem_long_put(in + (size_t)me * N, out, N, pe);
        shmem_barrier_all();
        if (getenv("STARTS") != NULL && me == 1 && job == 0) {
            char with[1024];
            snprintf(with, sizeof with, "%s", getenv("STARTS"));
            unsetenv("STARTS");
            wrong += starts("", argv[0]) == 0;
            wrong += starts(with, argv[0]) != 0;
        }
        if (strcmp(end, "killed") == 0)
            raise(SIGKILL);
        if (strcmp(end, "global_exit") == 0)
            shmem_global_exit(5);
        for (int pe = 0; pe < n; pe++)
            for (int i = 0; i < N; i++)
                wrong += in[(size_t)pe * N + i] != 1000L * pe + i + job;
        if (argc > 2) /* wait for the one */
            shmem_long_wait_until(in, SHMEM_CMP_EQ, -1);
        shmem_free(out);
        shmem_free(in);
        shmem_finalize();
    }
    printf("PE %d of %d on %s: %d jobs, %d wrong\n", me, n, host, jobs, wrong);
    return wrong != 0;
}
