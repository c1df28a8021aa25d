/* clock.cuh: the clock of a GPU. */
#ifndef BENCH_GPU_CLOCK_CUH
#define BENCH_GPU_CLOCK_CUH

#include <cstdint>

// Nanoseconds of a clock that the whole GPU shares. On the measured GPUs it advances in steps of up
// to 32 ns: time loops by it, never single operations.
__device__ __forceinline__ uint64_t clock_ns()
{
    uint64_t t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)::"memory");
    return t;
}

#endif
