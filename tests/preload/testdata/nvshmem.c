/*
 * nvshmem.c: a program of NVSHMEM without kernels, on the host's heap.
 */
#include <nvshmem.h>
#include <stdio.h>

int main(void)
{
    nvshmem_init();
    int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    long *word = nvshmem_calloc(1, sizeof *word);
    nvshmem_barrier_all();
    nvshmem_long_p(word, me + 1, (me + 1) % n);
    nvshmem_barrier_all();
    nvshmem_long_sum_reduce(NVSHMEM_TEAM_WORLD, word, word, 1);
    printf("PE %d: %ld\n", me, *word);
    nvshmem_free(word);
    nvshmem_finalize();
    return 0;
}
