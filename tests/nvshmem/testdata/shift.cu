/*
 * shift.cu: a first program of an NVSHMEM user: each PE puts its number at the next one.
 */
#include <nvshmem.h>
#include <nvshmemx.h>

#include <stdio.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error = (call);                                                                \
        if (error != cudaSuccess)                                                                  \
            NVSHMEMI_ERROR_PRINT("%s\n", cudaGetErrorString(error));                               \
    } while (0)

__global__ void shift(int *destination)
{
    int me = nvshmem_my_pe();
    nvshmem_int_p(destination, me, (me + 1) % nvshmem_n_pes());
}

int main(void)
{
    int got, me, n;
    cudaStream_t stream;

    nvshmem_init();
    me = nvshmem_my_pe();
    n = nvshmem_n_pes();
    CHECK(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE)));
    CHECK(cudaStreamCreate(&stream));
    int *destination = (int *)nvshmem_malloc(sizeof(int));
    shift<<<1, 1, 0, stream>>>(destination);
    nvshmemx_barrier_all_on_stream(stream);
    CHECK(cudaMemcpyAsync(&got, destination, sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("PE %d of %d has %d: %s\n", me, n, got, got == (me + n - 1) % n ? "passed" : "failed");
    nvshmem_free(destination);
    nvshmem_finalize();
    return got != (me + n - 1) % n;
}
