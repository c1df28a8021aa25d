/*
 * draft.cu: a program as users write it first. One kernel sends and waits for data; the kernel that
 * checks the data is launched for the first time while the first one runs: CUDA then loads it, and
 * executes no other work of the program's context until the first kernel has ended.
 *
 * shmemrun -n N draft
 */
#include "check.h"

#include <shmem/shmem.cuh>

#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime.h>
#include <random>
#include <utility>

namespace
{

constexpr int ROUNDS = 200, MOST = 64 << 10, THREADS = 128;

enum what { BY_THREAD, BY_WARP, BY_BLOCK, ADD, FETCH_ADD, COMPARE_SWAP, WAYS };

struct round_of {
    what way;
    int op;           /* of the signal */
    unsigned bytes;   /* or the number that is added */
    uint64_t signal;  /* the value when this round's signal has arrived */
    uint64_t word[2]; /* the values before and after */
};

__host__ __device__ unsigned char content(int pe, int round, unsigned at)
{
    unsigned x = (unsigned)pe * 0x9e3779b9u + (unsigned)round * 0x85ebca6bu + at;
    x ^= x >> 15;
    x *= 0x2c1b3c6du;
    return (unsigned char)(x >> 13);
}

__global__ void fill(unsigned char *source, int pe, int round)
{
    for (unsigned i = threadIdx.x; i < MOST; i += blockDim.x)
        source[i] = content(pe, round, i);
}

/* mine is this PE's round, theirs the round of the PE that sends here. */
__global__ void send(unsigned char *dest, const unsigned char *source, uint64_t *signal,
                     uint64_t *word, round_of mine, round_of theirs, int to, uint64_t *fetched,
                     unsigned *wrong)
{
    uint64_t with = mine.op == SHMEM_SIGNAL_ADD ? 1 : mine.signal;
    switch (mine.way) {
    case BY_BLOCK:
        shmemx_putmem_signal_block(dest, source, mine.bytes, signal, with, mine.op, to);
        break;
    case BY_WARP:
        if (threadIdx.x < 32)
            shmemx_putmem_signal_warp(dest, source, mine.bytes, signal, with, mine.op, to);
        break;
    default:
        if (threadIdx.x == 0) {
            if (mine.way == BY_THREAD)
                shmem_putmem_signal(dest, source, mine.bytes, signal, with, mine.op, to);
            if (mine.way == ADD)
                shmem_uint64_atomic_add(word, mine.bytes, to), *fetched = mine.word[0];
            if (mine.way == FETCH_ADD)
                *fetched = shmem_uint64_atomic_fetch_add(word, mine.bytes, to);
            if (mine.way == COMPARE_SWAP)
                *fetched = shmem_uint64_atomic_compare_swap(word, mine.word[0], mine.word[1], to);
            if (mine.way >= ADD && *fetched != mine.word[0])
                atomicAdd(wrong, 1u);
        }
    }
    if (threadIdx.x == 0) {
        if (theirs.way <= BY_BLOCK)
            shmem_signal_wait_until(signal, SHMEM_CMP_GE, theirs.signal);
        else
            shmem_uint64_wait_until(word, SHMEM_CMP_GE, theirs.word[1]);
    }
}

/* A new kernel for each round: this process has launched none of them before. */
template <int ROUND>
__global__ void receive(const unsigned char *dest, uint64_t *signal, uint64_t *word,
                        round_of theirs, int from, unsigned *wrong)
{
    if (theirs.way <= BY_BLOCK) {
        if (threadIdx.x == 0)
            shmem_signal_wait_until(signal, SHMEM_CMP_GE, theirs.signal);
        __syncthreads();
        unsigned bad = 0;
        for (unsigned i = threadIdx.x; i < theirs.bytes; i += blockDim.x)
            bad += dest[i] != content(from, ROUND, i);
        if (bad != 0)
            atomicAdd(wrong, bad);
    } else if (threadIdx.x == 0) {
        shmem_uint64_wait_until(word, SHMEM_CMP_GE, theirs.word[1]);
        if (*(volatile uint64_t *)word != theirs.word[1])
            atomicAdd(wrong, 1u);
    }
}

using receiver = void (*)(const unsigned char *, uint64_t *, uint64_t *, round_of, int, unsigned *);

template <int... ROUND> receiver nth(int round, std::integer_sequence<int, ROUND...>)
{
    static const receiver all[] = {receive<ROUND>...};
    return all[round];
}

/* The data of a PE in a round, which both ends compute. */
round_of plan(int pe, int round, uint64_t *signals, uint64_t *word)
{
    std::mt19937 random((unsigned)(pe * 1000 + round));
    round_of r;
    r.way = (what)(round % WAYS);
    r.bytes = 1 + (unsigned)random() % (round % 4 == 0 ? 16u : (unsigned)MOST);
    r.op = (round / WAYS) % 2 != 0 ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET;
    r.word[0] = *word;
    if (r.way <= BY_BLOCK)
        ++*signals;
    else
        *word += r.bytes;
    r.signal = *signals;
    r.word[1] = *word;
    return r;
}

bool loads_lazily()
{
    int (*ask)(int *) = NULL;
    cudaDriverEntryPointQueryResult found;
    int mode = 0;
    CHECK(cudaGetDriverEntryPointByVersion("cuModuleGetLoadingMode", (void **)&ask, 12000,
                                           cudaEnableDefault, &found));
    return ask != NULL && ask(&mode) == 0 && mode == CU_MODULE_LAZY_LOADING;
}

} /* namespace */

int main()
{
    shmem_init();
    const int me = shmem_my_pe(), n = shmem_n_pes(), to = (me + 1) % n, from = (me + n - 1) % n;
    unsigned char *dest = (unsigned char *)shmem_malloc(MOST);
    unsigned char *source = (unsigned char *)shmem_malloc(MOST);
    uint64_t *words = (uint64_t *)shmem_calloc(3, sizeof(uint64_t)); /* signal, word, fetched */
    cudaStream_t sends, receives;
    unsigned *wrong;
    CHECK(cudaStreamCreateWithFlags(&sends, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&receives, cudaStreamNonBlocking));
    CHECK(cudaMallocHost((void **)&wrong, sizeof *wrong));
    *wrong = 0;
    int failed = loads_lazily() ? 0 : 1;
    if (failed)
        printf("PE %d: kernels are not loaded lazily: this shows nothing\n", me);
    shmem_barrier_all();
    uint64_t sent[2] = {0, 0}, came[2] = {0, 0};
    for (int round = 0; round < ROUNDS; round++) {
        round_of mine = plan(me, round, &sent[0], &sent[1]);
        round_of theirs = plan(from, round, &came[0], &came[1]);
        fill<<<1, THREADS, 0, sends>>>(source, me, round);
        send<<<1, THREADS, 0, sends>>>(dest, source, words, words + 1, mine, theirs, to, words + 2,
                                       wrong);
        nth(round, std::make_integer_sequence<int, ROUNDS>{})<<<1, THREADS, 0, receives>>>(
            dest, words, words + 1, theirs, from, wrong);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(receives));
        CHECK(cudaStreamSynchronize(sends));
        if (*wrong != 0) {
            printf("PE %d: round %d, way %d: %u of %u bytes, or a word, are wrong\n", me, round,
                   theirs.way, *wrong, theirs.bytes);
            *wrong = 0;
            failed++;
        }
        shmem_barrier_all();
    }
    printf("draft: PE %d: %d passed, %d failed\n", me, ROUNDS - failed, failed);
    shmem_finalize();
    return failed != 0;
}
