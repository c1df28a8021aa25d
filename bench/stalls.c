/*
 * stalls: the longest call of a job that makes many different collective calls.
 *
 *   stalls [milliseconds [seed]]       by default 500 and 1
 *
 * Every PE makes the same random calls: barriers, syncs, reductions of 8 bytes to 256 KiB,
 * broadcasts and collects. A thread of each PE wakes every 5 ms: if it wakes late, the machine has
 * stalled, and not the library.
 *
 * Output, from PE 0, tab-separated:   metric  size  value  unit
 * longest_<call> is over all PEs. beat is the longest time between two wakes of the thread, on any
 * PE.
 */
#include <shmem.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BARRIER, SYNC, SUM, BROADCAST, COLLECT, CALLS };
enum { LONGS = 32768, BEAT_MS = 5, ROUND = 20 }; /* ROUND: calls between two checks of the time */
static const char *const names[CALLS] = {"barrier_all", "sync_all", "sum", "broadcast", "fcollect"};

static long *in, *out, *more; /* symmetric: operands; more is for collects, by PE */
static double *report;        /* symmetric: a value of this PE */
static double beat_ms;        /* the longest time between two wakes of the thread beat */
static int over;              /* ends that thread */

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* The thread that wakes every BEAT_MS. main reads beat_ms after it has ended. */
static void *beat(void *unused)
{
    double last = now_ms();
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        struct timespec pause = {.tv_nsec = BEAT_MS * 1000000L};
        nanosleep(&pause, NULL);
        double now = now_ms();
        beat_ms = now - last > beat_ms ? now - last : beat_ms;
        last = now;
    }
    return unused;
}

/* Random numbers below a limit, by a linear congruential generator: the same on all PEs. */
static uint64_t state;
static uint64_t next(uint64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

/* Makes a random call among n PEs, and returns which. Each PE draws the same numbers. A collect has
 * at most 4096 elements of each PE, for which `more` has space. */
static int call(int n)
{
    int which = (int)next(CALLS);
    size_t nelems = (size_t)1 << next(16);
    switch (which) {
    case BARRIER:
        shmem_barrier_all();
        break;
    case SYNC:
        shmem_sync_all();
        break;
    case SUM:
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, out, in, nelems);
        if (out[nelems - 1] != (long)n * (n - 1) / 2) {
            fprintf(stderr, "stalls: a sum is %ld\n", out[nelems - 1]);
            shmem_global_exit(3);
        }
        break;
    case BROADCAST:
        shmem_long_broadcast(SHMEM_TEAM_WORLD, out, in, nelems, (int)next((uint64_t)n));
        break;
    default:
        shmem_long_fcollect(SHMEM_TEAM_WORLD, more, in, nelems < 4096 ? nelems : 4096);
    }
    return which;
}

static double longest[CALLS];
static void note(int which, double took)
{
    longest[which] = took > longest[which] ? took : longest[which];
}

/* The largest value of all PEs, on every PE. */
static double largest(double mine)
{
    double most = mine;
    *report = mine;
    shmem_barrier_all();
    for (int pe = 0; pe < shmem_n_pes(); pe++) {
        double other = shmem_double_g(report, pe);
        most = other > most ? other : most;
    }
    shmem_barrier_all();
    return most;
}

int main(int argc, char **argv)
{
    double budget = argc > 1 ? atof(argv[1]) : 500;
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    in = shmem_malloc(LONGS * sizeof *in);
    out = shmem_malloc(LONGS * sizeof *out);
    more = shmem_malloc(4096 * sizeof *more * (size_t)n);
    report = shmem_malloc(sizeof *report);
    pthread_t thread;
    if (in == NULL || out == NULL || more == NULL || report == NULL ||
        pthread_create(&thread, NULL, beat, NULL) != 0)
        shmem_global_exit(2);
    for (int i = 0; i < LONGS; i++)
        in[i] = me;
    shmem_barrier_all();
    long calls = 0;
    for (double began = now_ms(), spent = 0; spent < budget;) {
        for (int i = 0; i < ROUND; i++) {
            double before = now_ms(), between;
            shmem_sync_all(); /* the next call may write to out, which a PE may still check */
            note(SYNC, (between = now_ms()) - before);
            int which = call(n);
            note(which, now_ms() - between);
            calls++;
        }
        spent = largest(now_ms() - began);
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    for (int i = 0; i < CALLS; i++) {
        double all = largest(longest[i]);
        if (me == 0)
            printf("longest_%s\t0\t%.4g\tms\n", names[i], all);
    }
    double all = largest(beat_ms);
    if (me == 0)
        printf("beat\t0\t%.4g\tms\ncalls\t0\t%ld\tcalls\n", all, calls);
    shmem_finalize();
    return 0;
}
