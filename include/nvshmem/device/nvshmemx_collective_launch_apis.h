/*
 * device/nvshmemx_collective_launch_apis.h: kernels of which all blocks run at the same time.
 *
 * Where kernels are compiled they are inline: only the CUDA runtime that a translation unit is
 * linked with knows its kernels. Other code calls the library, which takes the runtime that the
 * process has as a shared library (nvcc -cudart shared).
 */
#ifndef NVSHMEM_DEVICE_NVSHMEMX_COLLECTIVE_LAUNCH_APIS_H
#define NVSHMEM_DEVICE_NVSHMEMX_COLLECTIVE_LAUNCH_APIS_H

#ifdef __CUDACC__
#include "nvshmem_defines.h"
#else
#include "../host/nvshmem_api.h"
#endif

#if defined(CUDART_VERSION) && !defined(__CUDACC_RTC__)
/* How a kernel is launched. That its blocks run together is added. */
typedef struct nvshmemx_collective_launch_attr {
    cudaLaunchConfig_t cuda_config;
} nvshmemx_collective_launch_attr_t;
#endif

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
/* The most blocks of a kernel that the current GPU holds at the same time. */
static inline int nvshmemx_collective_launch_query_gridsize(const void *func, dim3 blockDims,
                                                            void **args, size_t sharedMem,
                                                            int *gridsize)
{
    (void)args;
    return shmemi_launch_query(func, blockDims, sharedMem, gridsize,
                               "nvshmemx_collective_launch_query_gridsize");
}

/* Launches a kernel whose blocks all run at the same time. Every PE makes the call. */
static inline int nvshmemx_collective_launch(const void *func, dim3 gridDims, dim3 blockDims,
                                             void **args, size_t sharedMem, cudaStream_t stream)
{
    return shmemi_launch(func, gridDims, blockDims, args, sharedMem, stream,
                         "nvshmemx_collective_launch");
}

/* The same with a configuration of CUDA's, whose attributes are kept. */
static inline int nvshmemx_collective_launch_attr(const nvshmemx_collective_launch_attr_t *attr,
                                                  const void *func, void **args)
{
    static const char call[] = "nvshmemx_collective_launch_attr";
    cudaLaunchAttribute all[33];
    unsigned n = 0;
    int most = 0;
    if (attr == NULL) {
        fprintf(stderr, "shmem: %s: attr is NULL (pass the launch attributes)\n", call);
        return (int)cudaErrorInvalidValue;
    }
    cudaLaunchConfig_t config = attr->cuda_config;
    int rc = shmemi_launch_query(func, config.blockDim, config.dynamicSmemBytes, &most, call);
    if (rc != 0)
        return rc;
    if (config.gridDim.x == 0 && config.gridDim.y == 0 && config.gridDim.z == 0)
        config.gridDim = dim3((unsigned)most, 1, 1);
    if ((unsigned long long)config.gridDim.x * config.gridDim.y * config.gridDim.z >
            (unsigned long long)most ||
        config.numAttrs > 32) {
        fprintf(stderr,
                "shmem: %s: the GPU holds %d of these blocks at the same time (launch fewer or "
                "smaller ones, with at most 32 attributes)\n",
                call, most);
        return (int)cudaErrorCooperativeLaunchTooLarge;
    }
    for (unsigned i = 0; i < config.numAttrs; i++)
        if (config.attrs[i].id != cudaLaunchAttributeCooperative)
            all[n++] = config.attrs[i];
    all[n].id = cudaLaunchAttributeCooperative;
    all[n++].val.cooperative = 1;
    config.attrs = all;
    config.numAttrs = n;
    cudaError_t error = cudaLaunchKernelExC(&config, func, args);
    return error == cudaSuccess ? 0 : shmemi_launch_refuse(error, "launch", call);
}
#elif defined(CUDART_VERSION) && !defined(__CUDACC_RTC__)
#ifdef __cplusplus
extern "C" {
#endif
int nvshmemx_collective_launch_query_gridsize(const void *func, dim3 blockDims, void **args,
                                              size_t sharedMem, int *gridsize);
int nvshmemx_collective_launch(const void *func, dim3 gridDims, dim3 blockDims, void **args,
                               size_t sharedMem, cudaStream_t stream);
int nvshmemx_collective_launch_attr(const nvshmemx_collective_launch_attr_t *attr, const void *func,
                                    void **args);
#ifdef __cplusplus
}
#endif
#endif

#endif
