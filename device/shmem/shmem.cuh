/*
 * shmem.cuh: the functions that kernels call, complete in this header: no library of device code,
 * no -rdc. Compile with nvcc (C++14 or later) or NVRTC, and link the host's part with -lshmem.
 *
 * A call by a kernel does what the call of the same name in shmem.h does. All threads of a warp or
 * a block make a call of shmemx_<name>_warp or shmemx_<name>_block together. The names are in the
 * zz_*.h that are included below; a context (context.h) may be the first argument.
 *
 * Order and visibility: docs/concepts/memory-model.md.
 */
#ifndef SHMEM_CUH
#define SHMEM_CUH

#include "types.h"

#include <shmem.h>

#ifndef __CUDACC_RTC__
#include <shmemx.h>
#endif

#include "context.h"
#include "launch.h"
#include "queue.h"

#include "zz_atomics.h"
#include "zz_collectives.h"
#include "zz_notify.h"
#include "zz_ordering.h"
#include "zz_reduce.h"
#include "zz_rma.h"
#include "zz_setup.h"
#include "zz_signal.h"
#include "zz_strided.h"
#include "zz_wait.h"

#endif
