/*
 * device_host_transport/nvshmem_common_ibgda.h: an internal header of NVSHMEM that programs name,
 * DeepEP V1 among them. It describes the queues of InfiniBand that a GPU drives itself. There are
 * none here: a program that uses them calls examples/deepep/ibgda_device.cuh in their place.
 */
#ifndef NVSHMEM_DEVICE_HOST_TRANSPORT_COMMON_IBGDA_H
#define NVSHMEM_DEVICE_HOST_TRANSPORT_COMMON_IBGDA_H

#include "../nvshmem_host.h"

#endif
