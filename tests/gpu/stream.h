/*
 * stream.h: the shared parts of the programs that test host calls: PEs with a GPU and a stream
 * each, and a count of correct results.
 */
#ifndef TESTS_GPU_STREAM_H
#define TESTS_GPU_STREAM_H

#include "check.h"

#include <shmem/shmem.cuh>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <string>
#include <vector>

namespace
{

int me, n, wrong, right;
cudaStream_t stream;

inline void expect(const std::string &what, bool good)
{
    if (good) {
        right++;
    } else if (wrong++ < 20) {
        printf("PE %d: %s\n", me, what.c_str());
    }
}

/* Shows the time of each step, and the step in which a program hung. */
inline void stage(const char *name)
{
    static const auto begin = std::chrono::steady_clock::now();
    std::chrono::duration<double> s = std::chrono::steady_clock::now() - begin;
    if (me == 0)
        fprintf(stderr, "%s after %.1f s\n", name, s.count());
}

inline void done()
{
    CHECK(cudaStreamSynchronize(stream));
}

template <class T> std::vector<T> have(const void *at, size_t count)
{
    std::vector<T> v(count);
    done();
    CHECK(cudaMemcpyAsync(v.data(), at, count * sizeof(T), cudaMemcpyDefault, stream));
    done();
    return v;
}

/* Selects a GPU for each PE, if there are any, before the library does. */
inline void begin()
{
    int gpus = 0;
    const char *pe = getenv("SHMEM_LAUNCHER_PE");
    CHECK(cudaGetDeviceCount(&gpus));
    CHECK(cudaSetDevice((pe != nullptr ? atoi(pe) : 0) % gpus));
    CHECK(cudaFree(nullptr));
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
}

inline int end()
{
    stage("end");
    printf("PE %d of %d: %d passed, %d failed\n", me, n, right, wrong);
    shmem_barrier_all();
    shmem_finalize();
    return wrong != 0;
}

} // namespace

#endif
