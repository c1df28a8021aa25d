/*
 * host/nvshmem_coll_api.h: collectives that host code calls.
 */
#ifndef NVSHMEM_HOST_NVSHMEM_COLL_API_H
#define NVSHMEM_HOST_NVSHMEM_COLL_API_H

#include "nvshmem_api.h"

/* Where kernels have names, too, device/nvshmem_coll_defines.cuh has it for both sides. */
#if !defined(__CUDACC__) || defined(NVSHMEM_HOSTLIB_ONLY)
/* The older name of nvshmem_team_sync. */
static inline int nvshmem_sync(nvshmem_team_t team)
{
    return nvshmem_team_sync(team);
}
#endif

#endif
