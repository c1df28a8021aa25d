/*
 * shift: the kernel of each PE writes its number to the next PE.
 */
#include "check.h"

__global__ void shift(int *box)
{
    int me = nvshmem_my_pe();
    nvshmem_int_p(box, me, (me + 1) % nvshmem_n_pes());
}

int main()
{
    job j;
    int got, *box = (int *)nvshmem_malloc(sizeof(int));
    shift<<<1, 1, 0, j.stream>>>(box);
    nvshmemx_barrier_all_on_stream(j.stream); /* completes what all PEs have put */
    CHECK(cudaMemcpyAsync(&got, box, sizeof got, cudaMemcpyDefault, j.stream));
    CHECK(cudaStreamSynchronize(j.stream));
    nvshmem_free(box);
    return j.says(got == (j.me + j.n - 1) % j.n, "PE %d wrote to me", got);
}
