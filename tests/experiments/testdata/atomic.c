/* atomic.c: values, and an atomic addition that announces them. Fault: no fence before it. */
#include "program.h"

static double values[4];
static long count;

int main(void)
{
    begin();
    int right = (me + 1) % n;
    for (long round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < 4; i++)
            shmem_double_p(&values[i], (double)round + i, right);
        UNLESS_FAULT(shmem_fence());
        shmem_long_atomic_inc(&count, right);
        shmem_long_wait_until(&count, SHMEM_CMP_GE, round);
        for (int i = 0; i < 4; i++)
            wrong += values[i] != (double)round + i;
        shmem_barrier_all();
    }
    end();
}
