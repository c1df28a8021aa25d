/* Semantics 5 and 6: the heap is in the memory of the GPU, which may be chosen after init. */
#define _GNU_SOURCE
#include <nvshmem.h>
#include <nvshmemx.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* The effect of cudaSetDevice. */
static void use(int number)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
    int (*device)(int *, int) = (int (*)(int *, int))dlsym(cuda, "cuDeviceGet");
    int (*retain)(void **, int) = (int (*)(void **, int))dlsym(cuda, "cuDevicePrimaryCtxRetain");
    int (*set)(void *) = (int (*)(void *))dlsym(cuda, "cuCtxSetCurrent");
    int handle;
    if (device(&handle, number) != 0 || retain(&context, handle) != 0 || set(context) != 0)
        exit(2);
}

static int kind(const void *at)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    int attribute = 2, found = 0;
    void *values[] = {&found};
    int (*ask)(unsigned, int *, void **, uint64_t) =
        (int (*)(unsigned, int *, void **, uint64_t))dlsym(cuda, "cuPointerGetAttributes");
    return ask(1, &attribute, values, (uint64_t)(uintptr_t)at) == 0 ? found : -1;
}

int main(int argc, char **argv)
{
    int teams = argc > 1 && argv[1][0] == 't';
    if (nvshmemx_init_status() != NVSHMEM_STATUS_NOT_INITIALIZED)
        return 3;
    nvshmem_init();
    int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    int near = nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE);
    if (nvshmemx_init_status() != NVSHMEM_STATUS_IS_BOOTSTRAPPED)
        return 4;
    nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
    if (teams && nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team) != 0)
        return 5;
    if (me != 0) /* PE 0 keeps the GPU of init */
        use((near + 1) % n);
    int *box = nvshmem_malloc(sizeof *box);
    if (box == NULL || kind(box) != 2)
        return 6;
    if (nvshmemx_init_status() != NVSHMEM_STATUS_IS_INITIALIZED || nvshmem_my_pe() != me)
        return 7;
    nvshmem_int_p(box, me, (me + 1) % n);
    nvshmem_barrier_all();
    if (nvshmem_int_g(box, me) != (me + n - 1) % n)
        return 8;
    nvshmem_free(box);
    nvshmem_finalize();
    if (nvshmemx_init_status() != NVSHMEM_STATUS_NOT_INITIALIZED)
        return 9;
    printf("PE %d passed\n", me);
    return 0;
}
