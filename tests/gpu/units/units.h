/*
 * units.h: a kernel of each translation unit, and how its host code starts it.
 */
#ifndef TESTS_GPU_UNITS_H
#define TESTS_GPU_UNITS_H

#include <shmem/shmem.cuh>

#include <cuda_runtime.h>

/* The words that a unit's kernel writes to the next PE: by a thread, and by the block. */
struct unit_words {
    int one, all[100];
};

/* Not only in main's unit: each has a copy, with the state of its own. */
static __global__ void unit_kernel(struct unit_words *to, int *from, int number)
{
    int me = shmem_my_pe(), next = (me + 1) % shmem_n_pes();
    for (int i = (int)threadIdx.x; i < 100; i += (int)blockDim.x)
        from[i] = number * 1000 + me * 100 + i;
    __syncthreads();
    shmemx_int_put_block(to->all, from, 100, next);
    if (threadIdx.x == 0) {
        shmem_int_p(&to->one, number * 10 + me, next);
        shmem_quiet();
    }
}

/* Returns CUDA's error if the kernel cannot be started or stops. In C, to be found by name. */
typedef int (*unit_start)(struct unit_words *to, int *from, int number);

static inline int unit_run(struct unit_words *to, int *from, int number)
{
    unit_kernel<<<1, 64>>>(to, from, number);
    cudaError_t e = cudaGetLastError();
    return (int)(e == cudaSuccess ? cudaDeviceSynchronize() : e);
}

#endif
