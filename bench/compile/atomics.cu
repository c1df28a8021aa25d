// Atomic operations that fetch and that do not.
#include <nvshmem.h>
#include <nvshmemx.h>

__global__ void without_answer(uint64_t *at, uint64_t value, int pe)
{
    nvshmem_uint64_atomic_inc(at, pe);
    nvshmem_uint64_atomic_add(at, value, pe);
    nvshmem_uint64_atomic_and(at, value, pe);
    nvshmem_uint64_atomic_or(at, value, pe);
    nvshmem_uint64_atomic_xor(at, value, pe);
    nvshmem_uint64_atomic_set(at, value, pe);
    nvshmem_quiet();
}

__global__ void with_answer(uint64_t *at, uint64_t value, int pe)
{
    value += nvshmem_uint64_atomic_fetch_inc(at, pe);
    value += nvshmem_uint64_atomic_fetch_add(at, value, pe);
    value += nvshmem_uint64_atomic_fetch_and(at, value, pe);
    value += nvshmem_uint64_atomic_fetch_or(at, value, pe);
    value += nvshmem_uint64_atomic_fetch_xor(at, value, pe);
    value += nvshmem_uint64_atomic_swap(at, value, pe);
    value += nvshmem_uint64_atomic_compare_swap(at, value, value + 1, pe);
    *at = value + nvshmem_uint64_atomic_fetch(at, pe);
}
