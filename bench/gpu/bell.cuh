/*
 * bell.cuh: a kernel notifies a host thread, or another kernel, without a library: by a word (bell)
 * that one side stores and for which the other one waits.
 */
#ifndef BENCH_GPU_BELL_CUH
#define BENCH_GPU_BELL_CUH

#include "clock.cuh"

// The value that a kernel stores when a wait of its own has timed out.
const uint64_t gave_up = ~uint64_t(0);

// Stores a value to a bell, after all earlier writes of the thread.
__device__ __forceinline__ void ring(uint64_t *bell, uint64_t value)
{
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(bell), "l"(value) : "memory");
}

// Waits until a word is at least value. False: it was not within two seconds.
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
