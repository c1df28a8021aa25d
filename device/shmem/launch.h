/*
 * launch.h: launching kernels whose blocks must all run at the same time, because they wait for
 * each other or for other PEs' blocks. It is host code of the translation unit that has the
 * kernels, because only the CUDA runtime with which this unit is linked knows them.
 */
#ifndef SHMEM_LAUNCH_H
#define SHMEM_LAUNCH_H

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#include <cuda_runtime.h>
#include <stdio.h>

/* Prints why a launch failed, and returns the error. call is the function that the program has
 * called, also in the functions below. */
static inline int shmemi_launch_refuse(cudaError_t error, const char *what, const char *call)
{
    fprintf(stderr, "shmem: %s: %s: %s (see the cause)\n", call, what, cudaGetErrorString(error));
    return (int)error;
}

/*
 * Prints why not one block of a kernel runs: it takes too many registers for `threads` threads, or
 * too much shared memory. Returns the error.
 */
static inline int shmemi_launch_none(const void *func, unsigned threads, size_t shared,
                                     const char *call)
{
    struct cudaFuncAttributes kernel;
    cudaError_t error = cudaFuncGetAttributes(&kernel, func);
    if (error != cudaSuccess)
        return shmemi_launch_refuse(error, "ask for a kernel's registers", call);
    if (kernel.maxThreadsPerBlock < (int)threads)
        fprintf(stderr,
                "shmem: %s: a block of %u threads does not run: the kernel takes %d registers a "
                "thread, with which a block has at most %d (compile it with __launch_bounds__(%u), "
                "or launch smaller blocks)\n",
                call, threads, kernel.numRegs, kernel.maxThreadsPerBlock, threads);
    else
        fprintf(stderr,
                "shmem: %s: a block with %zu bytes of shared memory does not run (launch with "
                "less)\n",
                call, shared + kernel.sharedSizeBytes);
    return (int)cudaErrorLaunchOutOfResources;
}

/* Implements shmemx_collective_launch_query_gridsize. */
static inline int shmemi_launch_query(const void *func, dim3 block, size_t shared, int *gridsize,
                                      const char *call)
{
    int device = 0, cooperative = 0, processors = 0, blocks = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess && !cooperative)
        error = cudaErrorNotSupported;
    if (error == cudaSuccess)
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, func, (int)(block.x * block.y * block.z), shared);
    if (error != cudaSuccess)
        return shmemi_launch_refuse(error, "ask how many blocks fit", call);
    *gridsize = blocks * processors;
    return 0;
}

/*
 * Finds the most blocks of a kernel that the current GPU holds at the same time. Returns 0, or an
 * error of CUDA after a message.
 *
 * @func      a __global__ function
 * @block     threads of a block
 * @args      ignored
 * @shared    bytes of dynamic shared memory of a block
 * @gridsize  out: the number of blocks
 */
static inline int shmemx_collective_launch_query_gridsize(const void *func, dim3 block, void **args,
                                                          size_t shared, int *gridsize)
{
    (void)args;
    return shmemi_launch_query(func, block, shared, gridsize,
                               "shmemx_collective_launch_query_gridsize");
}

/* Implements shmemx_collective_launch. */
static inline int shmemi_launch(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
                                cudaStream_t stream, const char *call)
{
    int most = 0;
    int rc = shmemi_launch_query(func, block, shared, &most, call);
    if (rc != 0)
        return rc;
    if (most == 0)
        return shmemi_launch_none(func, block.x * block.y * block.z, shared, call);
    if (grid.x == 0 && grid.y == 0 && grid.z == 0)
        grid = dim3((unsigned)most, 1, 1);
    unsigned long long wanted = (unsigned long long)grid.x * grid.y * grid.z;
    if (wanted > (unsigned long long)most) {
        fprintf(
            stderr,
            "shmem: %s: %llu blocks of %u threads do not run at the same time, the GPU holds %d "
            "of them (launch fewer or smaller blocks)\n",
            call, wanted, block.x * block.y * block.z, most);
        return (int)cudaErrorCooperativeLaunchTooLarge;
    }
    cudaError_t error = cudaLaunchCooperativeKernel(func, grid, block, args, shared, stream);
    return error == cudaSuccess ? 0 : shmemi_launch_refuse(error, "launch", call);
}

/*
 * Launches a kernel whose blocks all run at the same time. Every PE makes the call. Returns 0, or
 * an error of CUDA after a message. A grid of more blocks than the GPU holds is such an error, and
 * nothing is launched.
 *
 * @func    a __global__ function
 * @grid    blocks; 0, 0, 0: as many as fit
 * @block   threads of a block
 * @args    the kernel's arguments, as for cudaLaunchKernel
 * @shared  bytes of dynamic shared memory of a block
 * @stream  a CUDA stream of the current GPU
 */
static inline int shmemx_collective_launch(const void *func, dim3 grid, dim3 block, void **args,
                                           size_t shared, cudaStream_t stream)
{
    return shmemi_launch(func, grid, block, args, shared, stream, "shmemx_collective_launch");
}
#endif

#endif
