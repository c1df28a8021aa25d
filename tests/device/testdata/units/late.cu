// A library that is loaded later, with a kernel of its own.
#include <shmem/shmem.cuh>

__global__ void add(long *target)
{
    shmem_long_atomic_add(target, 1, 0);
}

extern "C" void late(long *target)
{
    add<<<1, 1>>>(target);
}
