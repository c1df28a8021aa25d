/* signal.c: the source of a nonblocking put with signal is used again. Fault: before the quiet. */
#include "program.h"

static long box[64];
static uint64_t arrived;

int main(void)
{
    begin();
    long source[64];
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < 64; i++)
            source[i] = 1000 * round + i;
        shmem_long_put_signal_nbi(box, source, 64, &arrived, (uint64_t)round, SHMEM_SIGNAL_SET,
                                  (me + 1) % n);
        UNLESS_FAULT(shmem_quiet());
        source[5] = -1;
        shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, (uint64_t)round);
        wrong += box[5] != 1000 * round + 5;
        shmem_barrier_all();
    }
    end();
}
