/* context.c: the source of a nonblocking put on a context is used again. Fault: after a quiet, but
 * that of the default context, which completes nothing of another one. */
#include "program.h"

static long box[64];

int main(void)
{
    begin();
    shmem_ctx_t ctx;
    if (shmem_ctx_create(0, &ctx) != 0)
        return 1;
    long source[64];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 64; i++)
            source[i] = 1000 * round + i;
        shmem_ctx_long_put_nbi(ctx, box, source, 64, (me + 1) % n);
        UNLESS_FAULT(shmem_ctx_quiet(ctx));
        shmem_quiet();
        source[5] = -1;
        shmem_ctx_quiet(ctx);
        shmem_barrier_all();
        wrong += box[5] != 1000 * round + 5;
        shmem_barrier_all();
    }
    shmem_ctx_destroy(ctx);
    end();
}
