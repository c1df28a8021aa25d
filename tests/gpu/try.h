/*
 * try.h: what the programs share that try each name of the device interface
 * against a model on the CPU. The same text is a CUDA program, and with EMULATED
 * a program of the host, in which threads are the kernels' and the device
 * header's instructions are builtins (tests/device/emulated).
 *
 * All PEs run the same calls. A kernel is one block, of as many threads as the
 * scope needs, the last warp not full.
 */
#ifndef TESTS_GPU_TRY_H
#define TESTS_GPU_TRY_H

#ifdef EMULATED
#include "emulated.h"
#define KERNEL static void
#define STEP static void
#define ANSWER static int
#define BOTH static inline
#define LAUNCH(threads, kernel, ...) emulate(threads, [&] { kernel(__VA_ARGS__); })
#else
#include "check.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <shmem/shmem.cuh>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <vector>
namespace kernels
{
}
#define KERNEL static __global__ void
#define STEP static __device__ __noinline__ void
#define ANSWER static __device__ __noinline__ int
#define BOTH static inline __host__ __device__
#define LAUNCH(threads, kernel, ...)                                                               \
    do {                                                                                           \
        kernel<<<1, threads>>>(__VA_ARGS__);                                                       \
        CHECK(cudaGetLastError());                                                                 \
        CHECK(cudaDeviceSynchronize());                                                            \
    } while (0)
#endif

/* Before a loop around many calls: unrolled, it took the compiler many minutes. */
#ifdef __CUDA_ARCH__
#define ONE_BY_ONE _Pragma("unroll 1")
#else
#define ONE_BY_ONE
#endif

#include "zz_functions.h"

#include <string>

enum { thread, warp, block };

/* How many threads a kernel has for a scope. Threads of the host are dear. */
static inline unsigned threads_of(int scope)
{
#ifdef EMULATED
    return scope == thread ? 1 : scope == warp ? 3 : 5;
#else
    return scope == thread ? 1 : scope == warp ? 32 : 80;
#endif
}

/* Memory of this PE's GPU that is not symmetric. */
static inline char *own_memory(size_t bytes)
{
#ifdef EMULATED
    return (char *)calloc(1, bytes);
#else
    char *p;
    CHECK(cudaMalloc((void **)&p, bytes));
    CHECK(cudaMemset(p, 0, bytes));
    return p;
#endif
}

/*
 * Between this process's memory and memory that kernels use, symmetric or not. A
 * copy of ordinary memory to a GPU returns before it has come there, and another
 * PE's addition would be overwritten by it: 1280 of 12000 were, on 2 H200.
 */
static inline void copy_memory(void *to, const void *from, size_t bytes)
{
#ifdef EMULATED
    memcpy(to, from, bytes);
#else
    CHECK(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
    CHECK(cudaStreamSynchronize(0));
#endif
}

static const char *program;
static int me, pes, next_pe, last_pe, right, wrong;

/* Counts a check; says what was wrong for the first few. */
static inline void expect(bool good, const std::string &what)
{
    if (good) {
        right++;
        return;
    }
    if (wrong++ < 20)
        printf("%s: PE %d: %s\n", program, me, what.c_str());
}

static inline void begin(const char *name)
{
    program = name;
    shmem_init();
#ifdef EMULATED
    emulated_begin();
#endif
    me = shmem_my_pe();
    pes = shmem_n_pes();
    next_pe = (me + 1) % pes;
    last_pe = (me + pes - 1) % pes;
}

static inline int end(void)
{
    shmem_barrier_all();
    printf("%s: PE %d of %d: %d passed, %d failed\n", program, me, pes, right, wrong);
    shmem_finalize();
    return wrong != 0;
}

/* A byte of PE pe's data, for the i-th byte of a place. */
BOTH unsigned char pattern(int pe, int place, size_t i)
{
    return (unsigned char)(pe * 31 + place * 7 + (int)(i % 251) * 13 + 1);
}

#endif
