/*
 * shift.cu: each PE writes its number to the next, by every simple call: p, put and put with signal
 * by a thread, a warp and a block, with the unit's state and with a context. The whole path to
 * kernels in one short program: when it passes, it makes sense to run the rest of tests/gpu.
 *
 * shmemrun -n 2 shift
 */
#include "check.h"

#include <shmem/shmem.cuh>

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

namespace
{

constexpr int WORDS = 1000; /* of a put; not a multiple of 16 bytes for a block's part */

struct board {
    int plain, context, got, put[3][WORDS], signalled[WORDS];
    uint64_t signal, flag;
    long word;
};

__global__ void shift_plain(board *b)
{
    int me = shmem_my_pe(), next = (me + 1) % shmem_n_pes();
    shmem_int_p(&b->plain, me + 100, next);
    shmem_quiet();
}

__global__ void shift_context(shmem_context ctx, board *b, int me, int next)
{
    shmem_int_p(ctx, &b->context, me + 200, next);
    shmem_quiet(ctx);
}

__global__ void shift_put(board *b, int *source)
{
    int me = shmem_my_pe(), next = (me + 1) % shmem_n_pes();
    for (int i = (int)threadIdx.x; i < WORDS; i += (int)blockDim.x)
        source[i] = me * WORDS + i;
    __syncthreads();
    if (threadIdx.x == 0)
        shmem_int_put(b->put[0], source, WORDS, next);
    if (threadIdx.x < 32)
        shmemx_int_put_warp(b->put[1], source, WORDS, next);
    shmemx_int_put_nbi_block(b->put[2], source, WORDS, next);
    if (threadIdx.x == 0) {
        shmem_quiet();
        shmem_ctx_long_p(SHMEM_CTX_DEFAULT, &b->word, -7, next);
        shmem_fence();
        shmem_signal_add(&b->flag, 3, next);
        shmem_signal_wait_until(&b->flag, SHMEM_CMP_GE, 3);
    }
    __syncthreads();
    shmemx_putmem_signal_block(b->signalled, source, sizeof(int) * WORDS, &b->signal, 5,
                               SHMEM_SIGNAL_SET, next);
    if (threadIdx.x == 0) {
        shmem_uint64_wait_until(&b->signal, SHMEM_CMP_EQ, 5);
        b->got = shmem_int_g(&b->signalled[WORDS - 1], next) + (shmem_ptr(b, me) == b);
    }
}

int wrong, right;

void expect(const char *what, long got, long want)
{
    if (got == want) {
        right++;
        return;
    }
    wrong++;
    printf("shift: PE %d: %s: got %ld, want %ld\n", shmem_my_pe(), what, got, want);
}

} // namespace

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), before = (me + n - 1) % n, next = (me + 1) % n;
    board *b = (board *)shmem_calloc(1, sizeof(board));
    board *have = (board *)calloc(1, sizeof(board));
    int *source;
    CHECK(cudaMalloc((void **)&source, sizeof(int) * WORDS));
    shmem_barrier_all();

    shift_plain<<<1, 1>>>(b);
    CHECK(cudaDeviceSynchronize());
    shift_context<<<1, 1>>>(shmem_ctx(b), b, me, next);
    CHECK(cudaDeviceSynchronize());
    shift_put<<<1, 96>>>(b, source);
    CHECK(cudaDeviceSynchronize());
    shmem_barrier_all();

    CHECK(cudaMemcpy(have, b, sizeof *b, cudaMemcpyDefault));
    expect("p", have->plain, before + 100);
    expect("p with a context", have->context, before + 200);
    expect("p with the default context", have->word, -7);
    for (int i = 0; i < WORDS; i++) {
        expect("put by a thread", have->put[0][i], before * WORDS + i);
        expect("put by a warp", have->put[1][i], before * WORDS + i);
        expect("put by a block", have->put[2][i], before * WORDS + i);
        expect("put with signal", have->signalled[i], before * WORDS + i);
    }
    expect("signal", (long)have->signal, 5);
    expect("g and ptr", have->got, me * WORDS + WORDS - 1 + 1);
    printf("shift: PE %d of %d: %d passed, %d failed\n", me, n, right, wrong);
    shmem_barrier_all();
    shmem_finalize();
    return wrong != 0;
}
