/*
 * reuse_library.c: what reuse.c needs of a library, for PE 0 of three.
 */
#include "reuse.h"

enum { TEAM = 5, CONTEXT = 7 };

_Atomic int reuse_step;
static _Atomic int first; /* the first PE of the team */

void shmem_init(void)
{
}

void shmem_finalize(void)
{
}

int shmem_my_pe(void)
{
    return 0;
}

int shmem_n_pes(void)
{
    return 3;
}

int shmem_team_n_pes(int32_t team)
{
    return team == TEAM ? 2 : team == 0 ? 3 : -1;
}

int shmem_team_translate_pe(int32_t team, int pe, int32_t to)
{
    (void)to;
    return team == TEAM ? first + pe : pe;
}

int shmem_team_split_strided(int32_t parent, int start, int stride, int size, const void *config,
                             long mask, int32_t *team)
{
    (void)parent, (void)stride, (void)size, (void)config, (void)mask;
    first = start;
    *team = TEAM;
    return 0;
}

int shmem_team_sync(int32_t team)
{
    (void)team;
    return 0;
}

void shmem_team_destroy(int32_t team)
{
    (void)team;
    reuse_step = TEAM_FREE;
    reuse_await(TEAM_USED);
}

int shmem_team_create_ctx(int32_t team, long options, int32_t *ctx)
{
    (void)team, (void)options;
    *ctx = CONTEXT;
    return 0;
}

void shmem_ctx_destroy(int32_t ctx)
{
    (void)ctx;
    reuse_step = CONTEXT_FREE;
    reuse_await(CONTEXT_USED);
}

void shmem_ctx_long_p(int32_t ctx, long *dest, long value, int pe)
{
    (void)ctx, (void)pe;
    *dest = value;
}

/* Only libshmem has it; the shim takes the library for one by this. */
uint64_t shmemx_notify_wait(int notify, uint64_t count)
{
    (void)notify;
    return count;
}
