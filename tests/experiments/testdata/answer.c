/* answer.c: PEs exchange nonblocking puts with signal, and call quiet when they have what they wait
 * for. Fault: what one put has brought is read back while it is open. */
#include "program.h"

static long box[64];
static uint64_t arrived;

int main(void)
{
    begin();
    static long source[64];
    int right = (me + 1) % n;
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < 64; i++)
            source[i] = 1000 * round + i;
        shmem_long_put_signal_nbi(box, source, 64, &arrived, 1, SHMEM_SIGNAL_ADD, right);
#ifdef FAULT
        long back[64];
        shmem_long_get(back, box, 64, right);
#endif
        shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, (uint64_t)round);
        wrong += box[63] != 1000 * round + 63;
        shmem_quiet();
        shmem_barrier_all();
    }
    end();
}
