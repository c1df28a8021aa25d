/*
 * non_abi/device/threadgroup/nvshmemi_common_device_defines.cuh: an internal header of NVSHMEM that
 * programs name, DeepEP V1 among them. They use nothing of it but what nvshmem.h declares.
 */
#ifndef NVSHMEM_NON_ABI_COMMON_DEVICE_DEFINES_CUH
#define NVSHMEM_NON_ABI_COMMON_DEVICE_DEFINES_CUH

#include "../../../nvshmem.h"

#endif
