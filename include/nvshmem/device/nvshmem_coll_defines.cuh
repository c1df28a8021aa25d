/*
 * device/nvshmem_coll_defines.cuh: collectives that kernels call.
 */
#ifndef NVSHMEM_DEVICE_NVSHMEM_COLL_DEFINES_CUH
#define NVSHMEM_DEVICE_NVSHMEM_COLL_DEFINES_CUH

#include "nvshmem_defines.h"

#if defined(__CUDACC__) && !defined(NVSHMEM_HOSTLIB_ONLY)
/* The older name of nvshmem_team_sync. */
static inline __host__ __device__ int nvshmem_sync(nvshmem_team_t team)
{
    return nvshmem_team_sync(team);
}
#endif

#endif
