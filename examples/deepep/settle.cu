/*
 * settle.cu: a kernel that dispatch loads at run time, as programs do that also compile at run
 * time. nvshmemx_culibrary_init gives such a kernel the state of the job.
 */
#include "moe.cuh"

extern "C" __global__ void settle(struct moe m, int *acks, nvshmem_team_t team)
{
    moe_settle(m, acks, team);
}
