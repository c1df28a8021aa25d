/*
 * settle.cu: the kernel that examples/deepep/dispatch.cu loads, which stops the context of PE 1 at
 * the end of the third round, as a wild address in a user's kernel would.
 */
#include "moe.cuh"

extern "C" __global__ void settle(struct moe m, int *acks, nvshmem_team_t team)
{
    moe_settle(m, acks, team);
    if (m.me == 1 && m.round % 1000 == 3)
        __trap();
}
