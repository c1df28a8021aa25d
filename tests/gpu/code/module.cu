/*
 * module.cu: a kernel that tests/gpu/launch.cu loads while it runs, compiled by nvcc
 * and by NVRTC.
 */
#include <shmem/shmem.cuh>

extern "C" __global__ void shift(int *to)
{
    shmem_int_p(to, shmem_my_pe() + 1, (shmem_my_pe() + 1) % shmem_n_pes());
    shmem_quiet();
}
