/*
 * device/nvshmemx_coll_defines.cuh: collectives of warps and blocks.
 */
#ifndef NVSHMEM_DEVICE_NVSHMEMX_COLL_DEFINES_CUH
#define NVSHMEM_DEVICE_NVSHMEMX_COLL_DEFINES_CUH

#include "nvshmemx_defines.h"

#endif
