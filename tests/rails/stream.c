/*
 * stream.c: the rate at which PE 0 writes to and reads from PE 1, in Mb/s; the data is compared.
 */
#include <shmem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIZE = 1 << 20, BLOCKS = 16, SLOTS = 4 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fill(unsigned char *p, unsigned seed)
{
    for (unsigned i = 0; i < SIZE; i++)
        p[i] = (unsigned char)(i * 7 + (i >> 8) * 13 + seed);
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe();
    unsigned char *there = shmem_malloc((size_t)SLOTS * SIZE);
    unsigned char *mine = malloc((size_t)SLOTS * SIZE), *want = malloc(SIZE);
    int *bad = shmem_calloc(1, sizeof(*bad));
    if (there == NULL || mine == NULL || want == NULL || bad == NULL)
        shmem_global_exit(3);
    for (unsigned s = 0; s < SLOTS; s++)
        fill(mine + (size_t)s * SIZE, s + 1);
    shmem_barrier_all();
    double start = now();
    if (me == 0) {
        for (int i = 0; i < BLOCKS; i++) {
            size_t at = (size_t)(i % SLOTS) * SIZE;
            shmem_putmem_nbi(there + at, mine + at, SIZE, 1);
        }
        shmem_quiet();
        printf("put %.1f Mb/s\n", 8.0 * SIZE * BLOCKS / (now() - start) / 1e6);
    }
    shmem_barrier_all();
    for (unsigned s = 0; me == 1 && s < SLOTS; s++) {
        unsigned char *at = there + (size_t)s * SIZE;
        fill(want, s + 1);
        if (memcmp(at, want, SIZE) != 0)
            shmem_int_atomic_inc(bad, 0);
        fill(at, s + 100);
    }
    shmem_barrier_all();
    start = now();
    if (me == 0) {
        for (int i = 0; i < BLOCKS; i++) {
            size_t at = (size_t)(i % SLOTS) * SIZE;
            shmem_getmem_nbi(mine + at, there + at, SIZE, 1);
        }
        shmem_quiet();
        printf("get %.1f Mb/s\n", 8.0 * SIZE * BLOCKS / (now() - start) / 1e6);
        for (unsigned s = 0; s < SLOTS; s++) {
            fill(want, s + 100);
            *bad += memcmp(mine + (size_t)s * SIZE, want, SIZE) != 0;
        }
        printf("%d blocks are wrong\n", *bad);
    }
    int status = *bad != 0;
    shmem_finalize();
    return status;
}
