/*
 * preload.c: nanoseconds of a p and of a barrier_all of one PE, the least of some repetitions. It
 * is run without and with libshmem_preload.so (bench/preload.py). One PE, because then the calls
 * take next to nothing, and their difference is what the shim adds.
 */
#include <shmem.h>
#include <stdio.h>
#include <time.h>

enum { CALLS = 20000, REPETITIONS = 40 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void)
{
    static long word;
    double p = 1e9, barrier = 1e9;
    shmem_init();
    int me = shmem_my_pe();
    for (int r = 0; r < REPETITIONS; r++) {
        double start = now();
        for (int i = 0; i < CALLS; i++)
            shmem_long_p(&word, i, me);
        double took = (now() - start) / CALLS;
        p = took < p ? took : p;
        start = now();
        for (int i = 0; i < CALLS; i++)
            shmem_barrier_all();
        took = (now() - start) / CALLS;
        barrier = took < barrier ? took : barrier;
        /* In this pause the shim's writer thread empties the ring of recorded calls. The ring holds
         * more than all calls of a repetition, so no call waits for the writer. */
        struct timespec nap = {0, 100000000};
        nanosleep(&nap, NULL);
    }
    printf("{\"p_ns\": %.1f, \"barrier_all_ns\": %.1f}\n", p, barrier);
    shmem_finalize();
    return 0;
}
