/*
 * start.h: starts a program of the folder above with NVIDIA's library, as PES PEs. All have GPU 0.
 * Without ORACLE it is empty.
 */
#ifndef TESTS_GPU_ORACLE_START_H
#define TESTS_GPU_ORACLE_START_H

#ifdef ORACLE

#include "../../../bench/gpu/forked.h"

#include <cuda_runtime.h>

static inline void take_first_gpu(int)
{
    if (cudaSetDevice(0) != cudaSuccess || cudaFree(nullptr) != cudaSuccess)
        end_forked("open GPU 0", cudaGetErrorString(cudaGetLastError()));
}

static inline void oracle_init(void)
{
    const char *pes = getenv("PES");
    start_forked(pes == nullptr ? 1 : atoi(pes), take_first_gpu);
}

#define nvshmem_init oracle_init

#endif
#endif
