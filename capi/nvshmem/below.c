/*
 * below.c: finds the functions of libshmem.so for libshmem_nvshmem.so, and those of
 * libshmem_nvshmem.so for libnvshmem_host.so.3 (BELOW_EXPORTS), which programs need that were
 * linked with NVIDIA's library.
 *
 * A program may have another OpenSHMEM, whose functions have the same names. So this library is not
 * linked with libshmem.so: the loader would bind each name to the first library that has it, and
 * would bind a versioned reference to an unversioned function. This library opens libshmem.so
 * itself, without adding its names to the search of other libraries. All users of libshmem.so in a
 * process, such as the Python package, get the same one, by its soname.
 */
#define _GNU_SOURCE
#include "own.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#ifdef BELOW_EXPORTS
/* A variable of NVIDIA's library. Programs that were linked with NVSHMEM 3.7 or later have a copy
 * of it, which nothing reads. */
__attribute__((visibility("default"))) int nvshmem_selected_device_transport;
#else
#define BELOW_NAMES "zz_below.h"
#define BELOW_LIBRARY "libshmem.so"
#endif

/* The addresses of the functions of the library below, through which below.S jumps. */
extern void *nvshmemi_slots[], *nvshmemi_slots_end[];

/* The names of these functions, in the order of the slots. */
static const char names[] =
#define BELOW(name) #name "\0"
#include BELOW_NAMES
    ;

static char why[512]; /* the reason why the library or a function was not found */

/* Called instead of a function that was not found in the library below: prints which one, and ends
 * the process. */
static void missing(void)
{
    fprintf(stderr, "shmem: load " BELOW_LIBRARY ": %s (install all libraries from one release)\n",
            why);
    exit(1);
}

static void *library;

/* Returns the function with this name of the library below (libshmem.so, or with BELOW_EXPORTS
 * libshmem_nvshmem.so); NULL if it has none. */
void *nvshmemi_below(const char *name)
{
    return library ? dlsym(library, name) : NULL;
}

/* Fills the table of addresses. It runs before the constructors of the program, because those
 * register its kernels. */
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
    /* Makes the table read-only, like the linker's tables. If that fails, calls work nevertheless.
     */
    (void)mprotect(nvshmemi_slots, (size_t)((char *)nvshmemi_slots_end - (char *)nvshmemi_slots),
                   PROT_READ);
}
