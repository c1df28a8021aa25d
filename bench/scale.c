/*
 * scale: the resources of a PE in a job of n PEs: memory and connections after init, after barriers
 * and after an all-to-all. Public API only.
 *
 * Output, from PE 0, tab-separated:   metric  PEs  value  unit
 */
#define _GNU_SOURCE
#include <shmem.h>

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int me, npes;
static double *mine; /* symmetric: a value of this PE, read by PE 0 */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* The value behind a key in a file of /proc, in KiB; -1 without the file or the key. */
static double kib(const char *file, const char *key)
{
    char line[256];
    double v = -1;
    FILE *f = fopen(file, "r");
    if (!f)
        return -1;
    while (v < 0 && fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key)))
            v = atof(line + strlen(key));
    fclose(f);
    return v;
}

/* How many of this process's descriptors are sockets. */
static int sockets(void)
{
    int n = 0;
    char path[300], to[64];
    DIR *d = opendir("/proc/self/fd");
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "/proc/self/fd/%s", e->d_name);
        ssize_t k = readlink(path, to, sizeof to - 1);
        n += k > 7 && !strncmp(to, "socket:", 7);
    }
    if (d)
        closedir(d);
    return n;
}

/* The resources of this process: its memory in KiB, shared pages in parts (Pss) and anonymous, and
 * its sockets. */
struct state {
    double pss, anon, sockets;
};

/* main reads all states before it prints the first: row gets values from other PEs, which may open
 * connections. */
static struct state read_state(void)
{
    return (struct state){kib("/proc/self/smaps_rollup", "Pss:"),
                          kib("/proc/self/status", "RssAnon:"), sockets()};
}

/* Prints the mean and the maximum of v over all PEs. */
static void row(const char *metric, const char *when, double v, const char *unit)
{
    *mine = v;
    shmem_barrier_all();
    if (me == 0) {
        double sum = 0, most = 0;
        for (int pe = 0; pe < npes; pe++) {
            double x = shmem_double_g(mine, pe);
            sum += x;
            most = x > most ? x : most;
        }
        printf("%s_%s\t%d\t%.6g\t%s\n", metric, when, npes, sum / npes, unit);
        printf("%s_%s_most\t%d\t%.6g\t%s\n", metric, when, npes, most, unit);
        fflush(stdout);
    }
    shmem_barrier_all();
}

static void rows(const char *when, struct state s)
{
    row("pss", when, s.pss, "KiB");
    row("anon", when, s.anon, "KiB");
    row("sockets", when, s.sockets, "");
}

int main(void)
{
    double t0 = now();
    shmem_init();
    double init = now() - t0;
    me = shmem_my_pe();
    npes = shmem_n_pes();
    struct state inited = read_state();

    mine = shmem_malloc(sizeof *mine);
    uint64_t *from = shmem_malloc(sizeof *from * (size_t)npes);
    uint64_t *to = shmem_malloc(sizeof *to * (size_t)npes);
    if (!mine || !from || !to)
        shmem_global_exit(2);
    for (int pe = 0; pe < npes; pe++)
        from[pe] = (uint64_t)me << 32 | (unsigned)pe;
    t0 = now();
    shmem_barrier_all();
    double first = now() - t0;
    t0 = now();
    for (int i = 0; i < 10; i++)
        shmem_barrier_all();
    double barrier = (now() - t0) / 10;
    struct state met = read_state();

    shmem_barrier_all();
    t0 = now();
    shmem_uint64_alltoall(SHMEM_TEAM_WORLD, to, from, 1);
    double exchange = now() - t0;
    shmem_barrier_all();
    struct state exchanged = read_state();
    int wrong = 0;
    for (int pe = 0; pe < npes; pe++)
        wrong |= to[pe] != ((uint64_t)pe << 32 | (unsigned)me);

    rows("init", inited);
    rows("barrier", met);
    rows("alltoall", exchanged);
    row("init", "time", init, "ms");
    row("barrier", "first", first, "ms");
    row("barrier", "time", barrier, "ms");
    row("alltoall", "time", exchange, "ms");
    if (wrong) {
        fprintf(stderr, "scale: PE %d: wrong data after the all-to-all\n", me);
        shmem_global_exit(1);
    }
    shmem_finalize();
    return 0;
}
