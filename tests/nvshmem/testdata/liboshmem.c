/*
 * An OpenSHMEM of one PE, with more of the names than the test calls: a call that reaches one of
 * them by mistake ends the process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int up;

static void demand(int good, const char *name)
{
    if (good)
        return;
    fprintf(stderr, "liboshmem: %s was called\n", name);
    exit(1);
}

void shmem_init(void)
{
    up++;
    demand(up == 1, "shmem_init again");
}
void shmem_finalize(void)
{
    up--;
    demand(up == 0, "shmem_finalize again");
}
int shmem_my_pe(void)
{
    demand(up, "shmem_my_pe before shmem_init");
    return 0;
}
int shmem_n_pes(void)
{
    return 1;
}
void *shmem_malloc(size_t size)
{
    demand(size < 1 << 20, "shmem_malloc");
    return malloc(size);
}
void shmem_free(void *ptr)
{
    free(ptr);
}
void shmem_barrier_all(void)
{
}
void shmem_getmem(void *dest, const void *source, size_t nelems, int pe)
{
    demand(pe == 0, "shmem_getmem");
    memcpy(dest, source, nelems);
}
void shmem_int_p(int *dest, int value, int pe)
{
    demand(value < 200 && pe == 0, "shmem_int_p of the other library");
    *dest = value;
}
void shmem_int_put(int *dest, const int *source, size_t nelems, int pe)
{
    demand(*source < 2000 && pe == 0, "shmem_int_put of the other library");
    memcpy(dest, source, nelems * sizeof *dest);
}

#define NEVER(name)                                                                                \
    void name(void)                                                                                \
    {                                                                                              \
        demand(0, #name);                                                                          \
    }
NEVER(shmem_init_thread)
NEVER(shmem_query_initialized)
NEVER(shmem_quiet)
NEVER(shmem_fence)
NEVER(shmem_ptr)
NEVER(shmem_sync_all)
NEVER(shmem_team_sync)
NEVER(shmem_global_exit)
NEVER(pshmem_init)
NEVER(pshmem_my_pe)
NEVER(pshmem_malloc)
NEVER(pshmem_int_p)
