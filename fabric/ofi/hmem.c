/*
 * hmem.c: finds the libraries that libfabric loads for the memory of GPUs.
 */
#define _GNU_SOURCE
#include "hmem.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

/* Reports whether the loader finds a library; if present is not 0, whether the process has loaded
 * it already. path gets its file. The library is closed again. */
int shmemi_ofi_loads(const char *name, int present, char *path, size_t len)
{
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL | (present ? RTLD_NOLOAD : 0));
    struct link_map *map = NULL;
    if (library == NULL)
        return 0;
    snprintf(path, len, "%s",
             dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != NULL ? map->l_name : name);
    dlclose(library);
    return 1;
}
