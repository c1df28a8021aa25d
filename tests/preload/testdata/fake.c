/*
 * fake.c: what threads.c needs of a library, for one PE.
 */
#include <stdint.h>
#include <stdlib.h>

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
    return 1;
}

void shmem_long_p(long *dest, long value, int pe)
{
    (void)pe;
    __atomic_store_n(dest, value, __ATOMIC_RELAXED);
}

int shmem_team_n_pes(int32_t team)
{
    return team == 0 ? 1 : -1;
}

int shmem_team_translate_pe(int32_t team, int pe, int32_t to)
{
    (void)team;
    (void)to;
    return pe;
}

int shmem_team_sync(int32_t team)
{
    (void)team;
    return 0;
}

/* Only libshmem has it; the shim takes it for one by this. */
uint64_t shmemx_notify_wait(int notify, uint64_t count)
{
    (void)notify;
    return count;
}
