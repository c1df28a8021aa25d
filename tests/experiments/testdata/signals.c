/* signals.c: two blocks, each with a signal. Fault: the target waits for the second signal only. */
#include "program.h"

static long first[512], second[16];
static uint64_t arrived[2];

int main(void)
{
    begin();
    static long source[512];
    int right = (me + 1) % n;
    for (long round = 1; round <= ROUNDS; round++) {
        uint64_t now = (uint64_t)round;
        for (int i = 0; i < 512; i++)
            source[i] = 1000 * round + i;
        shmem_long_put_signal(first, source, 512, &arrived[0], now, SHMEM_SIGNAL_SET, right);
        shmem_long_put_signal(second, source, 16, &arrived[1], now, SHMEM_SIGNAL_SET, right);
        UNLESS_FAULT(shmem_signal_wait_until(&arrived[0], SHMEM_CMP_EQ, now));
        shmem_signal_wait_until(&arrived[1], SHMEM_CMP_EQ, now);
        for (int i = 0; i < 512; i++)
            wrong += first[i] != 1000 * round + i;
        wrong += second[3] != 1000 * round + 3;
        shmem_barrier_all();
    }
    end();
}
