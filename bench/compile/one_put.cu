// A kernel of one put.
#include <nvshmem.h>
#include <nvshmemx.h>

__global__ void one_put(int *dest, const int *source, size_t nelems, int pe)
{
    nvshmem_int_put(dest, source, nelems, pe);
}
