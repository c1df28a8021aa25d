/*
 * device/nvshmemx_collective_launch_apis.h: kernels of which all blocks run at the same time.
 *
 * They are inline: only the CUDA runtime that a translation unit is linked with knows its kernels.
 */
#ifndef NVSHMEM_DEVICE_NVSHMEMX_COLLECTIVE_LAUNCH_APIS_H
#define NVSHMEM_DEVICE_NVSHMEMX_COLLECTIVE_LAUNCH_APIS_H

#include "nvshmem_defines.h"

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
/* The most blocks of a kernel that the current GPU holds at the same time. */
static inline int nvshmemx_collective_launch_query_gridsize(const void *func, dim3 blockDims,
                                                            void **args, size_t sharedMem,
                                                            int *gridsize)
{
    return shmemx_collective_launch_query_gridsize(func, blockDims, args, sharedMem, gridsize);
}

/* Launches a kernel whose blocks all run at the same time. Every PE makes the call. */
static inline int nvshmemx_collective_launch(const void *func, dim3 gridDims, dim3 blockDims,
                                             void **args, size_t sharedMem, cudaStream_t stream)
{
    return shmemx_collective_launch(func, gridDims, blockDims, args, sharedMem, stream);
}
#endif

#endif
