/*
 * eager.cuh: eager transfers in kernels: tokens whose signals travel within their bytes, so that
 * nothing follows them (docs/guides/eager.md). shmemx.h describes the calls; all threads of a warp
 * or a block make a call of shmemx_eager_<name>_warp or shmemx_eager_<name>_block together.
 */
#ifndef SHMEM_EAGER_CUH
#define SHMEM_EAGER_CUH

#include "shmem.cuh"

#include "eager.h"

#include "zz_eager.h"

#endif
