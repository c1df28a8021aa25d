/*
 * nvshmemx.h: the extensions, for programs that were written for NVSHMEM.
 */
#ifndef NVSHMEM_NVSHMEMX_H
#define NVSHMEM_NVSHMEMX_H

#include "host/nvshmemx_api.h"

#endif
