/*
 * start: the programs that bench/start.py times, one for each value of WHAT.
 *
 * PMIx_Init and PMIx_Finalize are declared here, because machines often have PMIx's library without
 * its header. The calls pass no arguments whose types the header defines.
 */
#include <stddef.h>

#define NOTHING 0
#define PMIX 1
#define SHMEM 2
#define LOAD 3

#if WHAT == SHMEM
#include <shmem.h>
#elif WHAT == LOAD
#include <dlfcn.h>
#elif WHAT == PMIX
int PMIx_Init(void *self, void *info, size_t n);
int PMIx_Finalize(const void *info, size_t n);
#endif

int main(void)
{
#if WHAT == SHMEM
    shmem_init();
    shmem_barrier_all();
    shmem_finalize();
#elif WHAT == PMIX
    if (PMIx_Init(NULL, NULL, 0) != 0)
        return 1;
    PMIx_Finalize(NULL, 0);
#elif WHAT == LOAD
    if (dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL) == NULL)
        return 1;
#endif
    return 0;
}
