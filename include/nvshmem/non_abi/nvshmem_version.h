/*
 * non_abi/nvshmem_version.h: the release whose names these are.
 */
#ifndef NVSHMEM_NON_ABI_NVSHMEM_VERSION_H
#define NVSHMEM_NON_ABI_NVSHMEM_VERSION_H

#include "../host/nvshmem_api.h"

#endif
