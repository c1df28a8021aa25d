/* modules.h: the calls of bad.c about modules of the program's own. */
#ifndef MODULES_H
#define MODULES_H

#include <shmem.h>
#include <shmemx.h>

#include <dlfcn.h>
#include <stdio.h>

static char not_a_module[80];

static void module_finalized(void)
{
    if (shmemx_cumodule_finalize((struct CUmod_st *)not_a_module) != 0)
        printf("PE %d went on\n", shmem_my_pe());
}
static void module_without_gpu(void)
{
    if (shmemx_cumodule_init((struct CUmod_st *)not_a_module) != 0)
        printf("PE %d went on\n", shmem_my_pe());
}
/* Loads code with the fake driver, whose variables have 64 bytes of zeros. */
static void init_module_of(const char *text)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL, *module = NULL;
    int (*retain)(void **, int) = (int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
    int (*choose)(void *) = (int (*)(void *))dlsym(driver, "cuCtxSetCurrent");
    int (*load)(void **, const char *) =
        (int (*)(void **, const char *))dlsym(driver, "cuModuleLoadData");
    if (retain(&context, 0) != 0 || choose(context) != 0 || load(&module, text) != 0)
        printf("PE %d cannot load the code\n", shmem_my_pe());
    else if (shmemx_cumodule_init((struct CUmod_st *)module) != 0)
        printf("PE %d went on\n", shmem_my_pe());
}
static void module_of_another_size(void)
{
    init_module_of("kernel k\nglobal shmemi_here\n");
}
static void module_of_another_version(void)
{
    init_module_of("kernel k\nglobal shmemi_here\nglobal nvshmemi_device_lib_version_d\n");
}
static void module_of_nothing(void)
{
    if (shmemx_culibrary_init(NULL) != 0)
        printf("PE %d went on\n", shmem_my_pe());
}

#endif
