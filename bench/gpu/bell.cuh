/*
 * bell.cuh: notices between a kernel and a host thread without a library: words that one stores and
 * the other waits for.
 */
#ifndef BENCH_GPU_BELL_CUH
#define BENCH_GPU_BELL_CUH

#include "clock.cuh"

// The notice of a kernel that has waited in vain.
const uint64_t gave_up = ~uint64_t(0);

__device__ __forceinline__ void ring(uint64_t *bell, uint64_t value)
{
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(bell), "l"(value) : "memory");
}

// False if nothing arrived for two seconds.
__device__ __forceinline__ bool await(const uint64_t *signal, uint64_t value)
{
    for (uint64_t begin = clock_ns(), spins = 0;;) {
        uint64_t v;
        asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(signal) : "memory");
        if (v >= value)
            return true;
        if (++spins % 65536 == 0 && clock_ns() - begin > 2000000000ull)
            return false;
    }
}

#endif
