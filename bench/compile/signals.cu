// Signals in a ping-pong, and signals that follow data.
#include <nvshmem.h>
#include <nvshmemx.h>

__global__ void signals(uint64_t *at, uint64_t rounds, int pe)
{
    for (uint64_t i = 1; i <= rounds; i++) {
        nvshmemx_signal_op(at, i, NVSHMEM_SIGNAL_SET, pe);
        nvshmem_signal_wait_until(at, NVSHMEM_CMP_GE, i);
    }
}

__global__ void behind_data(int *dest, const int *source, size_t nelems, uint64_t *at, int pe)
{
    nvshmemx_int_put_signal_block(dest, source, nelems, at, 1, NVSHMEM_SIGNAL_ADD, pe);
    nvshmem_signal_wait_until(at, NVSHMEM_CMP_GE, 1);
}

__global__ void behind_data_nbi(int *dest, const int *source, size_t nelems, uint64_t *at, int pe)
{
    nvshmem_int_put_signal_nbi(dest, source, nelems, at, 1, NVSHMEM_SIGNAL_SET, pe);
    nvshmem_quiet();
    nvshmem_uint64_wait_until(at, NVSHMEM_CMP_EQ, 1);
}
