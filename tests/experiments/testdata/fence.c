/* fence.c: a block, and a flag that announces it. Fault: no fence between the two puts. */
#include "program.h"

static long block[512], flag;

int main(void)
{
    begin();
    static long source[512];
    int right = (me + 1) % n;
    for (long round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < 512; i++)
            source[i] = 1000 * round + i;
        shmem_long_put(block, source, 512, right);
        UNLESS_FAULT(shmem_fence());
        shmem_long_p(&flag, round, right);
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, round);
        for (int i = 0; i < 512; i++)
            wrong += block[i] != 1000 * round + i;
        shmem_barrier_all();
    }
    end();
}
