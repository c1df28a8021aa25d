/*
 * timing: measures one figure. PE 0 decides how many iterations a batch has, so that all batches
 * together take the time budget. A batch is timed as a whole; after the batches of a latency that
 * is not `together`, operations are timed one by one. The clock is PE 0's.
 */
#define _GNU_SOURCE
#include "perf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_BATCHES = 101, MAX_SINGLES = 10000 };

static long *agreed;               /* iterations, from PE 0 */
static long *wrong;                /* PEs that found wrong data, counted on PE 0 */
static double single[MAX_SINGLES]; /* nanoseconds of operations that were timed one by one */
long wrong_figures;
double apart;

/* The time of the monotonic clock, in nanoseconds. */
double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Allocates the words by which the PEs agree on a number of iterations and count wrong data. */
void timing_open(void)
{
    agreed = symmetric(sizeof *agreed);
    wrong = symmetric(sizeof *wrong);
    if (settings.batches > MAX_BATCHES)
        settings.batches = MAX_BATCHES;
}

/* Reports whether this PE makes the calls of a figure; other PEs wait in barriers meanwhile. */
bool acts(enum acting acting)
{
    switch (acting) {
    case ORIGIN:
        return me == 0;
    case BOTH:
        return me == 0 || me == npes - 1;
    case HALVES:
        return me < npes / 2;
    default:
        return true;
    }
}

/*
 * Returns the nanoseconds that n iterations take, by the clock of PE 0. If PEs make calls without
 * waiting for each other, the time ends when all have finished: that is so unless PE 0 alone makes
 * calls, or each call waits for another PE (a round trip, a collective). Time that a figure has
 * spent outside its calls (apart) is subtracted.
 */
static double time_batch(const struct figure *f, long n, size_t size)
{
    bool paced = f->acting == ORIGIN || f->half || f->acting == ALL;
    shmem_barrier_all();
    apart = 0;
    double t = now();
    if (acts(f->acting))
        f->run(n, size);
    if (!paced)
        shmem_barrier_all();
    t = now() - t - apart;
    shmem_barrier_all();
    return t;
}

/* Returns on every PE the number n of PE 0, which PE 0 stores at each PE; what others pass is
 * ignored. The second barrier keeps the next call from overwriting the number before all have read
 * it. */
static long agree(long n)
{
    for (int i = 0; me == 0 && i < npes; i++)
        shmem_long_p(agreed, n, i);
    shmem_barrier_all();
    load(&n, agreed, sizeof n);
    shmem_barrier_all();
    return n;
}

/* Returns how many iterations a batch has, unless the settings say that: the number is doubled
 * until a batch takes at least half of its share of the time budget, and quadrupled as long as it
 * takes less than a sixteenth. PE 0 decides, and all PEs return the same number. */
static long calibrate(const struct figure *f, size_t size)
{
    if (settings.iterations > 0)
        return settings.iterations;
    const double share = settings.budget_ns / settings.batches;
    for (long n = 1;;) {
        double t = time_batch(f, n, size);
        long next = n;
        if (t < share / 2 && n < 1L << 30)
            next = t < share / 16 ? n * 4 : n * 2;
        next = agree(next);
        if (next == n)
            return n;
        n = next;
    }
}

/* Compares two numbers for qsort. */
static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Times operations one by one on PE 0, for about a quarter of the budget, at least 20 of them.
 * `each` is the time of one, from the batches. Returns how many there are; their times are in
 * `single`, in ascending order. */
static long time_singles(const struct figure *f, size_t size, double each)
{
    double fit = settings.budget_ns / 4 / (each > 1 ? each : 1);
    long n = agree(fit > MAX_SINGLES ? MAX_SINGLES : fit < 20 ? 20 : (long)fit);
    shmem_barrier_all();
    if (me == 0)
        for (long i = 0; i < n; i++) {
            apart = 0;
            double t = now();
            f->run(1, size);
            single[i] = now() - t - apart;
        }
    else if (acts(f->acting))
        for (long i = 0; i < n; i++)
            f->run(1, size);
    shmem_barrier_all();
    qsort(single, (size_t)n, sizeof *single, ascending);
    return n;
}

/* Converts nanoseconds of one iteration to the value of a figure, in its unit. An iteration may
 * have several operations: those of a burst, of both directions, or of all pairs of PEs. */
static double figure_value(const struct figure *f, size_t size, double ns)
{
    double operations = f->burst ? (double)f->burst(size) : 1;
    if (f->each_way)
        operations *= 2;
    if (f->acting == HALVES)
        operations *= npes / 2;
    switch (f->kind) {
    case LATENCY:
        return ns / 1e3 / (f->half ? 2 : 1) / operations;
    case BANDWIDTH:
        return operations * (double)size / ns;
    default:
        return operations * 1e3 / ns;
    }
}

/* Prints one line for the reader: a figure's settings, the values of its batches, and percentiles
 * of the single times, if it has any. */
static void print_figure(const struct figure *f, size_t size, long n, const double *batch,
                         long singles)
{
    static const char *const units[] = {"us", "GB/s", "Mop/s"};
    printf("figure\ttest=%s\tmeasure=%s\tscope=%s\tsize=%zu\tunit=%s\tuntil=%s\titerations=%ld",
           f->test, f->measure, f->scope ? f->scope : "host", size, units[f->kind], f->until, n);
    if (singles > 0) {
        static const struct {
            const char *name;
            double share;
        } ranks[] = {{"p50", .5}, {"p90", .9}, {"p99", .99}, {"max", 1}};
        printf("\tsingles=%ld", singles);
        for (unsigned i = 0; i < sizeof ranks / sizeof *ranks; i++) {
            long at = (long)(ranks[i].share * (double)singles);
            if (at >= singles)
                at = singles - 1;
            printf("\t%s=%.6g", ranks[i].name, figure_value(f, size, single[at]));
        }
    }
    printf("\tbatches=");
    for (int b = 0; b < settings.batches; b++)
        printf("%s%.6g", b ? "," : "", batch[b]);
    printf("\n");
    fflush(stdout);
}

/*
 * Checks the data that a figure has left on each PE. PE 0 gets the number of PEs whose data are
 * wrong, and prints it. If the setting `spoil` names the figure, each PE first damages a byte of
 * its data: so a test finds out whether wrong data are noticed.
 */
static void check_data(const struct figure *f, size_t size)
{
    char name[64];
    snprintf(name, sizeof name, "%s:%s", f->test, f->measure);
    shmem_barrier_all();
    if (settings.spoil && (!strcmp(settings.spoil, name) || !strcmp(settings.spoil, "all"))) {
        char byte;
        load(&byte, dst, 1);
        byte ^= 1;
        store(dst, &byte, 1);
    }
    shmem_barrier_all();
    if (f->check && !f->check(size))
        shmem_long_atomic_inc(wrong, 0);
    shmem_barrier_all();
    long pes = 0;
    load(&pes, wrong, sizeof pes);
    if (me == 0 && pes != 0) {
        printf("wrong\ttest=%s\tmeasure=%s\tsize=%zu\tpes=%ld\n", f->test, f->measure, size, pes);
        wrong_figures++;
        clear(wrong, sizeof *wrong);
    }
    shmem_barrier_all();
}

/* Measures one figure at one size: warm-up, batches, single operations, and the check of its data.
 */
void timing_measure(const struct figure *f, size_t size)
{
    double batch[MAX_BATCHES];
    long singles = 0;
    toward = f->acting == HALVES ? partner : peer;
    if (f->prepare)
        f->prepare(size);
    time_batch(f, settings.warmup, size);
    long n = calibrate(f, size);
    for (int b = 0; b < settings.batches; b++)
        batch[b] = time_batch(f, n, size) / (double)n;
    if (f->kind == LATENCY && !f->together)
        singles = time_singles(f, size, batch[0]);
    check_data(f, size);
    for (int b = 0; b < settings.batches; b++)
        batch[b] = figure_value(f, size, batch[b]);
    if (me == 0)
        print_figure(f, size, n, batch, singles);
}
