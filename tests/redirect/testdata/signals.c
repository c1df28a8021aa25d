/* signals.c: puts with signals, whose operations are 1 and 2 here and 9 and 10 in libshmem. */
#include "program.h"

static uint64_t signals[4];
static long data[8];

int main(void)
{
    begin();
    int right = (me + 1) % n;
    long source[4] = {me, me + 1, me + 2, me + 3};
    shmem_long_put_signal(data, source, 4, &signals[0], 5, SHMEM_SIGNAL_SET, right);
    shmem_long_put_signal_nbi(data + 4, source, 1, &signals[1], 3, SHMEM_SIGNAL_ADD, right);
    shmem_putmem_signal(data + 5, source, 8, &signals[1], 4, SHMEM_SIGNAL_ADD, right);
    shmem_ctx_long_put_signal(SHMEM_CTX_DEFAULT, data + 6, source, 1, &signals[2], 8,
                              SHMEM_SIGNAL_SET, right);
    shmem_uint64_wait_until(&signals[0], SHMEM_CMP_EQ, 5);
    shmem_uint64_wait_until(&signals[1], SHMEM_CMP_GE, 7);
    shmem_uint64_wait_until(&signals[2], SHMEM_CMP_EQ, 8);
    say("data %ld %ld %ld %ld %ld, signals %lu %lu", data[0], data[3], data[4], data[5], data[6],
        (unsigned long)shmem_signal_fetch(&signals[1]), (unsigned long)signals[2]);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
