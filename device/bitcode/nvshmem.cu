/*
 * nvshmem.cu: the functions of NVSHMEM for kernels as bitcode of LLVM, libnvshmem_device.bc, which
 * Triton and CuTe link into kernels. clang compiles it, without CUDA (rules.mk).
 *
 * The code is that of the headers, whose kernels have the job's state in shmemi_here:
 * nvshmemx_cumodule_init and nvshmemx_culibrary_init fill it in as in any module of a program.
 */
#include "cuda.h"
#include "cuda_bf16.h"
#include "cuda_fp16.h"

#define NVSHMEM_HOSTLIB_ONLY
#include <shmem/kernels.h>

#include <nvshmem/device/nvshmemi_own.h>
#include <nvshmem/host/nvshmemx_api.h>

#include "turns.h"

/*
 * The version of the device code, under NVIDIA's name for it. The patch number is 1,000 more than
 * the version of the state's layout (abi/table), by which the library refuses bitcode of another
 * layout. No release of NVIDIA's has so high a patch number.
 */
extern "C" __constant__ __attribute__((used)) const struct {
    int major, minor, patch;
} nvshmemi_device_lib_version_d = {NVSHMEM_VENDOR_MAJOR_VERSION, NVSHMEM_VENDOR_MINOR_VERSION,
                                   SHMEMI_BITCODE_PATCH};

/* An enum of nvshmem_defines.h. That header is not included, because it defines the functions of
 * this file as inline ones. */
typedef int nvshmemx_smem_amount_t;

#define SHMEMI_BITCODE extern "C" __device__
#include "zz_functions.h"
