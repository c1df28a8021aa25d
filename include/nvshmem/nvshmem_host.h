/*
 * nvshmem_host.h: the host functions, for programs that were written for NVSHMEM.
 */
#ifndef NVSHMEM_NVSHMEM_HOST_H
#define NVSHMEM_NVSHMEM_HOST_H

#include "host/nvshmem_api.h"
#include "host/nvshmem_coll_api.h"
#include "host/nvshmemx_api.h"

#endif
