/*
 * cuda_runtime.h: what the collective launches need of CUDA's header, for a compiler of the host.
 * The GPU holds one block of a kernel, and the driver refuses what the program sets.
 */
#ifndef CUDA_RUNTIME_H
#define CUDA_RUNTIME_H

#include <stddef.h>

#define CUDART_VERSION 13000

typedef int cudaError_t;
typedef void *cudaStream_t;
enum {
    cudaSuccess,
    cudaErrorInvalidValue,
    cudaErrorNotSupported,
    cudaErrorLaunchOutOfResources,
    cudaErrorCooperativeLaunchTooLarge
};
enum { cudaDevAttrCooperativeLaunch, cudaDevAttrMultiProcessorCount };
enum { cudaLaunchAttributeCooperative = 2 };

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c)
    {
    }
};
struct cudaFuncAttributes {
    size_t sharedSizeBytes;
    int maxThreadsPerBlock, numRegs;
};
struct cudaLaunchAttribute {
    int id;
    struct {
        int cooperative;
    } val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};

static int held = 1;        /* blocks that the GPU holds */
static cudaError_t refused; /* what launches return, and queries when held is negative */

static inline const char *cudaGetErrorString(cudaError_t)
{
    return "refused";
}
static inline cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return held < 0 ? refused : cudaSuccess;
}
static inline cudaError_t cudaDeviceGetAttribute(int *value, int, int)
{
    *value = 1;
    return cudaSuccess;
}
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *,
                                                                        int, size_t)
{
    *blocks = held;
    return cudaSuccess;
}
static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *kernel, const void *)
{
    *kernel = {16, 512, 128};
    return cudaSuccess;
}
static inline cudaError_t cudaLaunchCooperativeKernel(const void *, dim3, dim3, void **, size_t,
                                                      cudaStream_t)
{
    return refused;
}
static inline cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *, const void *, void **)
{
    return refused;
}

#endif
