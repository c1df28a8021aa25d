// Collectives by thread, warp and block.
#include <nvshmem.h>
#include <nvshmemx.h>

__global__ void by_thread(int *dest, const int *source, size_t nelems)
{
    nvshmem_barrier_all();
    nvshmem_int_broadcast(NVSHMEM_TEAM_WORLD, dest, source, nelems, 0);
    nvshmem_int_fcollect(NVSHMEM_TEAM_WORLD, dest, source, nelems);
    nvshmem_int_alltoall(NVSHMEM_TEAM_WORLD, dest, source, nelems);
    nvshmem_int_sum_reduce(NVSHMEM_TEAM_WORLD, dest, source, nelems);
    nvshmem_sync_all();
}

__global__ void by_warp(int *dest, const int *source, size_t nelems)
{
    nvshmemx_barrier_all_warp();
    nvshmemx_int_broadcast_warp(NVSHMEM_TEAM_WORLD, dest, source, nelems, 0);
    nvshmemx_int_fcollect_warp(NVSHMEM_TEAM_WORLD, dest, source, nelems);
    nvshmemx_int_alltoall_warp(NVSHMEM_TEAM_WORLD, dest, source, nelems);
    nvshmemx_int_sum_reduce_warp(NVSHMEM_TEAM_WORLD, dest, source, nelems);
    nvshmemx_sync_all_warp();
}

__global__ void by_block(int *dest, const int *source, size_t nelems)
{
    nvshmemx_barrier_all_block();
    nvshmemx_int_broadcast_block(NVSHMEM_TEAM_WORLD, dest, source, nelems, 0);
    nvshmemx_int_fcollect_block(NVSHMEM_TEAM_WORLD, dest, source, nelems);
    nvshmemx_int_alltoall_block(NVSHMEM_TEAM_WORLD, dest, source, nelems);
    nvshmemx_int_sum_reduce_block(NVSHMEM_TEAM_WORLD, dest, source, nelems);
    nvshmemx_sync_all_block();
}
