/*
 * cuda.h: what the device headers use of CUDA's own headers, for clang: qualifiers, the numbers of
 * threads and blocks, and a few functions. With it the headers compile without a CUDA toolkit, and
 * see themselves as NVRTC does: without a C library and without code of the host. Functions whose
 * names begin with __nvvm_ or __builtin_ are clang's.
 */
#ifndef SHMEM_BITCODE_CUDA_H
#define SHMEM_BITCODE_CUDA_H

#define __CUDACC__ 1
#define __CUDACC_RTC__ 1

#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))

typedef decltype(sizeof 0) size_t;
typedef decltype((char *)0 - (char *)0) ptrdiff_t;

/* The element type of maxloc. */
struct __attribute__((aligned(16))) double2 {
    double x, y;
};

/* threadIdx, blockIdx, blockDim and gridDim. They are clang's own, and so is their header. */
#include <__clang_cuda_builtin_vars.h>

/* Barriers and votes of a block and of a warp. clang has __syncthreads itself. */
static __device__ __forceinline__ int __syncthreads_and(int mine)
{
    return __nvvm_bar0_and(mine);
}
static __device__ __forceinline__ void __syncwarp(unsigned mask = ~0u)
{
    __nvvm_bar_warp_sync(mask);
}
static __device__ __forceinline__ int __all_sync(unsigned mask, int mine)
{
    return __nvvm_vote_all_sync(mask, mine);
}
static __device__ __forceinline__ unsigned __ballot_sync(unsigned mask, int mine)
{
    return __nvvm_vote_ballot_sync(mask, mine);
}
static __device__ __forceinline__ unsigned __match_any_sync(unsigned mask, unsigned value)
{
    return __nvvm_match_any_sync_i32(mask, value);
}
static __device__ __forceinline__ unsigned __match_any_sync(unsigned mask, unsigned long long value)
{
    return (unsigned)__nvvm_match_any_sync_i64(mask, (long long)value);
}
static __device__ __forceinline__ unsigned __match_all_sync(unsigned mask, unsigned long long value,
                                                            int *same)
{
    return (unsigned)__nvvm_match_all_sync_i64p(mask, (long long)value, same);
}
static __device__ __forceinline__ int __shfl_sync(unsigned mask, int value, int lane)
{
    return __nvvm_shfl_sync_idx_i32(mask, value, lane, 31 /* the whole warp takes part */);
}
static __device__ __forceinline__ unsigned long long __shfl_sync(unsigned mask,
                                                                 unsigned long long value, int lane)
{
    unsigned low = (unsigned)__shfl_sync(mask, (int)value, lane);
    unsigned high = (unsigned)__shfl_sync(mask, (int)(value >> 32), lane);
    return (unsigned long long)high << 32 | low;
}
static __device__ __forceinline__ unsigned __activemask(void)
{
    unsigned mask;
    asm volatile("activemask.b32 %0;" : "=r"(mask)); /* may change between two calls */
    return mask;
}

/* Counts of bits, and a pause. */
static __device__ __forceinline__ int __popc(unsigned v)
{
    return __builtin_popcount(v);
}
static __device__ __forceinline__ int __ffs(int v)
{
    return __builtin_ffs(v);
}
static __device__ __forceinline__ void __nanosleep(unsigned nanoseconds)
{
    asm volatile("nanosleep.u32 %0;" ::"r"(nanoseconds));
}

/* Reports whether an address is in global memory. */
static __device__ __forceinline__ unsigned __isGlobal(const void *at)
{
    return __nvvm_isspacep_global(at);
}

/* The driver's function for a failed assertion. */
extern "C" __device__ __attribute__((noreturn)) void __assertfail(const char *, const char *,
                                                                  unsigned, const char *, size_t);

#endif
