/* check.h: ends the job of a test when a call of CUDA fails, with the call's name. */
#ifndef TESTS_GPU_CHECK_H
#define TESTS_GPU_CHECK_H

#ifdef NVSHMEM_NAMES
#include <nvshmem.h>
#include <nvshmemx.h>
#define END_JOB nvshmem_global_exit
#else
#include <shmem/shmem.cuh>
#define END_JOB shmem_global_exit
#endif

#include <cstdio>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t e_ = (call);                                                                   \
        if (e_ != cudaSuccess) {                                                                   \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e_));                            \
            END_JOB(1);                                                                            \
        }                                                                                          \
    } while (0)

#endif
