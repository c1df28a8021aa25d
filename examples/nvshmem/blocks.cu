/*
 * blocks: each block sends its part with a signal, and continues when the part of the same block of
 * the previous PE has arrived. No block waits for all blocks, and the host waits for none.
 */
#include "check.h"

constexpr int BLOCKS = 16, THREADS = 128, PART = 4096, ROUNDS = 20;

__global__ void exchange(int *to, int *from, uint64_t *signals, int *wrong)
{
    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), left = (me + n - 1) % n;
    int *mine = from + blockIdx.x * PART, *theirs = to + blockIdx.x * PART;
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = threadIdx.x; i < PART; i += blockDim.x)
            mine[i] = me * 1000 + round;
        __syncthreads();
        nvshmemx_int_put_signal_block(theirs, mine, PART, signals + blockIdx.x, round,
                                      NVSHMEM_SIGNAL_SET, (me + 1) % n);
        if (threadIdx.x == 0)
            nvshmem_signal_wait_until(signals + blockIdx.x, NVSHMEM_CMP_GE, round);
        __syncthreads();
        for (int i = threadIdx.x; i < PART; i += blockDim.x)
            if (theirs[i] != left * 1000 + round)
                atomicAdd(wrong, 1);
        __syncthreads();
        /* The next part may overwrite this one now: tell the previous PE, which sends it, and wait
         * for the next PE to say the same of the part sent there. */
        if (threadIdx.x == 0) {
            nvshmemx_signal_op(signals + BLOCKS + blockIdx.x, round, NVSHMEM_SIGNAL_SET, left);
            nvshmem_signal_wait_until(signals + BLOCKS + blockIdx.x, NVSHMEM_CMP_GE, round);
        }
        __syncthreads();
    }
}

int main()
{
    job j;
    int *from = (int *)nvshmem_malloc(BLOCKS * PART * sizeof(int));
    int *to = (int *)nvshmem_malloc(BLOCKS * PART * sizeof(int));
    /* For each block the number of the last part that came, and behind these words for each the
     * number of the last part of this PE that the next PE has read. */
    uint64_t *signals = (uint64_t *)nvshmem_calloc(2 * BLOCKS, sizeof(uint64_t));
    int *wrong, got;
    CHECK(cudaMalloc((void **)&wrong, sizeof(int)));
    CHECK(cudaMemset(wrong, 0, sizeof(int)));
    /* Blocks that wait for blocks of another PE must all run at the same time. */
    void *args[] = {&to, &from, &signals, &wrong};
    if (nvshmemx_collective_launch((const void *)exchange, BLOCKS, THREADS, args, 0, j.stream) != 0)
        nvshmem_global_exit(EXIT_FAILURE);
    CHECK(cudaMemcpyAsync(&got, wrong, sizeof got, cudaMemcpyDefault, j.stream));
    CHECK(cudaStreamSynchronize(j.stream));
    nvshmem_free(signals);
    nvshmem_free(to);
    nvshmem_free(from);
    return j.says(got == 0, "%d words of %d rounds are wrong", got, ROUNDS);
}
