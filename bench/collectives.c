/*
 * collectives: the time of collective calls, by size, on any OpenSHMEM implementation. It uses only
 * the public C API (OpenSHMEM 1.4; teams where the header says 1.5).
 *
 * The arguments: the milliseconds for each figure, and the most bytes that a PE gets in a call.
 * Output, from PE 0, tab-separated:   metric  size  value  unit
 * The size is how many bytes a PE contributes; in alltoall, how many to each PE.
 */
#define _GNU_SOURCE
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if SHMEM_MAJOR_VERSION > 1 || (SHMEM_MAJOR_VERSION == 1 && SHMEM_MINOR_VERSION >= 5)
#define TEAMS 1
#else
#define TEAMS 0
#endif

enum { BATCHES = 9, SYNCS = 64 };

static int me, npes;
static double budget = 50e6; /* nanoseconds of one figure */
static size_t most = 4 << 20;
static long wrong;

static long *source, *dest;
static long *agreed; /* the number of calls, from PE 0 */
static size_t n;     /* longs of a call */
static double apart; /* nanoseconds of the barriers in next, which are not part of the calls */

#if !TEAMS
static long *work;
static long (*syncs)[SHMEM_SYNC_SIZE];
#endif

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Follows call i. OpenSHMEM 1.4 has pSync arrays, of which call i uses number i % SYNCS: before one
 * is used again, all PEs must have left the call that used it. */
static void next(long i)
{
    if (!TEAMS && i % SYNCS == SYNCS - 1) {
        double t = now();
        shmem_barrier_all();
        apart += now() - t;
    }
}

/* Makes so many barriers. The functions below do so with the other calls; the active set of those
 * of OpenSHMEM 1.4 is all PEs: PE_start 0, logPE_stride 0, PE_size npes. */
static void barrier(long calls)
{
    while (calls-- > 0)
        shmem_barrier_all();
}

/* The root changes from call to call, so that each broadcast waits for the one before. */
static void broadcast(long calls)
{
    for (long i = 0; i < calls; next(i++))
#if TEAMS
        shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, n, (int)(i % npes));
#else
        shmem_broadcast64(dest, source, n, (int)(i % npes), 0, 0, npes, syncs[i % SYNCS]);
#endif
}

static void sum(long calls)
{
    for (long i = 0; i < calls; next(i++))
#if TEAMS
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, n);
#else
        shmem_long_sum_to_all(dest, source, (int)n, 0, 0, npes, work, syncs[i % SYNCS]);
#endif
}

static void collect(long calls)
{
    for (long i = 0; i < calls; next(i++))
#if TEAMS
        shmem_long_collect(SHMEM_TEAM_WORLD, dest, source, n);
#else
        shmem_collect64(dest, source, n, 0, 0, npes, syncs[i % SYNCS]);
#endif
}

static void fcollect(long calls)
{
    for (long i = 0; i < calls; next(i++))
#if TEAMS
        shmem_long_fcollect(SHMEM_TEAM_WORLD, dest, source, n);
#else
        shmem_fcollect64(dest, source, n, 0, 0, npes, syncs[i % SYNCS]);
#endif
}

static void alltoall(long calls)
{
    for (long i = 0; i < calls; next(i++))
#if TEAMS
        shmem_long_alltoall(SHMEM_TEAM_WORLD, dest, source, n);
#else
        shmem_alltoall64(dest, source, n, 0, 0, npes, syncs[i % SYNCS]);
#endif
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The nanoseconds that so many calls of op take on this PE; PE 0's are printed. */
static double time_of(void (*op)(long), long calls)
{
    shmem_barrier_all();
    apart = 0;
    double t = now();
    op(calls);
    t = now() - t - apart;
    shmem_barrier_all();
    return t;
}

/* Returns the number of calls of a batch, the same on all PEs. PE 0 chooses it so that a batch
 * takes its share of the budget. */
static long agree(void (*op)(long))
{
    /* The time of 8 calls is a rough estimate. Each round makes a new one, from a quarter of the
     * batch that the last estimate gave. */
    double each = time_of(op, 8) / 8;
    for (int round = 0; round < 3; round++) {
        double calls = budget / BATCHES / each;
        for (int i = 0; me == 0 && i < npes; i++)
            shmem_long_p(agreed, calls < 2 ? 2 : calls > 1e6 ? 1000000 : (long)calls, i);
        shmem_barrier_all();
        each = time_of(op, *agreed / 4 + 1) / (double)(*agreed / 4 + 1);
    }
    return *agreed;
}

/* Measures an operation and prints the median of its batches, in us for one call. */
static void row(const char *metric, void (*op)(long))
{
    double v[BATCHES];
    long calls = agree(op);
    for (int b = 0; b < BATCHES; b++)
        v[b] = time_of(op, calls) / (double)calls;
    qsort(v, BATCHES, sizeof *v, compare);
    if (me == 0)
        printf("%s\t%zu\t%.6g\tus\n", metric, n * sizeof(long), v[BATCHES / 2] / 1e3);
    fflush(stdout);
}

/* Fills source with elements that differ from PE to PE. */
static void fill(size_t elements)
{
    for (size_t i = 0; i < elements; i++)
        source[i] = (long)i * (me + 1);
}

/* Checks element i of the result of the last call. */
static void check(const char *metric, size_t i, long want)
{
    if (dest[i] == want)
        return;
    if (wrong++ == 0)
        fprintf(stderr, "collectives: PE %d: %s of %zu bytes: element %zu is %ld, not %ld\n", me,
                metric, n * sizeof(long), i, dest[i], want);
}

/* Measures all calls in which a PE contributes so many bytes; the calls whose dest has the bytes of
 * all PEs only if that is not more than `most`. collect gives what fcollect gives, and is not
 * checked, nor is broadcast: its dest may have the data of either of the last two roots. */
static void of_size(size_t bytes)
{
    n = bytes / sizeof(long);
    fill(n);
    row("broadcast", broadcast);
    row("sum", sum);
    for (size_t i = 0; i < n; i++)
        check("sum", i, (long)i * npes * (npes + 1) / 2);
    if (bytes * (size_t)npes > most)
        return;
    row("fcollect", fcollect);
    for (size_t i = 0; i < n * (size_t)npes; i++)
        check("fcollect", i, (long)(i % n) * (long)(i / n + 1));
    row("collect", collect);
    fill(n * (size_t)npes);
    row("alltoall", alltoall);
    for (size_t i = 0; i < n * (size_t)npes; i++)
        check("alltoall", i, (long)(i % n + n * (size_t)me) * (long)(i / n + 1));
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    if (argc > 1)
        budget = atof(argv[1]) * 1e6;
    if (argc > 2)
        most = strtoul(argv[2], NULL, 10);
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    source = shmem_malloc(most + 64);
    dest = shmem_malloc(most + 64);
    agreed = shmem_malloc(sizeof *agreed);
#if !TEAMS
    work = shmem_malloc((most / 2 / sizeof(long) + SHMEM_REDUCE_MIN_WRKDATA_SIZE) * sizeof(long));
    syncs = shmem_malloc(SYNCS * sizeof *syncs);
    for (size_t i = 0; i < SYNCS * sizeof *syncs / sizeof(long); i++)
        (*syncs)[i] = SHMEM_SYNC_VALUE;
#endif
    shmem_barrier_all();
    n = 0;
    row("barrier_all", barrier);
    for (size_t bytes = 8; bytes <= most; bytes *= 8)
        of_size(bytes);
    shmem_finalize();
    return wrong != 0;
}
