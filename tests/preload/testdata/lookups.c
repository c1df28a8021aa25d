/*
 * lookups.c: a program that is linked with no library of SHMEM: lookups HOW LIBRARY PLUGIN.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *handle;

static void *find(const char *name)
{
    return dlsym(handle, name);
}

/* Finds a function by the prefix of its library and the rest of its name. */
static void *find_of(const char *prefix, const char *rest)
{
    char name[80];
    snprintf(name, sizeof name, "%s_%s", prefix, rest);
    return find(name);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 1;
    const char *how = argv[1];
    int plugin = strcmp(how, "plugin") == 0, whole = strcmp(how, "default") == 0;
    const char *prefix = plugin ? "plugin" : strcmp(how, "nvshmem") == 0 ? "nvshmem" : "shmem";
    handle = dlopen(plugin ? argv[3] : argv[2], RTLD_NOW | (whole ? RTLD_GLOBAL : RTLD_LOCAL));
    if (!handle)
        return fprintf(stderr, "%s\n", dlerror());
    if (whole)
        handle = RTLD_DEFAULT;
    void (*init)(void) = (void (*)(void))find_of(prefix, "init");
    int (*my_pe)(void) = (int (*)(void))find_of(prefix, "my_pe");
    void (*finalize)(void) = (void (*)(void))find_of(prefix, "finalize");
    init();
    printf("shmem_my_pe: %d\n", my_pe());
    printf("shmem_frobnicate: %s\n", find("shmem_frobnicate") ? "yes" : "no");
    printf("shmemx_int16_g: %s\n",
           find("shmemx_int16_g") ? "yes" : "no"); /* only Open MPI has it */
    printf("malloc: %s\n", dlsym(RTLD_NEXT, "malloc") ? "yes" : "no");
    finalize();
    return 0;
}
