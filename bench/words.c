/*
 * words: the rate of 8-byte non-blocking puts to random words of 64 MiB and to successive ones.
 * With the argument `served`, the processor time of the target for these puts while its program
 * sleeps in nanosleep, so that only the library's threads run. It uses only the public API, so that
 * the same file builds against any OpenSHMEM.
 *
 *   words [served] [milliseconds a figure]
 *
 * Output, from PE 0, tab-separated:   metric  size  value  unit
 */
#define _GNU_SOURCE
#include <shmem.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { BATCHES = 11, BURST = 4096, WORDS = 8 << 20 };

static int me, peer;
static double budget_ns = 100e6;
static uint64_t *words, *over; /* symmetric */
static double *spent;          /* by the target, read by PE 0 */
static uint64_t from[BURST], dice = 88172645463325252u;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Seconds of processor time of all threads. */
static double used(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* A random number (xorshift). */
static uint64_t roll(void)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    return dice ^= dice << 17;
}

/* n bursts of puts of a word each, to random words, each with a quiet. */
static void random_words(long n)
{
    while (n--) {
        for (int i = 0; i < BURST; i++)
            shmem_uint64_put_nbi(&words[roll() % WORDS], &from[i], 1, peer);
        shmem_quiet();
    }
}

static size_t at; /* where the next burst goes */

/* n bursts of puts to successive words, each with a quiet. */
static void successive_words(long n)
{
    while (n--) {
        for (int i = 0; i < BURST; i++)
            shmem_uint64_put_nbi(&words[at + (size_t)i], &from[i], 1, peer);
        shmem_quiet();
        at = (at + BURST) % WORDS;
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Millions of puts a second: the median of BATCHES batches, of twice as many bursts as took half of
 * a batch's share of the budget. */
static double rate(void (*op)(long))
{
    double v[BATCHES];
    long n = 1;
    for (double t = 0; t < budget_ns / BATCHES / 2; n *= 2) {
        t = now();
        op(n);
        t = now() - t;
    }
    for (int b = 0; b < BATCHES; b++) {
        double t = now();
        op(n);
        v[b] = n * (double)BURST * 1e3 / (now() - t);
    }
    qsort(v, BATCHES, sizeof *v, ascending);
    return v[BATCHES / 2];
}

static void row(const char *metric, size_t size, double value, const char *unit)
{
    printf("%s\t%zu\t%.6g\t%s\n", metric, size, value, unit);
    fflush(stdout);
}

/* Prints the target's processor time for a million puts, and the caller's. Both PEs call it. */
static void served(const char *name, void (*op)(long))
{
    char metric[64];
    long n = (long)(budget_ns / 1e9 * 200e3 / BURST) + 1; /* bursts, at 200,000 puts a second */
    shmem_barrier_all();
    double mine = used();
    if (me == 0) {
        op(n);
        shmem_uint64_p(over, 1, peer);
        shmem_quiet();
    } else {
        /* Sleeps, and reads its own memory every 5 ms, without a call of the library. */
        const struct timespec nap = {.tv_nsec = 5000000};
        while (*(volatile uint64_t *)over == 0)
            nanosleep(&nap, NULL);
        *over = 0;
    }
    mine = used() - mine;
    *spent = mine;
    shmem_barrier_all();
    if (me == 0) {
        double theirs = shmem_double_g(spent, peer), millions = n * (double)BURST / 1e6;
        snprintf(metric, sizeof metric, "proxy_cpu_%s", name);
        row(metric, 8, theirs / millions, "s/Mop");
        snprintf(metric, sizeof metric, "caller_cpu_%s", name);
        row(metric, 8, mine / millions, "s/Mop");
    }
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    bool asleep = argc > 1 && !strcmp(argv[1], "served");
    if (argc > 1 + asleep)
        budget_ns = atof(argv[1 + asleep]) * 1e6;
    shmem_init();
    me = shmem_my_pe();
    peer = shmem_n_pes() - 1;
    words = shmem_malloc(sizeof *words * WORDS);
    over = shmem_malloc(sizeof *over);
    spent = shmem_malloc(sizeof *spent);
    if (!words || !over || !spent) {
        fprintf(stderr, "words: the symmetric heap has no room for 64 MiB\n");
        shmem_global_exit(2);
    }
    memset(words, 0, sizeof *words * WORDS);
    *over = 0;
    for (int i = 0; i < BURST; i++)
        from[i] = (uint64_t)i + 1;
    shmem_barrier_all();
    if (asleep) {
        served("random", random_words);
        served("successive", successive_words);
    } else if (me == 0) {
        row("put_nbi_random_rate", 8, rate(random_words), "Mop/s");
        row("put_nbi_successive_rate", 8, rate(successive_words), "Mop/s");
    }
    shmem_barrier_all();
    if (me == 0) {
        /* One burst of other values, of which every 64th is read back from the target. */
        size_t start = at;
        double wrong = 0;
        for (int i = 0; i < BURST; i++)
            from[i] = roll();
        successive_words(1);
        for (int i = 0; i < BURST; i += 64)
            wrong += shmem_uint64_g(&words[start + (size_t)i], peer) != from[i];
        row("errors", 0, wrong, "count");
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
