/* parts.c: a block in many parts, each with a signal word of its own. Fault: the target waits only
 * for the signals of the second half. */
#include "program.h"

enum { PARTS = 600 };

static long block[PARTS];
static uint64_t arrived[PARTS];

int main(void)
{
    begin();
    static long source[PARTS];
    int first = 0, right = (me + 1) % n;
    for (int i = 0; i < PARTS; i++)
        source[i] = 10 * i + 1;
    for (int i = 0; i < PARTS; i++)
        shmem_long_put_signal(&block[i], &source[i], 1, &arrived[i], 1, SHMEM_SIGNAL_SET, right);
#ifdef FAULT
    first = PARTS / 2;
#endif
    for (int i = first; i < PARTS; i++)
        shmem_signal_wait_until(&arrived[i], SHMEM_CMP_EQ, 1);
    for (int i = 0; i < PARTS; i++)
        wrong += block[i] != 10 * i + 1;
    shmem_barrier_all();
    end();
}
