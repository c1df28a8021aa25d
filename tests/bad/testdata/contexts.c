/*
 * contexts.c: as api.c, for contexts.
 */
#include "cases.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

static shmem_ctx_t context(long options)
{
    shmem_ctx_t ctx;
    if (shmem_ctx_create(options, &ctx) != 0)
        exit(1);
    return ctx;
}
CASE(ctx_unknown)
{
    shmem_ctx_long_p(4711, block, 1, 0);
}
CASE(ctx_negative)
{
    shmem_ctx_long_g(-7, block, 0);
}
CASE(ctx_invalid)
{
    shmem_ctx_long_put(SHMEM_CTX_INVALID, block, here, 1, 0);
}
CASE(ctx_destroyed)
{
    shmem_ctx_t ctx = context(0);
    shmem_ctx_destroy(ctx);
    shmem_ctx_long_atomic_fetch_add(ctx, block, 1, 0);
}
CASE(ctx_destroyed_and_made)
{
    shmem_ctx_t ctx = context(0);
    shmem_ctx_destroy(ctx);
    context(0);
    shmem_ctx_putmem_signal(ctx, block, here, 8, (uint64_t *)block + 1, 1, SHMEM_SIGNAL_SET, 0);
}
static shmem_team_t own_team(void)
{
    shmem_team_t rows, team;
    if (shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, NULL, 0, &rows, NULL, 0, &team) != 0)
        exit(1);
    return rows;
}
CASE(ctx_of_destroyed_team)
{
    shmem_team_t team = own_team();
    shmem_ctx_t ctx;
    if (shmem_team_create_ctx(team, 0, &ctx) != 0)
        exit(1);
    shmem_team_destroy(team);
    shmem_ctx_long_iput(ctx, block, here, 1, 1, 1, 0);
}
CASE(ctx_destroy_default)
{
    shmem_ctx_destroy(SHMEM_CTX_DEFAULT);
}
CASE(ctx_destroy_twice)
{
    shmem_ctx_t ctx = context(0);
    shmem_ctx_destroy(ctx);
    shmem_ctx_destroy(ctx);
}
CASE(ctx_options)
{
    context(0x101);
}
CASE(ctx_no_place)
{
    shmem_team_create_ctx(SHMEM_TEAM_WORLD, 0, NULL);
}
CASE(ctx_no_team_place)
{
    shmem_ctx_get_team(SHMEM_CTX_DEFAULT, NULL);
}
CASE(ctx_unknown_team)
{
    shmem_ctx_t ctx;
    shmem_team_create_ctx(4711, 0, &ctx);
}
CASE(ctx_wrong_pe)
{
    shmem_ctx_long_put(context(0), block, here, 1, n);
}
CASE(ctx_wrong_pe_of_team)
{
    shmem_ctx_t ctx;
    if (shmem_team_create_ctx(own_team(), 0, &ctx) == 0)
        shmem_ctx_long_p(ctx, block, 1, 1);
}
static void *use(void *ctx)
{
    shmem_ctx_long_p(*(shmem_ctx_t *)ctx, block, 1, me);
    return NULL;
}
CASE(ctx_other_thread)
{
    shmem_ctx_t ctx = context(SHMEM_CTX_PRIVATE);
    pthread_t thread;
    use(&ctx);
    pthread_create(&thread, NULL, use, &ctx);
    pthread_join(thread, NULL);
}
CASE(ctx_quiet_unknown)
{
    shmem_ctx_quiet(4711);
}
CASE(ctx_fence_unknown)
{
    shmem_ctx_fence(4711);
}
CASE(ctx_quiet_wrong_pe)
{
    shmem_ctx_pe_quiet(context(0), n);
}
CASE(ctx_session_no_config)
{
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, 0, NULL, SHMEM_CTX_SESSION_TOTAL_OPS);
}
/* A PE that another stops for longer than SHMEM_TIMEOUT. */
CASE(hang_ctx)
{
    shmem_long_p(&block[me], getpid(), 0);
    shmem_barrier_all();
    if (me == 0) {
        shmem_ctx_t ctx = context(0);
        pid_t child, stopped = (pid_t)block[1];
        kill(stopped, SIGSTOP);
        if ((child = fork()) == 0) {
            await_go();
            kill(stopped, SIGCONT);
            _exit(0);
        }
        shmem_ctx_long_p(ctx, block + 2, 1, 1);
        shmem_ctx_quiet(ctx);
        waitpid(child, NULL, 0);
    }
    shmem_barrier_all();
}
