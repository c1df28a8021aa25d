/*
 * try.h: the shared parts of the programs that compare each name of the device interface with a
 * model on the CPU. The same text is a CUDA program, and with EMULATED a program of the host, whose
 * threads run the kernels, with builtins for the device header's instructions
 * (tests/device/emulated).
 *
 * All PEs run the same calls. A kernel is one block, with as many threads as the scope needs, and
 * the last warp is not full.
 *
 * With NVSHMEM_NAMES it is a program of NVSHMEM, with ORACLE one of NVIDIA's library (oracle/).
 * LIB(quiet), LIBX(signal_op) and VALUE(CMP_EQ) are names that differ only in their prefix;
 * zz_functions.h has the names of the surface. In it the name of a called function stands in
 * parentheses, so that a compiler of the host does not look for a function of the host by the types
 * of arguments.
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
#include "oracle/start.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
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

#ifdef NVSHMEM_NAMES
#define LIB(name) nvshmem_##name
#define LIBX(name) nvshmemx_##name
#define VALUE(name) NVSHMEM_##name
#define WORLD ((nvshmem_team_t)NVSHMEM_TEAM_WORLD)
#define NO_TEAM ((nvshmem_team_t)NVSHMEM_TEAM_INVALID)
#else
#define LIB(name) shmem_##name
#define LIBX(name) shmemx_##name
#define VALUE(name) SHMEM_##name
#define WORLD SHMEM_TEAM_WORLD
#define NO_TEAM SHMEM_TEAM_INVALID
#endif

/* Whether a call in a kernel on no team is refused: NVIDIA's takes -1 for an index. */
#ifdef ORACLE
#define REFUSES(call) true
#else
#define REFUSES(call) ((call) != 0)
#endif

#define TEXT(name) TEXT_OF(name)
#define TEXT_OF(name) #name

#include "zz_functions.h"

#include <set>
#include <string>

enum { thread, warp, block };

/* A name of the table, for programs that number the called names as id_NAME. */
struct row {
    int id;
    const char *name;
    size_t bytes; /* of an element */
    int scope;
};
#define ROW(name, T, bytes, scope) {id_##name, #name, bytes, scope},

/* The number of threads of a kernel for a scope; few where each push runs it on the host. */
static inline unsigned threads_of(int scope)
{
#if defined EMULATED && defined FEWER_TYPES
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
 * Between this process's memory and memory that kernels use, symmetric or not. A copy of ordinary
 * memory to a GPU returns before it has arrived, and would overwrite another PE's addition: 1280 of
 * 12000 were, on 2 H200.
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

/* The names that were called and checked. */
static std::set<std::string> names;
static inline void called(const std::string &name)
{
    names.insert(name);
}

/* Counts a check; prints the first few failures. */
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
    LIB(init)();
#ifdef EMULATED
    emulated_begin();
#endif
    me = LIB(my_pe)();
    pes = LIB(n_pes)();
    next_pe = (me + 1) % pes;
    last_pe = (me + pes - 1) % pes;
}

/*
 * Appends the names to the file in CALLED: together the programs call each name of the table.
 */
static inline void save_names(void)
{
    const char *file = getenv("CALLED");
    if (me != 0)
        return;
    printf("%s: %zu names called\n", program, names.size());
    if (file == nullptr)
        return;
    std::string text;
    for (const std::string &name : names)
        text += name + "\n";
    FILE *to = fopen(file, "a");
    bool good = to != nullptr && fwrite(text.data(), 1, text.size(), to) == text.size();
    expect(to != nullptr && fclose(to) == 0 && good, std::string("write the names to ") + file);
}

static inline int end(void)
{
    save_names();
    LIB(barrier_all)();
    printf("%s: PE %d of %d: %d passed, %d failed\n", program, me, pes, right, wrong);
    LIB(finalize)();
    return wrong != 0;
}

/* A byte of PE pe's data, for the i-th byte of a place. */
BOTH unsigned char pattern(int pe, int place, size_t i)
{
    return (unsigned char)(pe * 31 + place * 7 + (int)(i % 251) * 13 + 1);
}

#endif
