/*
 * below.c: finds the functions of libshmem.so for libshmem_nvshmem.so, and those of that library
 * for libnvshmem_host.so.3 (BELOW_EXPORTS), which programs need that were linked with NVIDIA's.
 *
 * A program may have another OpenSHMEM, whose functions have the same names. So this library
 * does not need libshmem.so as the linker knows it: then each would be found where the loader
 * searches first, and an unversioned function answers for a versioned one. It opens libshmem.so for
 * itself, where no other library finds its names, and takes them from there. Of several users of
 * libshmem.so in a process, Python's package for example, all get the same one, by its soname.
 */
#define _GNU_SOURCE
#include "own.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#ifdef BELOW_EXPORTS
/* A program that was linked with 3.7 or later has a copy of it, which nothing reads. */
__attribute__((visibility("default"))) int nvshmem_selected_device_transport;
#else
#define BELOW_NAMES "zz_below.h"
#define BELOW_LIBRARY "libshmem.so"
#endif

extern void *nvshmemi_slots[], *nvshmemi_slots_end[];

static const char names[] =
#define BELOW(name) #name "\0"
#include BELOW_NAMES
    ;

static char why[512];

/* Takes the place of a function that there is not. */
static void missing(void)
{
    fprintf(stderr, "shmem: load " BELOW_LIBRARY ": %s (install all libraries from one release)\n",
            why);
    exit(1);
}

static void *library;

void *nvshmemi_below(const char *name)
{
    return library ? dlsym(library, name) : NULL;
}

/* Before any constructor of the program, whose kernels register themselves. */
__attribute__((constructor)) static void load(void)
{
    library = dlopen(BELOW_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        snprintf(why, sizeof why, "%s", dlerror());
    void **slot = nvshmemi_slots;
    for (const char *name = names; *name != '\0'; name += strlen(name) + 1, slot++) {
        *slot = nvshmemi_below(name);
        if (*slot != NULL)
            continue;
        *slot = (void *)(uintptr_t)missing;
        if (why[0] == '\0')
            snprintf(why, sizeof why, BELOW_LIBRARY " has no %s", name);
    }
    /* Like the tables that the linker makes. That it fails leaves them as good. */
    (void)mprotect(nvshmemi_slots, (size_t)((char *)nvshmemi_slots_end - (char *)nvshmemi_slots),
                   PROT_READ);
}
