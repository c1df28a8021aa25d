/*
 * preempted.c: a PE that does three things for some 100 ms each before a call of shmem_fence: it
 * computes on a processor that another thread computes on, it sleeps, and it computes alone. It
 * prints for how long it had no processor during the first.
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

/* Computes for so long, and returns the time without a processor. */
static double compute(double span)
{
    double begin = read_clock(CLOCK_MONOTONIC), had = read_clock(CLOCK_THREAD_CPUTIME_ID), now;
    do
        now = read_clock(CLOCK_MONOTONIC);
    while (now - begin < span);
    return now - begin - (read_clock(CLOCK_THREAD_CPUTIME_ID) - had);
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
    shmem_fence();
    double without = compute(SPAN);
    shmem_fence();
    atomic_store(&over, 1);
    pthread_join(other, NULL);
    sched_setaffinity(0, sizeof all, &all);
    shmem_fence();
    struct timespec nap = {0, (long)SPAN};
    nanosleep(&nap, NULL);
    shmem_fence();
    double alone = compute(SPAN);
    shmem_fence();
    printf("%.3f %.3f\n", without / 1e3, alone / 1e3);
    shmem_finalize();
    return 0;
}
