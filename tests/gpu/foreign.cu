/*
 * foreign.cu: a program whose kernels run on no tested GPU: the Makefile compiles it for a later
 * architecture. Its init must report that.
 */
#include <shmem/shmem.cuh>

#include <cstdio>

__global__ void never(int *to)
{
    shmem_int_p(to, 1, 0);
}

int main(void)
{
    shmem_init();
    int *to = (int *)shmem_malloc(sizeof *to);
    never<<<1, 1>>>(to);
    printf("foreign: the kernel was launched: %s\n", cudaGetErrorString(cudaGetLastError()));
    shmem_finalize();
    return 0;
}
