/*
 * check.h: the shared parts of the examples: a PE with its GPU and a stream.
 */
#ifndef EXAMPLES_NVSHMEM_CHECK_H
#define EXAMPLES_NVSHMEM_CHECK_H

#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_ != cudaSuccess) {                                                               \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                          \
                    cudaGetErrorString(error_));                                                   \
            nvshmem_global_exit(EXIT_FAILURE);                                                     \
        }                                                                                          \
    } while (0)

/* A PE uses the GPU with its number on the node; if there are fewer GPUs, some PEs share one. */
struct job {
    int me, n;
    cudaStream_t stream;

    /* joined: the caller has called an init function of NVSHMEM already. */
    explicit job(bool joined = false)
    {
        if (!joined)
            nvshmem_init();
        me = nvshmem_my_pe();
        n = nvshmem_n_pes();
        int gpus;
        CHECK(cudaGetDeviceCount(&gpus));
        CHECK(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % gpus));
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    }

    /* Prints the PE's line, leaves the job and returns the exit status of the program. */
    int says(bool good, const char *format, ...)
    {
        char text[200];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        printf("PE %d of %d: %s: %s\n", me, n, text, good ? "passed" : "failed");
        fflush(stdout);
        CHECK(cudaStreamDestroy(stream));
        nvshmem_finalize();
        return good ? EXIT_SUCCESS : EXIT_FAILURE;
    }
};

#endif
