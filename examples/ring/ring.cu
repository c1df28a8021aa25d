/*
 * ring: each PE's kernel writes its number into the memory of the next one, and the host checks the
 * number that its PE has received. ring.c is the same without a GPU.
 *
 *   nvcc -I$PREFIX/include ring.cu -L$PREFIX/lib -lshmem -o ring && shmemrun -n 2 ./ring
 */
#include <shmem/shmem.cuh>

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_ != cudaSuccess) {                                                               \
            fprintf(stderr, "ring: PE %d: %s: %s\n", shmem_my_pe(), #call,                         \
                    cudaGetErrorString(error_));                                                   \
            shmem_global_exit(EXIT_FAILURE);                                                       \
        }                                                                                          \
    } while (0)

/* One-sided: the next PE's kernel makes no call for it. The number has arrived for certain only
 * after a quiet or a barrier, called by the kernel, by the host or on the stream. */
__global__ void pass_on(int *from)
{
    int me = shmem_my_pe();
    shmem_int_p(from, me, (me + 1) % shmem_n_pes());
}

int main()
{
    /* Init also selects the current CUDA device of this thread: the PEs of a node share out its
     * GPUs. */
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), got;

    /* Symmetric memory of the GPU. A PE addresses the int of another PE by that PE's number and its
     * own pointer. */
    int *from = (int *)shmem_calloc(1, sizeof(int));
    if (from == nullptr) {
        fprintf(stderr,
                "ring: PE %d: allocate %zu bytes: the symmetric heap is full "
                "(set SHMEM_SYMMETRIC_SIZE, for example to 1m)\n",
                me, sizeof(int));
        shmem_global_exit(EXIT_FAILURE);
    }

    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    pass_on<<<1, 1, 0, stream>>>(from);
    CHECK(cudaGetLastError());

    /* The barrier is queued on the stream, behind the kernel. It completes the puts of all PEs. */
    shmemx_barrier_all_on_stream(stream);
    CHECK(cudaMemcpyAsync(&got, from, sizeof got, cudaMemcpyDefault, stream));
    CHECK(cudaStreamSynchronize(stream));

    int expected = (me + n - 1) % n;
    printf("PE %d of %d: PE %d wrote to me\n", me, n, got);
    if (got != expected)
        fprintf(stderr, "ring: PE %d: got %d, expected %d\n", me, got, expected);
    CHECK(cudaStreamDestroy(stream));
    shmem_free(from);
    shmem_finalize();
    return got == expected ? EXIT_SUCCESS : EXIT_FAILURE;
}
