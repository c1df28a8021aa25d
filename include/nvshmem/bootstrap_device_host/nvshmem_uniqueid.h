/*
 * bootstrap_device_host/nvshmem_uniqueid.h: the unique ID.
 */
#ifndef NVSHMEM_BOOTSTRAP_DEVICE_HOST_NVSHMEM_UNIQUEID_H
#define NVSHMEM_BOOTSTRAP_DEVICE_HOST_NVSHMEM_UNIQUEID_H

#include "../host/nvshmem_api.h"

#endif
