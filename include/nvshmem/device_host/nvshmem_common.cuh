/*
 * device_host/nvshmem_common.cuh: what both sides have, by the name of older releases.
 */
#ifndef NVSHMEM_DEVICE_HOST_NVSHMEM_COMMON_CUH
#define NVSHMEM_DEVICE_HOST_NVSHMEM_COMMON_CUH

#include "../nvshmem_host.h"

#endif
