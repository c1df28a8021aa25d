/*
 * order.h: fence and quiet, over loads and stores and over the rings together.
 */
#ifndef SHMEM_ORDER_H
#define SHMEM_ORDER_H

#include "route.h"

#ifdef __CUDACC__

SHMEMI_D void shmemi_check_init(const struct shmemi_device_image *image, uint32_t call)
{
    if (image->job.n_pes == 0)
        shmemi_fault(image, SHMEMI_FAULT_INIT, call, -1, 0, 0);
}

/* The ring that this thread flushes. Any would do; its own is the least shared. */
SHMEMI_D uint32_t shmemi_own_ring(const struct shmemi_device_image *image)
{
    return shmemi_ring_index(&image->job, (uint32_t)image->job.me);
}

/*
 * Puts what happened before, by this thread and by those that it met since,
 * ahead of what it does next, at each PE.
 */
SHMEMI_D void shmemi_fence(const struct shmemi_device_image *image, uint32_t call)
{
    shmemi_check_init(image, call);
    shmemi_fence_system();
    if (image->job.ring_count != 0 &&
        shmemi_ring_fence((const struct shmemi_ring *)image->job.rings, image->job.ring_count,
                          shmemi_own_ring(image), 0) != 0)
        shmemi_end();
}

/* Waits until all of it is complete everywhere. */
SHMEMI_D void shmemi_quiet(const struct shmemi_device_image *image, uint32_t call)
{
    shmemi_check_init(image, call);
    shmemi_complete_system();
    if (image->job.ring_count != 0 &&
        shmemi_ring_quiet((const struct shmemi_ring *)image->job.rings, image->job.ring_count,
                          shmemi_own_ring(image), 0) != 0)
        shmemi_end();
}

#endif

#endif
