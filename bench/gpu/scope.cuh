/*
 * scope.cuh: each operation as a template over its scope: a thread, a warp or a block. So each
 * kernel of the figures is written once for all scopes.
 */
#ifndef BENCH_GPU_SCOPE_CUH
#define BENCH_GPU_SCOPE_CUH

#include <cstddef>
#include <cstdint>

#include "clock.cuh"
#include "names.h"

enum scope { THREAD, WARP, BLOCK };
static const char *const scope_names[] = {"thread", "warp", "block"};

// Returns when all threads of the scope have made this call.
template <scope S> __device__ __forceinline__ void join()
{
    if (S == WARP)
        __syncwarp();
    else if (S == BLOCK)
        __syncthreads();
}

template <scope S> __device__ __forceinline__ void put(void *to, const void *from, size_t n, int pe)
{
    if (S == THREAD)
        shmem_putmem(to, from, n, pe);
    else if (S == WARP)
        shmemx_putmem_warp(to, from, n, pe);
    else
        shmemx_putmem_block(to, from, n, pe);
}

template <scope S>
__device__ __forceinline__ void put_nbi(void *to, const void *from, size_t n, int pe)
{
    if (S == THREAD)
        shmem_putmem_nbi(to, from, n, pe);
    else if (S == WARP)
        shmemx_putmem_nbi_warp(to, from, n, pe);
    else
        shmemx_putmem_nbi_block(to, from, n, pe);
}

template <scope S> __device__ __forceinline__ void get(void *to, const void *from, size_t n, int pe)
{
    if (S == THREAD)
        shmem_getmem(to, from, n, pe);
    else if (S == WARP)
        shmemx_getmem_warp(to, from, n, pe);
    else
        shmemx_getmem_block(to, from, n, pe);
}

template <scope S>
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

#ifndef BENCH_NVSHMEM
template <scope S>
__device__ __forceinline__ void put_notify(void *to, const void *from, size_t n, int counter,
                                           int pe)
{
    if (S == THREAD)
        shmemx_putmem_notify(to, from, n, counter, pe);
    else if (S == WARP)
        shmemx_putmem_notify_warp(to, from, n, counter, pe);
    else
        shmemx_putmem_notify_block(to, from, n, counter, pe);
}
#endif

// One thread makes the call, because quiet acts for the whole PE; join synchronizes the others.
template <scope S> __device__ __forceinline__ void quiet()
{
    join<S>();
    if (threadIdx.x == 0)
        shmem_quiet();
    join<S>();
}

// Waits until a signal is at least value: one thread polls, and the others wait for it.
template <scope S> __device__ __forceinline__ void await(uint64_t *signal, uint64_t value)
{
    if (threadIdx.x == 0)
        shmem_signal_wait_until(signal, SHMEM_CMP_GE, value);
    join<S>();
}

#endif
