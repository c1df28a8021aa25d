// Tokens in shared memory. TestBulk reads the PTX.
#include <shmem/eager.cuh>

__shared__ uint4 token[512];

extern "C" __global__ void send_shared(shmemx_eager_t e, const uint4 *source)
{
    e.tile = SHMEMX_EAGER_BLOCK;
    token[threadIdx.x] = source[threadIdx.x];
    shmemx_eager_send_shared_block(&e, 0, token, 1, 1);
}

extern "C" __global__ void recv_shared(shmemx_eager_t e, uint4 *dest)
{
    e.tile = SHMEMX_EAGER_BLOCK;
    shmemx_eager_recv_shared_block(&e, 0, token, 1);
    dest[threadIdx.x] = token[threadIdx.x];
}
