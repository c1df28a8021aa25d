/* check.h: a call of CUDA that fails ends the job of a test, with its name. */
#ifndef TESTS_GPU_CHECK_H
#define TESTS_GPU_CHECK_H

#include <shmem/shmem.cuh>

#include <cstdio>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t e_ = (call);                                                                   \
        if (e_ != cudaSuccess) {                                                                   \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e_));                            \
            shmem_global_exit(1);                                                                  \
        }                                                                                          \
    } while (0)

#endif
