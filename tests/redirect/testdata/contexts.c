/* contexts.c: the handle of the default context, and contexts of the program with each option. */
#include "program.h"

static long cells[8];

int main(void)
{
    begin();
    int right = (me + 1) % n;
    shmem_ctx_t all[4] = {0};
    char guard[8];
    long options[4] = {0, SHMEM_CTX_PRIVATE, SHMEM_CTX_SERIALIZED, SHMEM_CTX_NOSTORE};
    memset(guard, 0x5a, sizeof guard);
    for (int i = 0; i < 4; i++)
        say("create %d: %d", i, shmem_ctx_create(options[i], &all[i]));
    say("default is a handle: %d", SHMEM_CTX_DEFAULT != NULL);
    int alike = 0;
    for (int i = 0; i < 4; i++)
        alike += all[i] == SHMEM_CTX_DEFAULT || all[i] == NULL;
    say("handles like the default one or NULL: %d", alike);
    shmem_ctx_long_p(SHMEM_CTX_DEFAULT, &cells[4], 50 + me, right);
    shmem_ctx_fence(SHMEM_CTX_DEFAULT);
    for (int i = 0; i < 4; i++) {
        long value = 10 * i + me;
        shmem_ctx_long_put_nbi(all[i], &cells[i], &value, 1, right);
        shmem_ctx_quiet(all[i]);
    }
    shmem_ctx_quiet(SHMEM_CTX_DEFAULT);
    shmem_ctx_int_atomic_add(all[1], (int *)&cells[5], 3, right);
    (void)shmem_ctx_int_atomic_fetch(all[1], (int *)&cells[5], right); /* as in atomics.c */
    shmem_ctx_quiet(all[1]);
    shmem_barrier_all();
    say("cells %ld %ld %ld %ld %ld %ld", cells[0], cells[1], cells[2], cells[3], cells[4],
        cells[5]);
    say("get %ld", shmem_ctx_long_g(all[2], &cells[1], right));
    for (int i = 0; i < 4; i++)
        shmem_ctx_destroy(all[i]);
    say("guard %x", guard[7]);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
