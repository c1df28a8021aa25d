/* clock.cuh: the clock of a GPU. */
#ifndef BENCH_GPU_CLOCK_CUH
#define BENCH_GPU_CLOCK_CUH

#include <cstdint>

// Nanoseconds, of one clock for the whole GPU; on the measured GPUs it steps by 32 of them at
// worst, and loops are timed, never single operations.
__device__ __forceinline__ uint64_t clock_ns()
{
    uint64_t t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)::"memory");
    return t;
}

#endif
