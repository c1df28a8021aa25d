/*
 * device_host/nvshmem_types.h: types of both sides.
 */
#ifndef NVSHMEM_DEVICE_HOST_NVSHMEM_TYPES_H
#define NVSHMEM_DEVICE_HOST_NVSHMEM_TYPES_H

#include "../host/nvshmem_api.h"

#endif
