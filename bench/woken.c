/*
 * woken: the processor's time that a put takes at a PE that computes.
 *
 * Each 500 us PE 0 puts 8 bytes with a signal to PE 1, which computes and makes no call: each put
 * wakes the thread that serves the network there. PE 1 measures the CPU time of all threads of its
 * process but the one that computes.
 *
 *   woken [puts]        by default 2000
 *
 * Output, from PE 0, tab-separated:   metric  size  value  unit
 */
#define _GNU_SOURCE
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { GAP = 500 }; /* microseconds, as cmd/internal/replay has it */

static double microseconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* The threads that do not compute. */
static double others(void)
{
    return microseconds(CLOCK_PROCESS_CPUTIME_ID) - microseconds(CLOCK_THREAD_CPUTIME_ID);
}

static void put(long puts, uint64_t *word, uint64_t *signal)
{
    double next = microseconds(CLOCK_MONOTONIC);
    for (long i = 1; i <= puts; i++) {
        next += GAP;
        for (double left; (left = next - microseconds(CLOCK_MONOTONIC)) > 0;) {
            struct timespec pause = {.tv_nsec = (long)(left * 1e3)};
            nanosleep(&pause, NULL);
        }
        uint64_t value = (uint64_t)i;
        shmem_putmem_signal(word, &value, sizeof value, signal, value, SHMEM_SIGNAL_SET, 1);
        shmem_quiet();
    }
}

int main(int argc, char **argv)
{
    long puts = argc > 1 ? strtol(argv[1], NULL, 10) : 2000;
    shmem_init();
    int me = shmem_my_pe();
    uint64_t *words = shmem_calloc(2, sizeof *words);
    double *each = shmem_calloc(1, sizeof *each);
    if (words == NULL || each == NULL || puts < 1 || shmem_n_pes() != 2)
        shmem_global_exit(2);
    shmem_barrier_all();
    if (me == 0) {
        put(puts, words, words + 1);
    } else {
        double before = others();
        while (__atomic_load_n(words + 1, __ATOMIC_ACQUIRE) < (uint64_t)puts)
            for (volatile int i = 0; i < 1000; i++)
                continue;
        *each = (others() - before) / (double)puts;
        shmem_putmem(each, each, sizeof *each, 0);
    }
    shmem_barrier_all();
    if (me == 0)
        printf("put_signal_woken_cpu\t8\t%.3f\tus\n", *each);
    shmem_finalize();
}
