/*
 * load.c: opens the libraries of the driver and of GDRCopy and finds their functions. Go chooses
 * the file, and decides what a missing one means.
 */
#define _GNU_SOURCE
#include "driver.h"
#include "gdr.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

/* Loads a shared library. Returns its handle, or NULL and the cause in why. */
void *shmemi_cuda_open_library(const char *file, char *why, size_t len)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *reason = dlerror();
        snprintf(why, len, "%s", reason != NULL ? reason : "it cannot be loaded");
    }
    return library;
}

/* Returns the file from which a library was loaded, or "". */
const char *shmemi_cuda_library_file(void *library)
{
    struct link_map *map = NULL;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == NULL)
        return "";
    return map->l_name;
}

/* Closes a library that shmemi_cuda_open_library has loaded. */
void shmemi_cuda_close_library(void *library)
{
    dlclose(library);
}

/* Finds the driver's functions in a library. Those that an old driver may lack (OPTIONAL) become
 * NULL. Returns NULL, or the name of a needed one that is missing. */
const char *shmemi_cuda_bind(struct shmemi_cuda *driver, void *library)
{
#define NEEDED(name, symbol, parameters, arguments)                                                \
    if ((*(void **)&driver->name = dlsym(library, symbol)) == NULL)                                \
        return symbol;
#define OPTIONAL(name, symbol, parameters, arguments)                                              \
    *(void **)&driver->name = dlsym(library, symbol);
    SHMEMI_CUDA_FUNCTIONS(NEEDED, OPTIONAL)
#undef NEEDED
#undef OPTIONAL
    return NULL;
}

/* Finds the functions of GDRCopy. Returns NULL, or the name of one that is missing. */
const char *shmemi_gdr_bind(struct shmemi_gdr *functions, void *library)
{
#define TAKE(name, symbol)                                                                         \
    if ((*(void **)&functions->name = dlsym(library, symbol)) == NULL)                             \
    return symbol
    TAKE(open, "gdr_open");
    TAKE(close, "gdr_close");
    TAKE(pin, "gdr_pin_buffer");
    TAKE(unpin, "gdr_unpin_buffer");
    TAKE(map, "gdr_map");
    TAKE(unmap, "gdr_unmap");
    TAKE(info, "gdr_get_info_v2");
    TAKE(version, "gdr_runtime_get_version");
#undef TAKE
    return NULL;
}
