/*
 * full.h: kernels that occupy a whole GPU until a word ends them: all threads that its
 * multiprocessors have room for, and all shared memory, so that no block of another kernel fits
 * beside them.
 */
#ifndef TESTS_GPU_FULL_H
#define TESTS_GPU_FULL_H

#include <chrono>
#include <cuda_runtime.h>

struct full_flags {
    volatile unsigned running, stop;
};

/* One thread reads the flag: if all did, they would take the bus that copies use. */
static __global__ void __launch_bounds__(1024, 2) occupy(struct full_flags *f)
{
    extern __shared__ char taken[];
    if (threadIdx.x == 0) {
        taken[0] = 0;
        atomicAdd_system((unsigned *)&f->running, 1u);
        while (f->stop == 0)
            ;
    }
    __syncthreads();
}

struct full {
    int blocks, threads, shared;
    struct full_flags *flags, *on_gpu;
    cudaStream_t stream;
};

/* All work that takes time or memory happens here. */
static inline cudaError_t full_open(struct full *f, int device)
{
    cudaDeviceProp p;
    cudaError_t e = cudaGetDeviceProperties(&p, device);
    if (e != cudaSuccess)
        return e;
    int fit = 0;
    f->threads = p.maxThreadsPerMultiProcessor / 2;
    f->shared = (int)(p.sharedMemPerMultiprocessor / 2 - p.reservedSharedMemPerBlock);
    e = cudaFuncSetAttribute(occupy, cudaFuncAttributeMaxDynamicSharedMemorySize, f->shared);
    if (e == cudaSuccess)
        e = cudaFuncSetAttribute(occupy, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 cudaSharedmemCarveoutMaxShared);
    if (e == cudaSuccess)
        e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, occupy, f->threads,
                                                          (size_t)f->shared);
    if (e == cudaSuccess && fit != 2)
        e = cudaErrorLaunchOutOfResources;
    f->blocks = 2 * p.multiProcessorCount;
    if (e == cudaSuccess)
        e = cudaStreamCreateWithFlags(&f->stream, cudaStreamNonBlocking);
    if (e == cudaSuccess)
        e = cudaHostAlloc((void **)&f->flags, sizeof *f->flags, cudaHostAllocMapped);
    return e == cudaSuccess ? cudaHostGetDevicePointer((void **)&f->on_gpu, f->flags, 0) : e;
}

/* Returns when all blocks run, which may be after a time slice of another process. */
static inline cudaError_t full_begin(struct full *f)
{
    f->flags->running = f->flags->stop = 0;
    occupy<<<f->blocks, f->threads, f->shared, f->stream>>>(f->on_gpu);
    cudaError_t e = cudaGetLastError();
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (e == cudaSuccess && f->flags->running < (unsigned)f->blocks)
        if (std::chrono::steady_clock::now() > end)
            e = cudaErrorLaunchTimeout;
    if (e != cudaSuccess)
        f->flags->stop = 1;
    return e;
}

static inline cudaError_t full_end(struct full *f)
{
    f->flags->stop = 1;
    return cudaStreamSynchronize(f->stream);
}

#endif
