/*
 * Semantics 11: bindings of Python look for a name among the loaded libraries, then in the library
 * by its soname, after they have loaded one by its path. Preloaded, this library is found. The
 * argument is the path. A second one: they begin a job.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

typedef void version(int *major, int *minor, int *patch);

/* The other one has -1. */
static int answers(void *where)
{
    version *ask = (version *)dlsym(where, "nvshmemx_vendor_get_version_info");
    int major = 0, minor = 0, patch = 0;
    if (ask != NULL)
        ask(&major, &minor, &patch);
    return major == 3;
}

int main(int argc, char **argv)
{
    void *found = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (found == NULL || answers(found))
        return 2;
    void *named = dlopen("libnvshmem_host.so.3", RTLD_NOW);
    if (!answers(RTLD_DEFAULT) || named == NULL || !answers(named))
        return 3;
    if (argc > 2) {
        int (*init)(unsigned, void *) =
            (int (*)(unsigned, void *))dlsym(named, "nvshmemx_hostlib_init_attr");
        if (init == NULL || init(0, NULL) != 0)
            return 4;
    }
    printf("all passed\n");
    return 0;
}
