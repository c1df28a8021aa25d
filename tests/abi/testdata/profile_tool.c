/*
 * profile_tool.c: a library that intercepts calls of a program and counts them.
 */
#define SHMEM_ALLOW_DEPRECATED
#include <pshmem.h>

#include <stdio.h>

static int puts_seen, collectives, starts, waits;

void shmem_long_put(long *dest, const long *source, size_t nelems, int pe)
{
    puts_seen++;
    pshmem_long_put(dest, source, nelems, pe);
}

void shmem_putmem(void *dest, const void *source, size_t nelems, int pe)
{
    puts_seen++;
    pshmem_putmem(dest, source, nelems, pe);
}

int shmem_long_sum_reduce(shmem_team_t team, long *dest, const long *source, size_t nreduce)
{
    collectives++;
    return pshmem_long_sum_reduce(team, dest, source, nreduce);
}

void shmem_barrier_all(void)
{
    collectives++;
    pshmem_barrier_all();
}

void start_pes(int npes)
{
    starts++;
    pstart_pes(npes);
}

#undef shmem_wait_until
void shmem_wait_until(long *ivar, int cmp, long cmp_value)
{
    waits++;
    pshmem_wait_until(ivar, cmp, cmp_value);
}

void shmem_finalize(void)
{
    printf("puts %d collectives %d starts %d waits %d\n", puts_seen, collectives, starts, waits);
    pshmem_finalize();
}
