/*
 * start.h: two PEs, each with a GPU of its own if there are two.
 *
 * shmemrun starts those of libshmem; those of NVSHMEM start themselves (forked.h). GPUs are
 * assigned by the number of the PE in the job, not on its host, so that the PEs of two simulated
 * hosts also have different GPUs.
 */
#ifndef BENCH_GPU_START_H
#define BENCH_GPU_START_H

#include <cstdlib>

#include "names.h"
#include "rows.h"

// Selects the GPU of a PE and opens it.
static inline void take_gpu(int pe)
{
    int n = 0;
    need(cudaGetDeviceCount(&n), "count GPUs");
    if (n == 0)
        give_up("count GPUs", "there is none");
    need(cudaSetDevice(pe % n), "take GPU");
    need(cudaFree(nullptr), "open GPU");
}

#ifdef BENCH_NVSHMEM

#include "forked.h"

static inline void start()
{
    start_forked(2, take_gpu);
}

#else

static inline void start()
{
    take_gpu(atoi(setting("SHMEM_LAUNCHER_PE", "0")));
    shmem_init();
    if (shmem_n_pes() != 2)
        give_up("start libshmem", "the figures are of 2 PEs (shmemrun -n 2)");
}

#endif

// Symmetric memory; the benchmark ends without it.
static inline void *symmetric(size_t bytes)
{
    void *p = shmem_malloc(bytes);
    if (p == nullptr)
        give_up("allocate symmetric memory", "there is not enough (SHMEM_SYMMETRIC_SIZE)");
    return p;
}

#endif
