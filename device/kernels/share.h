/*
 * share.h: the parts that the library's own kernels share: the job, the test for the last of
 * several blocks, and a block's share of an array.
 *
 * The host passes nothing that changes from call to call, so that a call may be captured in a graph
 * and replayed: the counters of calls are in the GPU's memory. Only one collective of a team runs
 * at a time, as the specification asks, so all collectives of a team use the same words.
 */
#ifndef SHMEM_KERNELS_SHARE_H
#define SHMEM_KERNELS_SHARE_H

#include <shmem/sync.h>

/* The state of the job. The host fills it after it has loaded this file. */
extern "C" {
__constant__ struct shmemi_device_image shmemi_job;
}

/* The most threads with which the library launches its kernels. */
#define SHMEMI_THREADS 512

/*
 * The last part of the world's work memory: the count of packed reductions, and from byte 128 on
 * their words (reduce.h).
 */
struct shmemi_stream_work {
    uint64_t *calls;
    char *lines;
};

/* The last part of the world's work memory, in this PE's heap. */
SHMEMI_D struct shmemi_stream_work shmemi_stream_work(void)
{
    char *base =
        (char *)(uintptr_t)shmemi_job.job.work + shmemi_job.job.work_size - SHMEMI_WORK_STREAM;
    struct shmemi_stream_work w;
    w.calls = (uint64_t *)(void *)base;
    w.lines = base + 128;
    return w;
}

/*
 * Adds 1 to a kernel's count of blocks, or sets it to 0 if it is v, and returns the value before.
 */
SHMEMI_ATOM(shmemi_take_ticket, "atom.acq_rel.gpu.global.inc.u32", uint32_t, uint32_t, "r")

/*
 * Reports whether this block is the last one of the kernel to call this. The last block sees all
 * that the other blocks did before their calls, and passes it on with its own fences. Each block
 * makes a fence of system scope, all at the same time, so that the last one does not wait for the
 * stores of all. If the kernel has only one block, that is the last one, and needs neither.
 */
SHMEMI_D int shmemi_last_block(uint32_t *ticket)
{
    __shared__ uint32_t last;
    __syncthreads();
    if (gridDim.x == 1)
        return 1;
    if (threadIdx.x == 0) {
        shmemi_fence_system();
        last = shmemi_take_ticket(ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    return last != 0;
}

/* Copies a block's share of an array; the shares are multiples of 16 bytes. */
SHMEMI_D void shmemi_copy_share(char *to, const char *from, uint64_t bytes)
{
    uint64_t share = ((bytes + gridDim.x - 1) / gridDim.x + 15) & ~(uint64_t)15;
    uint64_t at = blockIdx.x * share;
    if (to != from && at < bytes)
        shmemi_copy<shmemi_by_block, 0>(to + at, from + at,
                                        share < bytes - at ? share : bytes - at);
}

/*
 * The end of a collective of many blocks whose PEs are all reached directly: the last block signals
 * all PEs that this PE has finished, and waits for their signals.
 */
SHMEMI_D void shmemi_sync_last_block(const struct shmemi_members *m)
{
    if (shmemi_last_block(m->work.ticket))
        shmemi_sync_members<shmemi_by_block, 0>(&shmemi_job, m);
}

#endif
