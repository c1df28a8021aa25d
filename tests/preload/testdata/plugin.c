/*
 * plugin.c: a library that is linked with libshmem.so, and opened by dlopen without RTLD_GLOBAL.
 */
#include <shmem.h>

void plugin_init(void)
{
    shmem_init();
}

int plugin_my_pe(void)
{
    return shmem_my_pe();
}

void plugin_finalize(void)
{
    shmem_finalize();
}
