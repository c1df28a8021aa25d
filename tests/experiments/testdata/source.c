/* source.c: the source of a nonblocking put is used again. Fault: before the quiet. */
#include "program.h"

static long box[64];

int main(void)
{
    begin();
    long source[64];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 64; i++)
            source[i] = 1000 * round + i;
        shmem_long_put_nbi(box, source, 64, (me + 1) % n);
        UNLESS_FAULT(shmem_quiet());
        source[5] = -1;
        shmem_barrier_all();
        wrong += box[5] != 1000 * round + 5;
        shmem_barrier_all();
    }
    end();
}
