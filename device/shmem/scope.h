/*
 * scope.h: the threads that carry out an operation together: one thread, or the threads of a warp,
 * of a warpgroup or of a block. All threads of a scope make the call with the same arguments.
 */
#ifndef SHMEM_SCOPE_H
#define SHMEM_SCOPE_H

#include "access.h"

#ifdef SHMEMI_KERNEL

/* Returns the number of the calling thread in its block. */
SHMEMI_D uint32_t shmemi_thread_in_block(void)
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
/* Returns the number of threads of the block. */
SHMEMI_D uint32_t shmemi_threads_of_block(void)
{
    return blockDim.x * blockDim.y * blockDim.z;
}

/* The scope of one thread, which waits for no other. */
struct shmemi_by_thread {
    static constexpr int crowd = 0;      /* whether most threads may have no part in a copy */
    static constexpr uint32_t batch = 8; /* 16-byte loads of a copy that are under way at once */
    /* The number of the calling thread among the threads of the scope. */
    SHMEMI_D uint32_t rank()
    {
        return 0;
    }
    /* The number of threads of the scope. */
    SHMEMI_D uint32_t size()
    {
        return 1;
    }
    /* Waits until all threads of the scope have arrived. Each then sees the earlier writes of the
     * others. */
    SHMEMI_D void sync()
    {
    }
    /* Synchronises the threads of the scope and reports whether mine is not 0 in all of them. */
    SHMEMI_D int all(int mine)
    {
        return mine != 0;
    }
};

/* The scope of the threads of a warp. */
struct shmemi_by_warp {
    static constexpr int crowd = 0;
    static constexpr uint32_t batch = 8;
    SHMEMI_D uint32_t rank()
    {
        return shmemi_thread_in_block() & 31;
    }
    /* The last warp of a block may have fewer lanes. */
    SHMEMI_D uint32_t size()
    {
        uint32_t rest = shmemi_threads_of_block() - (shmemi_thread_in_block() & ~31u);
        return rest < 32 ? rest : 32;
    }
    SHMEMI_D void sync()
    {
        __syncwarp();
    }
    SHMEMI_D int all(int mine)
    {
        uint32_t lanes = size();
        return __all_sync(lanes < 32 ? (1u << lanes) - 1 : ~0u, mine);
    }
};

/* The scope of the threads of a block. */
struct shmemi_by_block {
    static constexpr int crowd = 1;
    static constexpr uint32_t batch = 4;
    SHMEMI_D uint32_t rank()
    {
        return shmemi_thread_in_block();
    }
    SHMEMI_D uint32_t size()
    {
        return shmemi_threads_of_block();
    }
    SHMEMI_D void sync()
    {
        __syncthreads();
    }
    SHMEMI_D int all(int mine)
    {
        return __syncthreads_and(mine);
    }
};

/*
 * The barrier of a warpgroup's threads: four warps of a block, whose threads are a multiple of 128.
 * The first warpgroup of a block uses this one of the block's 16 barriers, and each later warpgroup
 * the barrier with the next lower number; a block has at most eight warpgroups, so the last uses 8.
 * Barrier 0 is __syncthreads. CUTLASS uses 1 to 7 for its own kernels, and leaves those from 8 up
 * to programs. A kernel that uses 15 itself defines a lower number before it includes the headers,
 * with enough numbers below it for the block's warpgroups.
 */
#ifndef SHMEM_WARPGROUP_BARRIER
#define SHMEM_WARPGROUP_BARRIER 15
#endif

/* The scope of the 128 threads of a warpgroup, four warps of a block. It has no all(), which no
 * caller needs. */
struct shmemi_by_warpgroup {
    static constexpr int crowd = 0;
    static constexpr uint32_t batch = 8;
    SHMEMI_D uint32_t rank()
    {
        return shmemi_thread_in_block() & 127;
    }
    SHMEMI_D uint32_t size()
    {
        return 128;
    }
    SHMEMI_D void sync()
    {
        shmemi_sync_four_warps(SHMEM_WARPGROUP_BARRIER - shmemi_thread_in_block() / 128);
    }
};

/*
 * A scope with at most LOADS 16-byte loads under way at once. With eight, those of a thread or a
 * warp take more registers than a block of 1,024 threads has for each.
 */
template <class SCOPE, uint32_t LOADS = 4> struct shmemi_fewer : SCOPE {
    static constexpr uint32_t batch = SCOPE::batch < LOADS ? SCOPE::batch : LOADS;
};

#endif

#endif
