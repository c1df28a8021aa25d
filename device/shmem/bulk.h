/*
 * bulk.h: bulk copies between the shared memory of a block and global memory, which one thread
 * starts and the Tensor Memory Accelerator (TMA) carries out (sm_90 and later). Addresses and sizes
 * are multiples of 16. In the PTX memory model TMA's accesses go through the async proxy (a term of
 * PTX, not the library's proxy on the host): a fence orders them with the accesses of threads.
 */
#ifndef SHMEM_BULK_H
#define SHMEM_BULK_H

#include "access.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

#define SHMEMI_BULK 1

/* Orders this thread's accesses, and those of threads with which it has synchronised, before later
 * bulk copies. */
SHMEMI_FENCE(shmemi_bulk_fence, "fence.proxy.async")

/* Returns the 32-bit address of shared memory that the instructions of bulk copies take. */
SHMEMI_D uint32_t shmemi_bulk_address(const void *shared)
{
    return (uint32_t)__cvta_generic_to_shared(shared);
}

/* Starts a bulk copy from shared memory to global memory; shmemi_bulk_stored waits for it. */
SHMEMI_D void shmemi_bulk_store(void *to, const void *shared, uint32_t bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
                 "r"(shmemi_bulk_address(shared)), "r"(bytes)
                 : "memory");
}

/*
 * Waits for the copies out of shared memory that this thread has started. The thread then sees what
 * they have written.
 */
SHMEMI_FENCE(shmemi_bulk_stored, "cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0")

/*
 * Initialises a barrier in shared memory for one use: its first phase ends when this thread has
 * arrived and bulk copies have delivered `bytes` bytes. The fence shows the initialised barrier to
 * TMA, which counts the bytes. Other threads may wait for the barrier after a sync with this one.
 */
SHMEMI_D void shmemi_bulk_expect(uint64_t *barrier, uint32_t bytes)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shmemi_bulk_address(barrier))
                 : "memory");
    shmemi_bulk_fence();
    asm volatile(
        "{ .reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1; }" ::"r"(
            shmemi_bulk_address(barrier)),
        "r"(bytes)
        : "memory");
}

/* Starts a bulk copy from global memory into shared memory. The barrier counts its bytes when they
 * have arrived. */
SHMEMI_D void shmemi_bulk_load(void *shared, const void *from, uint32_t bytes, uint64_t *barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "
                 "%2, [%3];" ::"r"(shmemi_bulk_address(shared)),
                 "l"(from), "r"(bytes), "r"(shmemi_bulk_address(barrier))
                 : "memory");
}

/* Waits until all bytes that the barrier expects (shmemi_bulk_expect) have arrived: until the end
 * of its first phase, whose parity is 0. */
SHMEMI_D void shmemi_bulk_await(uint64_t *barrier)
{
    uint32_t done = 0;
    while (done == 0)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; "
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(shmemi_bulk_address(barrier))
                     : "memory");
}

/* Invalidates the barrier, so that its memory may be used for something else. One thread calls it,
 * after all threads have ended their wait. */
SHMEMI_D void shmemi_bulk_end(uint64_t *barrier)
{
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shmemi_bulk_address(barrier))
                 : "memory");
}

#endif

#endif
