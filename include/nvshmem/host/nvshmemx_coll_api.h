/*
 * host/nvshmemx_coll_api.h: collectives on streams.
 */
#ifndef NVSHMEM_HOST_NVSHMEMX_COLL_API_H
#define NVSHMEM_HOST_NVSHMEMX_COLL_API_H

#include "nvshmemx_api.h"

#endif
