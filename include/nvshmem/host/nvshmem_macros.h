/*
 * host/nvshmem_macros.h: a name that programs include; its contents are in nvshmem_api.h.
 */
#ifndef NVSHMEM_HOST_NVSHMEM_MACROS_H
#define NVSHMEM_HOST_NVSHMEM_MACROS_H

#include "nvshmem_api.h"

#endif
