/*
 * queue.h: queues: contexts with their own order and completion.
 *
 *   shmemx_putmem_nbi_warp(shmemx_queue(q), dest, source, bytes, pe);    in many warps
 *   if (...) {                                                           after their barrier, one
 *       shmem_fence(shmemx_queue(q));
 *       shmem_int_atomic_add(shmemx_queue(q), counter, count, pe);       arrives after their bytes
 *   }
 *
 * A queue is one of the PE's SHMEM_RING_COUNT rings. Any block may use a queue by its number, from
 * 0 on; numbers beyond the last ring wrap around. Operations on PEs whose heap the GPU has mapped
 * do not use the ring, as in any context.
 */
#ifndef SHMEM_QUEUE_H
#define SHMEM_QUEUE_H

#include "names.h"
#include "path.h"

#ifdef SHMEMI_KERNEL

/*
 * The context of a queue. The operations that threads of any block start in it are in one sequence,
 * in the order in which they start. A fence in it orders its earlier operations before its later
 * ones, for each PE, and does not wait. (shmem_fence() without a context orders the operations of
 * all rings, and waits until the proxy has read it from a ring.) A quiet in it completes its
 * earlier operations. The context is valid until the kernel ends.
 */
SHMEMI_ONLY shmem_context shmemx_queue(int queue)
    SHMEMI_RUN(shmem_context, shmemi_context_of(shmemi_queue(SHMEMI_JOB, (uint32_t)queue)))

    /*
     * The addresses of each PE's heap for loads and stores, or 0: one entry for each PE. NULL
     * without a job.
     */
    SHMEMI_ONLY const uint64_t *shmemx_heaps(void)
        SHMEMI_RUN(const uint64_t *, (const uint64_t *)SHMEMI_JOB->job.heaps)

#endif

#endif
