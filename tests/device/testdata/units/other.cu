// The other order of the headers.
#include <shmem/shmem.cuh>

#include <shmem.h>

__global__ void shift(int *target, int)
{
    shmemx_int_put_block(target, target + 4, 4, shmem_my_pe());
    shmemx_barrier_all_block();
}

void other(int *target)
{
    shift<<<1, 32>>>(target, shmem_my_pe());
}
