// Puts and gets by thread, warp and block, as in a bandwidth benchmark.
#include <nvshmem.h>
#include <nvshmemx.h>

__global__ void put_by_block(double *dest, const double *source, size_t nelems, int pe)
{
    size_t each = nelems / gridDim.x, first = each * blockIdx.x;
    nvshmemx_double_put_nbi_block(dest + first, source + first, each, pe);
    if (threadIdx.x == 0)
        nvshmem_quiet();
}

__global__ void put_by_warp(double *dest, const double *source, size_t nelems, int pe)
{
    size_t each = nelems * 32 / blockDim.x, first = each * (threadIdx.x / 32);
    nvshmemx_double_put_nbi_warp(dest + first, source + first, each, pe);
    if (threadIdx.x == 0)
        nvshmem_quiet();
}

__global__ void put_by_thread(double *dest, const double *source, size_t nelems, int pe)
{
    size_t each = nelems / blockDim.x, first = each * threadIdx.x;
    nvshmem_double_put_nbi(dest + first, source + first, each, pe);
    if (threadIdx.x == 0)
        nvshmem_quiet();
}

__global__ void get_by_block(double *dest, const double *source, size_t nelems, int pe)
{
    nvshmemx_double_get_nbi_block(dest, source, nelems, pe);
    if (threadIdx.x == 0)
        nvshmem_quiet();
}

__global__ void get_by_warp(double *dest, const double *source, size_t nelems, int pe)
{
    nvshmemx_double_get_warp(dest, source, nelems, pe);
}

__global__ void get_by_thread(double *dest, const double *source, size_t nelems, int pe)
{
    nvshmem_double_get(dest, source, nelems, pe);
}

__global__ void words(double *dest, const double *source, int pe)
{
    nvshmem_double_p(dest + threadIdx.x, nvshmem_double_g(source + threadIdx.x, pe), pe);
}
