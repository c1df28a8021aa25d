/*
 * missing_fence.c: PE 0 writes a block into PE 1 and then a number that announces it. A fence
 * between the two is missing, unless the argument asks for it:
 *
 *   shmemrun -n 2 missing_fence            passes: on one host the second write arrives second
 *   shmemrun -n 2 --chaos 1 missing_fence  fails: nothing has ordered the two
 *   shmemrun -n 2 --chaos 1 missing_fence fence
 *
 * The last also sends blocks with a signal, which needs no fence.
 */
#include <shmem.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 16 << 10, ROUNDS = 20 };

static long from[WORDS];

int main(int argc, char **argv)
{
    int fence = argc > 1 && strcmp(argv[1], "fence") == 0;
    shmem_init();
    if (shmem_n_pes() != 2) {
        fprintf(stderr, "missing_fence: needs 2 PEs (shmemrun -n 2 missing_fence)\n");
        shmem_global_exit(2);
    }
    long *block = shmem_calloc(WORDS, sizeof *block), *round = shmem_calloc(1, sizeof *round);
    uint64_t *sig = shmem_calloc(1, sizeof *sig);
    long wrong = 0;
    for (long r = 1; r <= ROUNDS; r++) {
        if (shmem_my_pe() == 0) {
            for (int i = 0; i < WORDS; i++)
                from[i] = r;
            shmem_long_put_nbi(block, from, WORDS, 1);
            if (fence)
                shmem_fence();
            shmem_long_p(round, r, 1);
        } else {
            shmem_long_wait_until(round, SHMEM_CMP_EQ, r);
            for (int i = 0; i < WORDS; i++)
                wrong += block[i] != r;
        }
        shmem_barrier_all();
        if (!fence)
            continue;
        if (shmem_my_pe() == 0) {
            for (int i = 0; i < WORDS; i++)
                from[i] = -r;
            shmem_long_put_signal(block, from, WORDS, sig, (uint64_t)r, SHMEM_SIGNAL_SET, 1);
        } else {
            shmem_signal_wait_until(sig, SHMEM_CMP_EQ, (uint64_t)r);
            for (int i = 0; i < WORDS; i++)
                wrong += block[i] != -r;
        }
        shmem_barrier_all();
    }
    if (wrong > 0) {
        fprintf(stderr, "missing_fence: %ld words were not there when the number was\n", wrong);
        shmem_global_exit(1);
    }
    shmem_finalize();
    return 0;
}
