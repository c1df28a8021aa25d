/*
 * gpu.cuh: what the files of the program for GPUs share: the operations of a thread, a warp and a
 * block as one template each, and the makers of figures.
 */
#ifndef PERF_GPU_CUH
#define PERF_GPU_CUH

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

#include "perf.h"

#ifdef PERF_NVSHMEM
#include "nvshmem_names.h" // after shmem.h
#else
#include <shmem/shmem.cuh>
#include <shmemx.h>
#endif

// The threads that make one call together.
enum scope_kind { THREAD, WARP, BLOCK };

const int block_threads = 1024; // of a block in the scope BLOCK: the most that a GPU allows

// Ends the program if a call of CUDA has failed. `what` names the call for the user.
inline void check_cuda(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "shmem-perf: %s: %s (see nvidia-smi)\n", what, cudaGetErrorString(status));
    exit(1); // the launcher ends the others; shmem_init may not have been called
}

// Synchronises the threads of the scope: returns when all of them have made this call. In the scope
// of one thread it does nothing.
template <scope_kind S> __device__ __forceinline__ void join()
{
    if (S == WARP)
        __syncwarp();
    else if (S == BLOCK)
        __syncthreads();
}

// Puts n bytes by the threads of a scope together: a thread, a warp or a block.
template <scope_kind S>
__device__ __forceinline__ void put(void *to, const void *from, size_t n, int pe)
{
    if (S == THREAD)
        shmem_putmem(to, from, n, pe);
    else if (S == WARP)
        shmemx_putmem_warp(to, from, n, pe);
    else
        shmemx_putmem_block(to, from, n, pe);
}

// Begins a nonblocking put of n bytes by the threads of a scope together.
template <scope_kind S>
__device__ __forceinline__ void put_nbi(void *to, const void *from, size_t n, int pe)
{
    if (S == THREAD)
        shmem_putmem_nbi(to, from, n, pe);
    else if (S == WARP)
        shmemx_putmem_nbi_warp(to, from, n, pe);
    else
        shmemx_putmem_nbi_block(to, from, n, pe);
}

// Begins a nonblocking get of n bytes by the threads of a scope together.
template <scope_kind S>
__device__ __forceinline__ void get_nbi(void *to, const void *from, size_t n, int pe)
{
    if (S == THREAD)
        shmem_getmem_nbi(to, from, n, pe);
    else if (S == WARP)
        shmemx_getmem_nbi_warp(to, from, n, pe);
    else
        shmemx_getmem_nbi_block(to, from, n, pe);
}

// Gets n bytes by the threads of a scope together.
template <scope_kind S>
__device__ __forceinline__ void get(void *to, const void *from, size_t n, int pe)
{
    if (S == THREAD)
        shmem_getmem(to, from, n, pe);
    else if (S == WARP)
        shmemx_getmem_warp(to, from, n, pe);
    else
        shmemx_getmem_block(to, from, n, pe);
}

// Puts n bytes by the threads of a scope together, and then sets the signal word at the PE to a
// value.
template <scope_kind S>
__device__ __forceinline__ void put_signal(void *to, const void *from, size_t n, uint64_t *signal,
                                           uint64_t value, int pe)
{
    if (S == THREAD)
        shmem_putmem_signal(to, from, n, signal, value, SHMEM_SIGNAL_SET, pe);
    else if (S == WARP)
        shmemx_putmem_signal_warp(to, from, n, signal, value, SHMEM_SIGNAL_SET, pe);
    else
        shmemx_putmem_signal_block(to, from, n, signal, value, SHMEM_SIGNAL_SET, pe);
}

// Waits for the completion of the calls of all threads of the scope: after they have made them, the
// first thread calls quiet for all.
template <scope_kind S> __device__ __forceinline__ void quiet()
{
    join<S>();
    if (threadIdx.x == 0)
        shmem_quiet();
    join<S>();
}

// Returns the number of threads in a block of the kernels for a scope.
template <scope_kind S> int threads()
{
    return S == THREAD ? 1 : S == WARP ? 32 : block_threads;
}

// Waits until the kernel that was started last has ended, and ends the program if it failed.
inline void wait_for_kernel(const char *what)
{
    check_cuda(cudaGetLastError(), what);
    check_cuda(cudaDeviceSynchronize(), what);
}

// Returns how many blocks a kernel that puts a window has, one for each operation: as many as the
// settings say, but at most 64 MiB together.
inline int block_count(size_t size)
{
    long fit = (long)(((size_t)64 << 20) / size);
    return (int)(fit < 1 ? 1 : fit < settings.window ? fit : settings.window);
}

// Returns how many operations a window has: one of each block.
inline long window_size(size_t size)
{
    return block_count(size);
}

// Writes each PE's pattern to src, and clears dst, before a figure.
inline void prepare(size_t size)
{
    fill(src, size, me);
    clear(dst, size);
    shmem_barrier_all();
}

// Checks that the last PE was written by PE 0.
inline bool check_origin(size_t size)
{
    return me != npes - 1 || filled(dst, size, 0);
}

// Checks that PE 0 and the last PE have exchanged their patterns.
inline bool check_both(size_t size)
{
    return !acts(BOTH) || filled(dst, size, peer);
}

// Checks that each PE of the second half was written by its partner.
inline bool check_halves(size_t size)
{
    return me < npes - npes / 2 || filled(dst, size, partner);
}

// Checks that PE 0 has read from the last PE.
inline bool check_get(size_t size)
{
    return me != 0 || filled(dst, size, peer);
}

// Makes a figure whose operations are only timed in batches (together), because each batch is one
// kernel or one stream.
inline struct figure make_figure(const char *test, const char *measure, const char *scope,
                                 const char *until, enum kind kind, enum acting acting,
                                 void (*run)(long, size_t))
{
    struct figure f = {};
    f.test = test;
    f.measure = measure;
    f.scope = scope;
    f.until = until;
    f.kind = kind;
    f.acting = acting;
    f.run = run;
    f.together = true;
    return f;
}

// Adds to a figure that src is filled before it, and that the data are checked after it.
inline struct figure with_data(struct figure f, bool (*check)(size_t))
{
    f.prepare = prepare;
    f.check = check;
    return f;
}

// Restricts a figure to the single size `unit`, in bytes, and adds a check of its data, which may
// be NULL.
inline struct figure of_one_size(struct figure f, size_t unit, bool (*check)(size_t))
{
    f.unsized = true;
    f.unit = unit;
    f.check = check;
    return f;
}

extern cudaStream_t stream; // of all figures of streams

void stream_open();

// The figures of other files than device.cu. An empty one ends each table.
const struct figure *stream_figures();
const struct figure *collective_figures();

#endif
