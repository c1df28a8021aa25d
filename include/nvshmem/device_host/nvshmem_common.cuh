/*
 * device_host/nvshmem_common.cuh: declarations of both sides, under the name of older releases.
 */
#ifndef NVSHMEM_DEVICE_HOST_NVSHMEM_COMMON_CUH
#define NVSHMEM_DEVICE_HOST_NVSHMEM_COMMON_CUH

#include "../nvshmem_host.h"

#endif
