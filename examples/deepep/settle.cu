/*
 * settle.cu: the kernel that dispatch.cu loads while it runs, as programs do that compile kernels
 * for what they were asked: nvshmemx_culibrary_init gives it the job.
 */
#include "moe.cuh"

extern "C" __global__ void settle(struct moe m, int *acks, nvshmem_team_t team)
{
    moe_settle(m, acks, team);
}
