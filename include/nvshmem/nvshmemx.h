/*
 * nvshmemx.h: the extensions, for programs that were written for NVSHMEM.
 */
#ifndef NVSHMEM_NVSHMEMX_H
#define NVSHMEM_NVSHMEMX_H

#include "device_host/nvshmem_tensor.h"
#include "host/nvshmemx_api.h"

#ifndef NVSHMEM_HOSTLIB_ONLY
#include "device/nvshmemx_collective_launch_apis.h"
#endif
#if defined(__CUDACC__) && !defined(NVSHMEM_HOSTLIB_ONLY)
#include "device/nvshmemx_coll_defines.cuh"
#include "device/nvshmemx_defines.h"
#include "device/tile/nvshmemx_tile_api_defines.cuh"
#endif

#endif
