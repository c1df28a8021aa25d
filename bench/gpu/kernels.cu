/*
 * kernels.cu: threads of a GPU as producers of the benchmark in bench/ring. It is a shared library
 * that contains CUDA's run time; the caller passes the rings and all other memory of a run.
 *
 * nvcc -shared -Xcompiler -fPIC -Idevice -o libringkernels.so bench/gpu/kernels.cu
 */
#include "../ring/load.h"
extern "C" {
#include "../ring/producer.h"
}

#include <cstdio>
#include <cuda_runtime.h>
#include <ctime>

namespace
{

char error_text[256];

int check(cudaError_t e, const char *call)
{
    if (e == cudaSuccess)
        return 0;
    snprintf(error_text, sizeof error_text, "%s: %s", call, cudaGetErrorString(e));
    return -1;
}
#define CHECK(call)                                                                                \
    do {                                                                                           \
        if (check(call, #call) != 0)                                                               \
            return -1;                                                                             \
    } while (0)

int device_number;
cudaStream_t stream;

__device__ __forceinline__ uint64_t global_ns()
{
    uint64_t t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

__device__ __forceinline__ bool stopped(const struct shmemi_ring *r)
{
    return shmemi_load_far32(&shmemi_progress_of(r)->stopped) != 0;
}

/* Each thread pushes `each` operations of kind LOAD (enum bench_load). WARP: the threads of a warp
 * push together. */
template <int LOAD, bool WARP> __global__ void push(struct bench_target t, uint64_t each)
{
    const struct shmemi_ring r = t.rings[blockIdx.x % t.count];
    uint64_t thread = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint64_t first = thread * each;
    for (uint64_t i = 0; i < each; i++) {
        uint64_t source = bench_source(t.sources, thread, i);
        struct shmemi_words w = bench_words(LOAD, first + i, source);
        if (LOAD == BENCH_PUT) {
            *(volatile uint64_t *)source = i;
            shmemi_before_slots();
        }
        if (WARP)
            shmemi_push_lanes(&r, &w, LOAD == BENCH_PUT ? SHMEMI_SLOTS_PUT : SHMEMI_SLOTS_P);
        else
            shmemi_push(&r, &w, LOAD == BENCH_PUT ? SHMEMI_SLOTS_PUT : SHMEMI_SLOTS_P);
        if (i % BENCH_LOOK == BENCH_LOOK - 1 && stopped(&r))
            return;
    }
}

/* Each thread pushes `each` operations in bursts, which it begins and ends in the ring. */
__global__ void push_bursts(struct bench_target t, uint64_t each)
{
    const struct shmemi_ring r = t.rings[blockIdx.x % t.count];
    uint64_t first = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) * each;
    for (uint64_t i = 0; i < each; i += BENCH_BURST_OPS) {
        struct shmemi_burst b = shmemi_burst_begin(&r, BENCH_BURST_OPS, SHMEMI_SLOTS_P);
        if (!b.open)
            return;
        for (uint32_t k = 0; k < BENCH_BURST_OPS; k++) {
            struct shmemi_words w = bench_words(BENCH_P, first + i + k, 0 /* no source */);
            shmemi_burst_store(&b, k, &w, SHMEMI_SLOTS_P);
        }
        shmemi_burst_end(&b);
    }
}

/* Measures how long one thread waits for the acknowledgement of each of `count` operations, in one
 * of the ways of enum bench_ack (kind). samples gets the clock cycles of each, and after them the
 * cycles and the nanoseconds of all together. */
__global__ void ack(struct bench_target t, int kind, uint32_t count, uint64_t *samples)
{
    const struct shmemi_ring r = t.rings[0];
    uint64_t begin_ns = global_ns(), value;
    long long begin = clock64();
    for (uint64_t i = 0; i < count; i++) {
        long long t0 = clock64();
        if (kind == BENCH_ACK_FETCH) {
            uint32_t at = shmemi_reply_claim(&r, 0 /* where the search begins */);
            if (at == SHMEMI_NO_REPLY)
                return;
            uint32_t turn = shmemi_reply_turn(&r, at);
            /* dest and value are i. Consumers reply with dest, so the operation has no kind (0).
             * width 3: 8 bytes; 1: a reply is wanted, in place at. */
            struct shmemi_words w = shmemi_pack_amo_wide(0, 0, i, 0, 3, i, 0, 1, at);
            shmemi_push(&r, &w, SHMEMI_SLOTS_AMO_WIDE);
            if (shmemi_reply_wait(&r, at, turn, &value) != 0)
                return;
        } else {
            struct shmemi_words w = bench_words(BENCH_P, i, 0 /* no source */);
            uint64_t p = shmemi_push(&r, &w, SHMEMI_SLOTS_P);
            if (kind == BENCH_ACK_QUIET) {
                if (shmemi_ring_quiet(&r, 1 /* ring */, 0 /* its number */, 0 /* context */) != 0)
                    return;
            } else if (kind == BENCH_ACK_TAIL) {
                if (shmemi_wait_past(&r, &shmemi_progress_of(&r)->tail, p) != 0)
                    return;
            } else {
                uint32_t polls = 0;
                while ((int64_t)(shmemi_acquire_far(&shmemi_progress_of(&r)->tail) - p) <= 0)
                    if (++polls % BENCH_LOOK == 0 && stopped(&r))
                        return;
            }
        }
        samples[i] = (uint64_t)(clock64() - t0);
    }
    samples[count] = (uint64_t)(clock64() - begin);
    samples[count + 1] = global_ns() - begin_ns;
}

/* Pushes `count` operations, one each period_ps from the time `start` on, each with the time at
 * which it was due. It is launched with blocks of one thread: threads of a warp would wait for each
 * other, and their waits have different lengths. A slot has the logarithm of 4 bytes, and PE and
 * context 0. */
__global__ void paced(struct bench_target t, uint64_t start, uint64_t period_ps, uint64_t count)
{
    const struct shmemi_ring r = t.rings[blockIdx.x % t.count];
    uint32_t pushed = 0;
    for (uint64_t i = blockIdx.x; i < count; i += gridDim.x) {
        uint64_t due = i * period_ps / 1000;
        while (global_ns() < start + due)
            ;
        struct shmemi_words w = shmemi_pack_p(0 /* PE */, 0 /* context */, due, 2, (uint32_t)i);
        shmemi_push(&r, &w, SHMEMI_SLOTS_P);
        if (++pushed % BENCH_LOOK == 0 && stopped(&r))
            return;
    }
}

/* Replies to each number that the host writes to *ask: writes the time to told[1], and then the
 * number to told[0]. Ends if the host writes none for 2 s. */
__global__ void reply_time(volatile uint64_t *ask, volatile uint64_t *told, uint64_t count)
{
    for (uint64_t i = 1; i <= count; i++) {
        uint64_t begin = global_ns();
        while (*ask < i)
            if (global_ns() - begin > 2000000000u)
                return;
        told[1] = global_ns();
        __threadfence_system();
        told[0] = i;
    }
}

uint64_t now()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int gpu_open(int device)
{
    device_number = device;
    CHECK(cudaSetDevice(device));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return 0;
}

const char *gpu_error()
{
    return error_text;
}

/* The functions of the table of producers (producer.h). Each selects the GPU anew, because the
 * caller is a goroutine, which may run on another thread than before. */
int gpu_push(int load, uint32_t blocks, uint32_t threads, uint64_t each,
             const struct bench_target *target)
{
    CHECK(cudaSetDevice(device_number));
    bool warp = threads > 1;
    switch (load) {
    case BENCH_P:
        if (warp)
            push<BENCH_P, true><<<blocks, threads, 0, stream>>>(*target, each);
        else
            push<BENCH_P, false><<<blocks, threads, 0, stream>>>(*target, each);
        break;
    case BENCH_PUT:
        if (warp)
            push<BENCH_PUT, true><<<blocks, threads, 0, stream>>>(*target, each);
        else
            push<BENCH_PUT, false><<<blocks, threads, 0, stream>>>(*target, each);
        break;
    case BENCH_BURST:
        push_bursts<<<blocks, threads, 0, stream>>>(*target, each);
        break;
    default:
        snprintf(error_text, sizeof error_text, "there is no load %d", load);
        return -1;
    }
    CHECK(cudaGetLastError());
    return 0;
}

int gpu_ack(int kind, uint32_t count, const struct bench_target *target, uint64_t *samples)
{
    CHECK(cudaSetDevice(device_number));
    ack<<<1, 1, 0, stream>>>(*target, kind, count, samples);
    CHECK(cudaGetLastError());
    return 0;
}

int gpu_paced(uint64_t start, uint64_t period_ps, uint64_t count, const struct bench_target *target)
{
    CHECK(cudaSetDevice(device_number));
    paced<<<32, 1, 0, stream>>>(*target, start, period_ps, count);
    CHECK(cudaGetLastError());
    return 0;
}

/* Compares the clocks of GPU and host many times, and returns the most exact comparison: the one
 * with the shortest window, the time on the host from the request to the reply. */
int gpu_clock(struct bench_clock *best)
{
    const uint64_t count = 2000;
    static uint64_t *words; /* ask, and in another cache line told */
    CHECK(cudaSetDevice(device_number));
    if (words == nullptr)
        CHECK(cudaHostAlloc((void **)&words, 4096, cudaHostAllocMapped));
    volatile uint64_t *ask = words, *told = words + 64;
    *ask = told[0] = told[1] = 0;
    reply_time<<<1, 1, 0, stream>>>(ask, told, count);
    CHECK(cudaGetLastError());
    best->window = ~(uint64_t)0;
    uint64_t begin = now();
    bool replies = true;
    for (uint64_t i = 1; i <= count && replies; i++) {
        uint64_t t0 = now(), t1;
        __atomic_store_n(ask, i, __ATOMIC_RELEASE);
        do {
            t1 = now();
        } while (__atomic_load_n(&told[0], __ATOMIC_ACQUIRE) < i && t1 - begin < 2000000000u);
        t1 = now();
        replies = __atomic_load_n(&told[0], __ATOMIC_ACQUIRE) >= i;
        if (replies && i > 10 && t1 - t0 < best->window) {
            best->window = t1 - t0;
            best->host = t0 + (t1 - t0) / 2;
            best->own = told[1];
        }
    }
    __atomic_store_n(ask, count, __ATOMIC_RELEASE); /* the kernel ends, also if it begins late */
    CHECK(cudaStreamSynchronize(stream));
    if (!replies) {
        snprintf(error_text, sizeof error_text, "read the GPU's clock: no answer in 2 s");
        return -1;
    }
    return 0;
}

int gpu_wait()
{
    CHECK(cudaSetDevice(device_number));
    CHECK(cudaStreamSynchronize(stream));
    return 0;
}

} // namespace

/* Returns the functions of this library (producer.h). The benchmark opens the library and finds
 * this function by its name (bench/ring/table.c). */
extern "C" const struct bench_producer *bench_gpu(void)
{
    static const struct bench_producer table = {gpu_open,  gpu_error, gpu_push, gpu_ack,
                                                gpu_paced, gpu_clock, gpu_wait};
    return &table;
}
