/*
 * reuse.c: a thread destroys its team and its context; before each call returns, another thread
 * gets the same handle for a team of other PEs, or for a context of that team.
 */
#include "reuse.h"

#include <pthread.h>
#include <stddef.h>

static long word;

static void *run(void *unused)
{
    int32_t team, ctx;
    (void)unused;
    reuse_await(TEAM_FREE);
    shmem_team_split_strided(0, 1, 1, 2, NULL, 0, &team);
    shmem_team_sync(team);
    reuse_step = TEAM_USED;
    reuse_await(CONTEXT_FREE);
    shmem_team_create_ctx(team, 0, &ctx);
    shmem_ctx_long_p(ctx, &word, 1, 1);
    reuse_step = CONTEXT_USED;
    return NULL;
}

int main(void)
{
    pthread_t thread;
    int32_t team, ctx;
    shmem_init();
    shmem_team_split_strided(0, 0, 1, 2, NULL, 0, &team);
    shmem_team_sync(team);
    shmem_team_create_ctx(team, 0, &ctx);
    pthread_create(&thread, NULL, run, NULL);
    shmem_team_destroy(team);
    shmem_team_sync(team); /* now the other thread's */
    shmem_ctx_destroy(ctx);
    pthread_join(thread, NULL);
    shmem_ctx_long_p(ctx, &word, 2, 1);
    shmem_finalize();
    return 0;
}
