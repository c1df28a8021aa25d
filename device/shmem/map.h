/*
 * map.h: the choice of a thread's ring, the queue through which it passes operations to the PE's
 * proxy. The caller knows that the job has rings: ring_count is not 0.
 */
#ifndef SHMEM_MAP_H
#define SHMEM_MAP_H

#include "ring.h"

#ifdef __CUDACC__
/* Returns the number of the calling thread's block in its grid. */
static __device__ __forceinline__ uint32_t shmemi_block(void)
{
    return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}

/* Returns the number of warps in the calling thread's block. */
static __device__ __forceinline__ uint32_t shmemi_warps_of_block(void)
{
    return (blockDim.x * blockDim.y * blockDim.z + 31) / 32;
}

/* Returns the number of the calling thread's warp in its grid. */
static __device__ __forceinline__ uint32_t shmemi_warp(void)
{
    uint32_t thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    return shmemi_block() * shmemi_warps_of_block() + thread / 32;
}

/* Returns the number of warps in the grid. */
static __device__ __forceinline__ uint32_t shmemi_warps(void)
{
    return gridDim.x * gridDim.y * gridDim.z * shmemi_warps_of_block();
}

/* Returns the number of the multiprocessor on which the thread runs. It only spreads threads over
 * rings, so no harm is done if the thread runs on another multiprocessor later. */
static __device__ __forceinline__ uint32_t shmemi_multiprocessor(void)
{
    uint32_t n;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(n)); /* may change while a block is preempted */
    return n;
}
#endif

#ifndef __CUDA_ARCH__
/* Returns the number of the calling host thread: 0 for the first thread that calls this function, 1
 * for the next, and so on. */
static inline uint32_t shmemi_thread(void)
{
    static uint32_t threads;
    static __thread uint32_t mine; /* 0: no number yet */
    if (mine == 0)
        mine = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
    return mine - 1;
}
#endif

/*
 * Returns the number of the calling thread's ring for an operation on pe, by SHMEM_RING_MAP_BY.
 * Threads that share a ring share an atomic counter; threads of a warp that push together add to it
 * once. Host threads have no blocks or warps: each has a ring, unless rings go by PE.
 */
SHMEMI_HD uint32_t shmemi_ring_index(const struct shmemi_device_state *s, uint32_t pe)
{
    uint32_t n;
    if (s->ring_map == SHMEMI_MAP_PE)
        return pe % s->ring_count;
#ifdef __CUDA_ARCH__
    switch (s->ring_map) {
    case SHMEMI_MAP_SM:
        n = shmemi_multiprocessor();
        break;
    case SHMEMI_MAP_WARP:
        n = shmemi_warp();
        break;
    default:
        n = shmemi_block();
    }
#else
    n = shmemi_thread();
#endif
    return n % s->ring_count;
}

/* Returns the ring into which the calling thread pushes an operation on PE pe. */
SHMEMI_HD const struct shmemi_ring *shmemi_ring_for(const struct shmemi_device_state *s,
                                                    uint32_t pe)
{
    return (const struct shmemi_ring *)s->rings + shmemi_ring_index(s, pe);
}

#endif
