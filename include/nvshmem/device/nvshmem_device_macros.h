/*
 * device/nvshmem_device_macros.h: a name that programs include; its contents are in
 * nvshmem_defines.h.
 */
#ifndef NVSHMEM_DEVICE_NVSHMEM_DEVICE_MACROS_H
#define NVSHMEM_DEVICE_NVSHMEM_DEVICE_MACROS_H

#include "nvshmem_defines.h"

#endif
