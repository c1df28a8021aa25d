/*
 * waits: how PEs of one machine wait for each other, and how soon they are quick again after one of
 * them was late.
 *
 *   waits [milliseconds a figure [delays]]       by default 100 and 10
 *
 * First barrier_all, and a sum, a broadcast, an fcollect and a collect of 8 bytes, each for the
 * given milliseconds: the median of batches of calls, and the mean of the slowest tenth of the
 * batches. Then, as often as `delays` says, the last PE sleeps for 20 ms while the others wait for
 * it in a barrier, and all continue with barriers. recovery is the time from the end of the sleep
 * to the first 20 barriers in a row that took, on average, at most four times the median (4 us, if
 * the median is below 1 us). It is the longest of all delays, and 500 ms if there were no such
 * barriers within that time.
 *
 * Output, from PE 0, tab-separated:   metric  size  value  unit
 * Some rows say what else happened on the machine: switches, the voluntary context switches a
 * second of the PE with the most; waited, the time that threads were ready but did not run, in
 * percent; stolen, the processor time that the host of a virtual machine took, in percent. wait_*
 * are counters of libshmem as events a second, of the PE with the most.
 */
#define _GNU_SOURCE
#include <shmem.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#if SHMEM_MAJOR_VERSION > 1 || (SHMEM_MAJOR_VERSION == 1 && SHMEM_MINOR_VERSION >= 5)
#define HAVE_15 1
#else
#define HAVE_15 0
#endif

enum { BATCHES = 100, NSYNC = 64, SOON = 20, LATE_MS = 20, NEVER_MS = 500 };

/* Other libraries have no such functions. */
int shmemx_pcntr_find(const char *name) __attribute__((weak));
int shmemx_pcntr_get(int id, int pe, uint64_t *value) __attribute__((weak));

static const char *const counters[] = {"wait_yields", "wait_sleeps",      "wait_late",
                                       "wait_wakes",  "wait_membarriers", "wait_moves"};
enum { COUNTERS = sizeof counters / sizeof *counters };

static int me, npes;
static long *number, *sum, *all; /* symmetric: operands; all is for collects, by PE */
static long *agreed;             /* symmetric: a number that PE 0 sends to all PEs */
static double *report;           /* symmetric: a value of this PE, read by PE 0 */
#if !HAVE_15
static long *pwrk;
enum {
    PSYNC = SHMEM_REDUCE_SYNC_SIZE > SHMEM_COLLECT_SYNC_SIZE ? SHMEM_REDUCE_SYNC_SIZE
                                                             : SHMEM_COLLECT_SYNC_SIZE
};
static long (*psync)[PSYNC];
#endif

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void row(const char *metric, size_t size, double value, const char *unit)
{
    if (me == 0) {
        printf("%s\t%zu\t%.6g\t%s\n", metric, size, value, unit);
        fflush(stdout); /* Open MPI 4.1.4 ends in a fault in shmem_finalize */
    }
}

/* The largest value of all PEs, on PE 0. */
static double largest(double mine)
{
    double most = mine;
    *report = mine;
    shmem_barrier_all();
    for (int pe = 0; me == 0 && pe < npes; pe++) {
        double other = shmem_double_g(report, pe);
        most = other > most ? other : most;
    }
    shmem_barrier_all();
    return most;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void barriers(long n)
{
    while (n--)
        shmem_barrier_all();
}

/* Follows call i. OpenSHMEM 1.4 has pSync arrays, of which call i uses number i % NSYNC: one may be
 * used again after a barrier. */
static void next_sync(long i)
{
    if (!HAVE_15 && i % NSYNC == NSYNC - 1)
        shmem_barrier_all();
}

/* The functions below make n calls. The active set of those of OpenSHMEM 1.4 is all PEs: PE_start
 * 0, logPE_stride 0, PE_size npes. */
static void sums(long n)
{
    for (long i = 0; i < n; i++) {
#if HAVE_15
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sum, number, 1);
#else
        shmem_long_sum_to_all(sum, number, 1, 0, 0, npes, pwrk, psync[i % NSYNC]);
#endif
        next_sync(i);
    }
}

static void broadcasts(long n)
{
    for (long i = 0; i < n; i++) {
        int root = (int)(i % npes);
#if HAVE_15
        shmem_long_broadcast(SHMEM_TEAM_WORLD, sum, number, 1, root);
#else
        shmem_broadcast64(sum, number, 1, root, 0, 0, npes, psync[i % NSYNC]);
#endif
        next_sync(i);
    }
}

static void fcollects(long n)
{
    for (long i = 0; i < n; i++) {
#if HAVE_15
        shmem_long_fcollect(SHMEM_TEAM_WORLD, all, number, 1);
#else
        shmem_fcollect64(all, number, 1, 0, 0, npes, psync[i % NSYNC]);
#endif
        next_sync(i);
    }
}

static void collects(long n)
{
    for (long i = 0; i < n; i++) {
#if HAVE_15
        shmem_long_collect(SHMEM_TEAM_WORLD, all, number, 1);
#else
        shmem_collect64(all, number, 1, 0, 0, npes, psync[i % NSYNC]);
#endif
        next_sync(i);
    }
}

/* Returns how many calls take batch_us microseconds on PE 0: the same number on every PE. */
static long calls_of(void (*op)(long), double batch_us)
{
    long n = 8;
    for (;;) {
        shmem_barrier_all();
        double began = now_us();
        op(n);
        double took = now_us() - began;
        long next = took >= batch_us ? n : took < batch_us / 8 ? n * 8 : n * 2;
        for (int pe = 0; me == 0 && pe < npes; pe++)
            shmem_long_p(agreed, next, pe);
        shmem_barrier_all();
        if (*agreed == n)
            return n;
        n = *agreed;
        shmem_barrier_all();
    }
}

/* Measures an operation, prints its two rows, and returns the median in microseconds. */
static double figure(const char *name, size_t size, void (*op)(long), double budget_us)
{
    static double took[BATCHES];
    long n = calls_of(op, budget_us / BATCHES);
    for (int b = 0; b < BATCHES; b++) {
        shmem_barrier_all();
        double began = now_us();
        op(n);
        took[b] = (now_us() - began) / (double)n;
    }
    shmem_barrier_all();
    qsort(took, BATCHES, sizeof *took, compare);
    double slowest = 0;
    for (int b = BATCHES - BATCHES / 10; b < BATCHES; b++)
        slowest += took[b] / (BATCHES / 10);
    char tail[64];
    snprintf(tail, sizeof tail, "%s_slowest_tenth", name);
    row(name, size, took[BATCHES / 2], "us");
    row(tail, size, slowest, "us");
    return took[BATCHES / 2];
}

/* Makes one delay. PE 0 returns the recovery in milliseconds, and says when all PEs stop; the
 * result of others has no meaning. An iteration of the loop is two barriers, and is quick if it
 * takes at most quick_us. began is a ring of SOON times: entry n % SOON is that of SOON iterations
 * ago, from iteration SOON on. */
static double recovery(double quick_us)
{
    double end = 0, began[SOON]; /* the end of the sleep; when the last SOON iterations began */
    long n = 0, last = 0;
    *agreed = 0;
    shmem_barrier_all();
    if (me == npes - 1) {
        struct timespec late = {.tv_nsec = LATE_MS * 1000000L};
        nanosleep(&late, NULL);
        *report = now_us(); /* one clock for the machine */
    }
    shmem_barrier_all();
    if (me == 0)
        end = shmem_double_g(report, npes - 1);
    while (last == 0) {
        double now = now_us(), first = began[n % SOON];
        if (me == 0 && n >= SOON && *agreed == 0 &&
            (now - first <= SOON * quick_us || now - end > NEVER_MS * 1e3)) {
            for (int pe = 0; pe < npes; pe++)
                shmem_long_p(agreed, 1, pe);
            end = now - first <= SOON * quick_us ? (first - end) / 1e3 : NEVER_MS;
        }
        began[n++ % SOON] = now;
        shmem_barrier_all();
        last = *agreed; /* PE 0 stores it before the first barrier, or behind the second */
        shmem_barrier_all();
    }
    return end;
}

/* ---------------------------------------------------------- the machine */

/* What else happens on the machine, as counts since the start of the process or of the machine. */
struct beside {
    double at_us, switches, waited_ns, stolen, ticks;
    uint64_t counts[COUNTERS];
};

/* Reads the counts. What cannot be read stays 0. In /proc/stat, stolen time is the eighth number.
 */
static struct beside beside(void)
{
    struct beside b = {.at_us = now_us()};
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    b.switches = (double)u.ru_nvcsw;
    FILE *f = fopen("/proc/self/schedstat", "r");
    double ran;
    if (f != NULL && fscanf(f, "%lf %lf", &ran, &b.waited_ns) != 2)
        b.waited_ns = 0;
    if (f != NULL)
        fclose(f);
    double v[8] = {0};
    f = fopen("/proc/stat", "r");
    if (f != NULL && fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &v[0], &v[1], &v[2], &v[3],
                            &v[4], &v[5], &v[6], &v[7]) == 8)
        for (int i = 0; i < 8; i++)
            b.ticks += v[i];
    b.stolen = v[7];
    if (f != NULL)
        fclose(f);
    for (int i = 0; shmemx_pcntr_find != NULL && i < COUNTERS; i++)
        shmemx_pcntr_get(shmemx_pcntr_find(counters[i]), -1, &b.counts[i]); /* -1: of all PEs */
    return b;
}

/* Prints the rates since a; when is the end of their names. */
static void beside_rows(const char *when, const struct beside *a)
{
    struct beside b = beside();
    double us = b.at_us - a->at_us;
    char name[64];
    snprintf(name, sizeof name, "switches_%s", when);
    row(name, 0, largest((b.switches - a->switches) / us * 1e6), "1/s");
    snprintf(name, sizeof name, "waited_%s", when);
    row(name, 0, largest((b.waited_ns - a->waited_ns) / us / 10), "%");
    snprintf(name, sizeof name, "stolen_%s", when);
    row(name, 0, b.ticks > a->ticks ? (b.stolen - a->stolen) / (b.ticks - a->ticks) * 100 : 0, "%");
    for (int i = 0; shmemx_pcntr_find != NULL && i < COUNTERS; i++) {
        snprintf(name, sizeof name, "%s_%s", counters[i], when);
        row(name, 0, largest((double)(b.counts[i] - a->counts[i]) / us * 1e6), "1/s");
    }
}

int main(int argc, char **argv)
{
    double budget_us = (argc > 1 ? atof(argv[1]) : 100) * 1e3;
    int delays = argc > 2 ? atoi(argv[2]) : 10;
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    number = shmem_malloc(sizeof *number);
    sum = shmem_malloc(sizeof *sum);
    agreed = shmem_malloc(sizeof *agreed);
    all = shmem_calloc((size_t)npes, sizeof *all);
    report = shmem_malloc(sizeof *report);
    if (number == NULL || sum == NULL || agreed == NULL || all == NULL || report == NULL)
        shmem_global_exit(2);
#if !HAVE_15
    pwrk = shmem_malloc(SHMEM_REDUCE_MIN_WRKDATA_SIZE * sizeof *pwrk);
    psync = shmem_malloc(NSYNC * sizeof *psync);
    for (int i = 0; i < NSYNC; i++)
        for (int k = 0; k < PSYNC; k++)
            psync[i][k] = SHMEM_SYNC_VALUE;
#endif
    *number = me;
    *sum = 0;
    shmem_barrier_all();

    struct beside start = beside();
    double barrier = figure("barrier_all", 0, barriers, budget_us);
    figure("sum", 8, sums, budget_us);
    long expected = (long)npes * (npes - 1) / 2, wrong = *sum != expected;
    figure("broadcast", 8, broadcasts, budget_us);
    figure("fcollect", 8, fcollects, budget_us);
    figure("collect", 8, collects, budget_us);
    for (int pe = 0; pe < npes; pe++)
        wrong += all[pe] != pe;
    beside_rows("quick", &start);

    struct beside later = beside();
    double longest = 0;
    for (int i = 0; i < delays; i++) {
        double ms = recovery(2 * (barrier < 1 ? 4 : 4 * barrier)); /* of two barriers */
        longest = ms > longest ? ms : longest;
    }
    if (delays > 0) {
        row("recovery", 0, longest, "ms");
        beside_rows("late", &later);
        figure("barrier_all_behind", 0, barriers, budget_us);
    }
    if (largest((double)wrong) > 0) {
        fprintf(stderr, "waits: PE %d: %ld wrong results, and a sum should be %ld\n", me, wrong,
                expected);
        return 1;
    }
    shmem_finalize();
    return 0;
}
