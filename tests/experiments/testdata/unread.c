/* unread.c: a nonblocking put is read back. Fault: without a quiet. */
#include "program.h"

static int box[8];

int main(void)
{
    begin();
    int source[8], back[8], right = (me + 1) % n;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 8; i++)
            source[i] = 10 * round + i;
        shmem_int_put_nbi(box, source, 8, right);
        UNLESS_FAULT(shmem_quiet());
        shmem_int_get(back, box, 8, right);
        wrong += back[3] != source[3];
        shmem_barrier_all();
    }
    end();
}
