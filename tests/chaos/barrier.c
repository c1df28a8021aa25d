/*
 * barrier.c: each PE writes a block into a PE to which it sends no message in a barrier of four
 * hosts: those go to the next PE and to the one after it. Behind the barrier the block has arrived.
 *
 *   shmemrun -n 4 --chaos 1 barrier
 */
#include <shmem.h>
#include <stdio.h>

enum { WORDS = 4 << 10, ROUNDS = 20, PES = 4 };

static long from[WORDS];

int main(void)
{
    shmem_init();
    if (shmem_n_pes() != PES) {
        fprintf(stderr, "barrier: needs %d PEs (shmemrun -n %d barrier)\n", PES, PES);
        shmem_global_exit(2);
    }
    int me = shmem_my_pe();
    long *block = shmem_calloc(WORDS, sizeof *block);
    long wrong = 0;
    for (long r = 1; r <= ROUNDS; r++) {
        for (int i = 0; i < WORDS; i++)
            from[i] = r;
        shmem_long_put_nbi(block, from, WORDS, (me + 3) % PES);
        shmem_barrier_all();
        for (int i = 0; i < WORDS; i++)
            wrong += block[i] != r;
        shmem_barrier_all();
    }
    if (wrong > 0) {
        fprintf(stderr, "barrier: PE %d: %ld words were not there behind it\n", me, wrong);
        shmem_global_exit(1);
    }
    shmem_finalize();
    return 0;
}
