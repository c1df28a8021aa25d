/*
 * host/nvshmem_macros.h: a name that programs include; what it had is in nvshmem_api.h.
 */
#ifndef NVSHMEM_HOST_NVSHMEM_MACROS_H
#define NVSHMEM_HOST_NVSHMEM_MACROS_H

#include "nvshmem_api.h"

#endif
