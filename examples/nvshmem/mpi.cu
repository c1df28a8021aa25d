/*
 * mpi: the processes of an MPI communicator become PEs, and the kernel of each writes its number to
 * the next one. PEs have the order of the communicator: here MPI_COMM_WORLD's, backwards.
 *
 *   nvcc -I$NVSHMEM_HOME/include $(mpicc --showme:compile) mpi.cu -o mpi \
 *       -L$NVSHMEM_HOME/lib -lnvshmem_host -lmpi
 *   mpirun -n 2 ./mpi
 *
 * Compiled without CUDA, as C++, the host writes the number.
 */
#define OMPI_SKIP_MPICXX 1 /* without Open MPI's C++ classes, which need a library of their own */
#include <mpi.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdio>
#include <cstdlib>

#ifdef __CUDACC__
#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_ != cudaSuccess) {                                                               \
            fprintf(stderr, "mpi: %s: %s\n", #call, cudaGetErrorString(error_));                   \
            nvshmem_global_exit(EXIT_FAILURE);                                                     \
        }                                                                                          \
    } while (0)

__global__ void shift(int *box)
{
    int me = nvshmem_my_pe();
    nvshmem_int_p(box, me, (me + 1) % nvshmem_n_pes());
}
#endif

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Comm backwards;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &backwards);

    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    attr.mpi_comm = &backwards;
    if (nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM, &attr) != 0)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);

    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), before = (me + n - 1) % n, got, told;
#ifdef __CUDACC__
    int gpus;
    cudaStream_t stream;
    CHECK(cudaGetDeviceCount(&gpus));
    CHECK(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % gpus));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
#endif
    int *box = (int *)nvshmem_malloc(sizeof(int));
#ifdef __CUDACC__
    shift<<<1, 1, 0, stream>>>(box);
    nvshmemx_barrier_all_on_stream(stream); /* completes what all PEs have put */
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
#else
    nvshmem_int_p(box, me, (me + 1) % n);
    nvshmem_barrier_all();
#endif
    got = nvshmem_int_g(box, me);

    /* MPI works beside NVSHMEM: the process before in the communicator sends its PE number. */
    MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % n, 0, &told, 1, MPI_INT, before, 0, backwards,
                 MPI_STATUS_IGNORE);
    bool good = got == before && told == before && me == size - 1 - rank && n == size;
    printf("PE %d of %d, rank %d: PE %d wrote to me: %s\n", me, n, rank, got,
           good ? "passed" : "failed");
    fflush(stdout);
    nvshmem_free(box);
    nvshmem_finalize();
    MPI_Comm_free(&backwards);
    MPI_Finalize();
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
