/* private.c: a thread puts on a context of its own while the first thread tests, fences, completes
 * and ends its own operations. */
#include "program.h"

#include <pthread.h>
#include <unistd.h>

static long box[2][64], flag, other, late;
static uint64_t signals;
static pthread_barrier_t step;

/* Lets the other thread go on, and waits until it has. */
static void next(void)
{
    pthread_barrier_wait(&step);
}

static void *run(void *unused)
{
    shmem_ctx_t ctx;
    long source[64];
    (void)unused;
    if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) != 0)
        exit(1);
    for (int i = 0; i < 64; i++)
        source[i] = i;
    shmem_ctx_long_put_nbi(ctx, box[0], source, 64, (me + 1) % n);
    shmem_ctx_long_put_signal_nbi(ctx, box[1], source, 64, &signals, 1, SHMEM_SIGNAL_SET,
                                  (me + 1) % n);
    next();
    next(); /* the first thread calls */
    shmem_ctx_quiet(ctx);
    memset(source, 0, sizeof source);
    shmem_ctx_long_put_nbi(ctx, box[0] + 1, source, 1, (me + 1) % n);
    shmem_ctx_destroy(ctx);
    source[0] = 1;
    return NULL;
}

int main(void)
{
    pthread_t thread;
    int given;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &given) != 0 || given != SHMEM_THREAD_MULTIPLE)
        return 1;
    me = shmem_my_pe();
    n = shmem_n_pes();
    pthread_barrier_init(&step, NULL, 2);
    pthread_create(&thread, NULL, run, NULL);
    next();
    shmem_long_p(&flag, 1, (me + 1) % n);
    shmem_fence();
    shmem_long_p(&other, 1, (me + 1) % n);
    shmem_quiet();
    shmem_long_wait_until(&other, SHMEM_CMP_EQ, 1);
    /* Tests go on for longer than the shim delays puts: it may not send those of the other thread.
     */
    if (me != 0) {
        usleep(1200000);
        shmem_long_p(&late, 1, 0);
    }
    while (me == 0 && !shmem_long_test(&late, SHMEM_CMP_EQ, 1))
        usleep(1000);
    shmem_barrier_all();
    next();
    pthread_join(thread, NULL);
    shmem_barrier_all();
    for (int i = 0; i < 64; i++)
        wrong += box[0][i] != (i == 1 ? 0 : i) || box[1][i] != i;
    wrong += signals != 1;
    end();
}
