package spec

import (
	"slices"
	"strings"
)

// This file has the functions that kernels of programs call that were written for NVSHMEM. They
// call the same templates as Shmem's, and reports of kernels have NVSHMEM's names.

// nvshmemPrivate are the functions that NVSHMEM's library exports besides the public ones: those
// that register a translation unit with kernels, because programs of NVSHMEM link with this library
// alone, and those that NVIDIA's archive of device code calls.
var nvshmemPrivate = []string{
	"nvshmemi_device_register", "nvshmemi_device_unregister",
	"nvshmemid_init_status", "nvshmemid_hostlib_init_attr", "nvshmemid_hostlib_finalize", "nvshmem_selected_device_transport",
	// Programs that nvcc compiles have these inline, from the headers. Other programs may look them
	// up by name.
	"nvshmemx_collective_launch", "nvshmemx_collective_launch_attr", "nvshmemx_collective_launch_query_gridsize",
}

const nvshmemDeviceAbout = `device/nvshmem_defines.h: what kernels call, for programs that were written for NVSHMEM.

The functions are inline, so that a program needs no -rdc and no library of device code.
`

const nvshmemxDeviceAbout = `device/nvshmemx_defines.h: the extensions of NVSHMEM that kernels call.

nvshmemx_<name>_warp and nvshmemx_<name>_block are made by all threads of a warp or a
block together.
`

const nvshmemDeviceTypes = `
#include "../host/nvshmem_api.h"
#include "../host/nvshmemx_api.h"

/* How much shared memory a kernel asks for by nvshmemx_ask_smem. All give 0 here. */
typedef enum {
    NVSHMEMX_SMEM_RECOMMENDED = 0,
    NVSHMEMX_SMEM_MINIMUM = 1,
    NVSHMEMX_SMEM_BARRIERS_ONLY = 2,
    NVSHMEMX_SMEM_AMOUNT_MAX = INT32_MAX
} nvshmemx_smem_amount_t;

#ifdef __CUDACC__
#if defined(__CUDACC_RTC__) && !__has_include(<cuda_fp16.h>)
#error "NVRTC has no cuda_fp16.h: pass the folder of CUDA's headers to nvrtcCompileProgram (-I)"
#endif
#include <cuda_bf16.h>
#include <cuda_fp16.h>
/*
 * Programs rely on what NVSHMEM's own headers include. CUDA 13's libcu++ refuses C++14, and NVRTC
 * finds its headers only in the folder cccl.
 */
#if (__cplusplus >= 201703L || __CUDACC_VER_MAJOR__ < 13) && \
    (!defined(__CUDACC_RTC__) || __has_include(<cuda/std/tuple>))
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
#endif

/* A translation unit reports to libnvshmem_host.so, which passes the report on. */
#ifndef SHMEMI_DEVICE_REGISTER
#define SHMEMI_DEVICE_REGISTER nvshmemi_device_register
#define SHMEMI_DEVICE_UNREGISTER nvshmemi_device_unregister
#endif
/* Installed headers find them by their place, those of the sources by -I. */
#if __has_include("../../shmem/kernels.h")
#include "../../shmem/kernels.h"
#else
#include <shmem/kernels.h>
#endif
#endif
#include "nvshmemi_own.h"
`

const nvshmemxDeviceTypes = `
#include "nvshmem_defines.h"
`

// nvshmemNoKernel names the rows for which NVSHMEM has no function in kernels.
var nvshmemNoKernel = []string{"signal_set", "signal_add", "sync"}

// nvshmemKernels changes the kernel functions of a row to those of NVSHMEM: removes the ones that
// NVSHMEM does not have, and adapts the types of the parameters.
func nvshmemKernels(f *Family) {
	if slices.Contains(nvshmemNoKernel, f.Name) || strings.HasPrefix(f.Name, "eager_") || slices.Contains(notifyNames, f.Name) {
		f.Kernel = nil
	}
	if f.Name == "signal_op" {
		f.Kernel = slices.DeleteFunc(f.Kernel, func(k Kernel) bool { return !k.X })
	}
	for i := range f.Kernel {
		k := &f.Kernel[i]
		k.Contexts = false
		// Every number except NVSHMEM_SIGNAL_SET means an addition. NVSHMEM 3.4.5 did that on a GPU
		// with 0 to 18, -1 and 100, by a thread, a warp, a block and a stream.
		k.Body = strings.ReplaceAll(k.Body, "sig_op", "nvshmemi_signal_of(sig_op)")
		if k.Params == nil {
			k.Params = f.Params
		}
		// NVSHMEM's kernels take the values to compare with by a pointer without const.
		if strings.HasSuffix(f.Name, "_vector") {
			k.Params = slices.Clone(f.Params)
			k.Params[len(k.Params)-1].C = "T *"
		}
		k.Types = slices.Clone(k.Types)
		for j, t := range k.Types {
			// nvshmem_defines.h includes the headers of both types.
			if t.Kind == Late {
				k.Types[j].Kind = Half
			}
		}
	}
}
