/*
 * share.h: the parts that the library's own kernels share: the job, the test for the last of
 * several blocks, and copies by several blocks.
 *
 * The host passes nothing that changes from call to call, so that a call may be captured in a graph
 * and replayed: the counters of calls are in the GPU's memory. Only one collective of a team runs
 * at a time, as the specification asks, so all collectives of a team use the same words.
 */
#ifndef SHMEM_KERNELS_SHARE_H
#define SHMEM_KERNELS_SHARE_H

#include <shmem/sync.h>

#include "split.h"

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

/* Returns the last part of the world's work memory, in this PE's heap: the kernels here have it for
 * themselves. */
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
 * Adds 1 to a kernel's count of blocks, or sets the count to 0 if it equals the second argument.
 * Returns the value before.
 */
SHMEMI_ATOM(shmemi_take_ticket, "atom.acq_rel.gpu.global.inc.u32", uint32_t, uint32_t, "r")

/*
 * Reports whether this block is the last one of the kernel to call this. The last block sees all
 * that the other blocks did before their calls, and passes it on with its own fences. Each block
 * makes a fence of system scope, all at the same time, so that the last one does not wait for the
 * stores of all. If the kernel has only one block, that is the last one, without a ticket and a
 * fence. All threads of the block call it and get the same answer.
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

/* Copies one of `shares` equal shares of an array, by all threads of the block. Other blocks copy
 * the other shares. Nothing is copied if source and destination are the same memory. */
SHMEMI_D void shmemi_copy_share(char *to, const char *from, uint64_t bytes, uint32_t share,
                                uint32_t shares)
{
    uint64_t at = shmemi_share_at(bytes, share, shares);
    uint64_t end = shmemi_share_at(bytes, share + 1, shares);
    if (to != from && at < end)
        shmemi_copy<shmemi_by_block, 0 /* FAR */>(to + at, from + at, end - at);
}

/*
 * Copies an array, or with BLOCKS a block of it for each PE, to dest of every PE of a team. All
 * blocks of the kernel call it, and this GPU can address the memory of all PEs of the team, which
 * has at least two: for one PE the host launches no kernel.
 */
template <int BLOCKS>
SHMEMI_D void shmemi_copy_to_all(const struct shmemi_members *m, char *dest, const char *source,
                                 uint64_t bytes)
{
    const uint32_t others = (uint32_t)m->n - 1, parts = shmemi_part_count(others, gridDim.x);
#pragma unroll 1
    for (uint32_t k = blockIdx.x; k < parts; k += gridDim.x) {
        struct shmemi_part p = shmemi_part_at(k, others, gridDim.x);
        int rank = shmemi_rank_after(m->me, (int)p.after, m->n);
        shmemi_copy_share(shmemi_direct(&shmemi_job, dest, shmemi_pe_of(m, rank)),
                          source + (BLOCKS ? (uint64_t)rank * bytes : 0), bytes, p.share, p.shares);
    }
    shmemi_copy_share(dest, source + (BLOCKS ? (uint64_t)m->me * bytes : 0), bytes, blockIdx.x,
                      gridDim.x);
}

/*
 * Ends a collective of many blocks in which this GPU can address the memory of all PEs: the last
 * block signals all PEs that this PE has finished, and waits for their signals.
 */
SHMEMI_D void shmemi_sync_last_block(const struct shmemi_members *m)
{
    if (shmemi_last_block(m->work.ticket))
        shmemi_sync_members<shmemi_by_block, 0 /* COMPLETE */>(&shmemi_job, m);
}

#endif
