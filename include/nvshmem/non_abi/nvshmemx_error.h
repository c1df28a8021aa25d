/*
 * non_abi/nvshmemx_error.h: NVSHMEMX_SUCCESS, the errors, and NVSHMEMI_ERROR_PRINT.
 */
#ifndef NVSHMEM_NON_ABI_NVSHMEMX_ERROR_H
#define NVSHMEM_NON_ABI_NVSHMEMX_ERROR_H

#include "../host/nvshmem_api.h"

#endif
