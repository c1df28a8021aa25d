/*
 * preempted.c: a PE that does three things for some 100 ms each before a call of shmem_fence: it
 * computes on a processor that another thread computes on, it sleeps, and it computes alone. It
 * prints for how long it had no processor before the calls behind the first and the third, at least
 * and at most: other programs may take the processor between a call and the clocks that are read
 * beside it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <shmem.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define SPAN 100e6 /* nanoseconds */

static atomic_int over;

static double read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void compute(double span)
{
    double begin = read_clock(CLOCK_MONOTONIC);
    while (read_clock(CLOCK_MONOTONIC) - begin < span)
        continue;
}

/* How long this thread has had no processor, at least or at most: a thread that loses it between
 * the two clocks reads the second one late. */
static double without_least(void)
{
    double now = read_clock(CLOCK_MONOTONIC);
    return now - read_clock(CLOCK_THREAD_CPUTIME_ID);
}

static double without_most(void)
{
    double had = read_clock(CLOCK_THREAD_CPUTIME_ID);
    return read_clock(CLOCK_MONOTONIC) - had;
}

/* Calls shmem_fence, computes, calls it again, and prints what the second call is to record. */
static void compute_between_calls(void)
{
    double outer = without_least();
    shmem_fence();
    double inner = without_most();
    compute(SPAN);
    inner = without_least() - inner;
    shmem_fence();
    outer = without_most() - outer;
    printf("%.3f %.3f\n", inner / 1e3, outer / 1e3);
}

static void *spin(void *unused)
{
    while (!atomic_load(&over))
        continue;
    return unused;
}

int main(void)
{
    shmem_init();
    /* One processor, also for the thread that is made now. */
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    pthread_t other;
    sched_setaffinity(0, sizeof one, &one);
    pthread_create(&other, NULL, spin, NULL);
    compute(SPAN / 10);
    compute_between_calls();
    atomic_store(&over, 1);
    pthread_join(other, NULL);
    sched_setaffinity(0, sizeof all, &all);
    struct timespec nap = {0, (long)SPAN};
    nanosleep(&nap, NULL);
    compute_between_calls();
    shmem_finalize();
    return 0;
}
