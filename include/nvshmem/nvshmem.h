/*
 * nvshmem.h: for programs that were written for NVSHMEM. It declares the host functions of
 * libnvshmem_host.so and, for nvcc, the functions of kernels, unless NVSHMEM_HOSTLIB_ONLY is
 * defined.
 */
#ifndef NVSHMEM_NVSHMEM_H
#define NVSHMEM_NVSHMEM_H

#include "nvshmem_host.h"

#if defined(__CUDACC__) && !defined(NVSHMEM_HOSTLIB_ONLY)
#include "device/nvshmem_device_macros.h"
#include "device/nvshmem_coll_defines.cuh"
#include "device/nvshmem_defines.h"
/* Programs call the extensions of kernels behind this header alone. */
#include "device/nvshmemx_coll_defines.cuh"
#include "device/nvshmemx_defines.h"
#endif

#endif
