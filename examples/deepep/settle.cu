/*
 * settle.cu: a kernel that dispatch.cu loads while it runs, as programs do that compile kernels at
 * run time: nvshmemx_culibrary_init initialises the library in it.
 */
#include "moe.cuh"

extern "C" __global__ void settle(struct moe m, int *acks, nvshmem_team_t team)
{
    moe_settle(m, acks, team);
}
