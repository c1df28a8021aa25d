/*
 * idle: the share of a core that an idle PE uses.
 *
 * For two seconds, PE 0 is asleep in its own code and the other PEs are blocked in a barrier, which
 * PE 0 joins afterwards. A thread of each PE measures the CPU time of all threads of its process
 * over the last of the two seconds: a waiting PE polls for a moment before it sleeps.
 *
 * The argument is a number of puts of 64 KiB that each PE makes to the next one first: what they
 * leave in the library must not keep a thread awake.
 *
 * Output, from PE 0, tab-separated:   metric  size  value  unit
 */
#include <shmem.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BULK = 65536 };

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Sleeps for a second. */
static void pass_second(void)
{
    struct timespec second = {.tv_sec = 1};
    nanosleep(&second, NULL);
}

/* A thread: waits a second, and stores the CPU time of its process in the next one, in percent. */
static void *measure(void *percent)
{
    pass_second();
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
    pass_second();
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    *(double *)percent = 100 * cpu / (seconds(CLOCK_MONOTONIC) - wall);
    return NULL;
}

int main(int argc, char **argv)
{
    long puts = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    double *used = shmem_malloc(sizeof *used); /* percent of one core */
    char *bulk = shmem_calloc(2, BULK);
    if (used == NULL || bulk == NULL)
        shmem_global_exit(2);
    for (long i = 0; i < puts; i++)
        shmem_putmem(bulk, bulk + BULK, BULK, (me + 1) % n);
    /* Start-up work must be over, and every thread of the library have slept once. */
    shmem_barrier_all();
    struct timespec pause = {.tv_nsec = 200000000};
    nanosleep(&pause, NULL);
    shmem_barrier_all();

    pthread_t thread;
    if (pthread_create(&thread, NULL, measure, used) != 0)
        shmem_global_exit(2);
    if (me == 0) {
        pass_second();
        pass_second();
    }
    shmem_barrier_all();
    pthread_join(thread, NULL);
    shmem_barrier_all();
    if (me == 0) {
        double worst = 0;
        for (int pe = 1; pe < n; pe++) {
            double x = shmem_double_g(used, pe);
            if (x > worst)
                worst = x;
        }
        printf("idle_asleep\t0\t%.6g\t%% CPU\n", *used);
        printf("idle_barrier\t0\t%.6g\t%% CPU\n", worst);
    }
    shmem_finalize();
    return 0;
}
