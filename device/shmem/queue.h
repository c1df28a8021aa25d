/*
 * queue.h: queues: contexts whose order and completion are their own.
 *
 *   shmemx_putmem_nbi_warp(shmemx_queue(q), dest, source, bytes, pe);    many warps
 *   if (...) {                                                           one that met them
 *       shmem_fence(shmemx_queue(q));
 *       shmem_int_atomic_add(shmemx_queue(q), counter, count, pe);       is behind their bytes
 *   }
 *
 * A queue is one of the PE's rings, of which there are SHMEM_RING_COUNT. Numbers from 0 on name
 * one, whatever the block that asks: one that is greater than there are rings names a ring that
 * has another number, too. PEs that have an address here are reached by it, as in any context.
 */
#ifndef SHMEM_QUEUE_H
#define SHMEM_QUEUE_H

#include "names.h"
#include "route.h"

#ifdef SHMEMI_KERNEL

/*
 * The context of a queue. What threads start in it, of whatever block, is one row, in the order in
 * which they do. A fence in it puts what came before ahead of what comes next, for each PE, and
 * waits for nothing, while a fence of the whole job waits until the proxy has met it. A quiet in
 * it completes what came before. Not for longer than a kernel.
 */
SHMEMI_ONLY shmem_context shmemx_queue(int queue)
    SHMEMI_RUN(shmem_context, shmemi_context_of(shmemi_queue(SHMEMI_JOB, (uint32_t)queue)))

    /*
     * Where the heap of each PE is for loads and stores, or 0: as many numbers as there are PEs.
     * NULL without a job.
     */
    SHMEMI_ONLY const uint64_t *shmemx_heaps(void)
        SHMEMI_RUN(const uint64_t *, (const uint64_t *)SHMEMI_JOB->job.heaps)

#endif

#endif
