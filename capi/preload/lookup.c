/*
 * lookup.c: the shim's dlsym, for programs that find SHMEM functions with it: those of Python with
 * ctypes, and others that open their library at run time.
 *
 * With a handle of dlopen, the C library's dlsym returns the library's own function, and the calls
 * would bypass the shim. The shim's dlsym returns the shim's function, and records the library's.
 * For a name that the library does not have it returns NULL, although the shim has the name.
 */
#define _GNU_SOURCE
#include "lookup.h"

#include "head.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

typedef void *dlsym_function(void *, const char *);

/* What preload_lookup returns to lookup.S, in two registers: the C library's dlsym, to which the
 * call is passed on, or NULL and the pointer that the program gets. */
struct outcome {
    dlsym_function *jump;
    void *result;
};

static void *found_by_dlsym[PRELOAD_CALLS]; /* for preload_found_by_dlsym */

/* A hash table from names to call numbers plus one. 0: empty. */
#define BUCKETS 16384
static uint16_t buckets[BUCKETS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Returns the bucket at which the search for a name begins in the hash table. */
static unsigned hash(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return (h ^ h >> 15) % BUCKETS;
}

/* Fills the hash table with the names of all calls. It runs at the first lookup. */
static void fill_buckets(void)
{
    for (unsigned i = 0; i < PRELOAD_CALLS; i++) {
        unsigned at = hash(preload_name(i));
        while (buckets[at])
            at = (at + 1) % BUCKETS;
        buckets[at] = (uint16_t)(i + 1);
    }
}

/* Returns the call number of the function with this name; -1 if the table of calls has none. */
int preload_number(const char *name)
{
    pthread_once(&once, fill_buckets);
    for (unsigned at = hash(name); buckets[at]; at = (at + 1) % BUCKETS)
        if (strcmp(preload_name(buckets[at] - 1u), name) == 0)
            return buckets[at] - 1;
    return -1;
}

/* Returns the SHMEM library's own function with this call number if the program has looked up its
 * name by dlsym, which has returned the shim's function to it; otherwise NULL. */
void *preload_found_by_dlsym(unsigned number)
{
    return __atomic_load_n(&found_by_dlsym[number], __ATOMIC_ACQUIRE);
}

/* Reports whether the file name of a loaded object is that of a SHMEM library, or of a part of Open
 * MPI (mca_). */
bool preload_is_library(const char *path)
{
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    static const char *const libraries[] = {"libshmem", "liboshmem", "libnvshmem", "libsma",
                                            "mca_"};
    for (unsigned i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strncmp(name, libraries[i], strlen(libraries[i])) == 0)
            return true;
    return false;
}

/* Reports whether the shim or a SHMEM library has called dlsym: these get the library's functions,
 * and not the shim's. */
static bool from_library(const void *caller)
{
    Dl_info at;
    struct link_map *map = NULL;
    return preload_own(caller) || (dladdr1(caller, &at, (void **)&map, RTLD_DL_LINKMAP) && map &&
                                   preload_is_library(map->l_name));
}

/* Returns the shim's function of this name, or NULL if it has none. real is the C library's dlsym,
 * because the shim defines dlsym itself. */
static void *shim_function(dlsym_function *real, const char *name)
{
    static void *_Atomic shim;
    if (!shim) {
        Dl_info at;
        if (!dladdr(preload_names, &at))
            return NULL;
        shim = dlopen(at.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    }
    return shim ? real(shim, name) : NULL;
}

/*
 * Reports whether a name may be that of a SHMEM function, by its first letters. It calls no
 * function of the C library: sanitizers call dlsym before those functions work.
 */
static bool may_be_shmem(const char *name)
{
    if (*name == '_')
        return name[1] == 'm' || name[1] == 'n'; /* _my_pe, _num_pes */
    if (name[0] == 'n' && name[1] == 'v')
        name += 2; /* nvshmem_... */
    return name[0] == 's' && (name[1] == 'h' || (name[1] == 't' && name[2] == 'a' &&
                                                 name[3] == 'r')); /* shmem_..., start_pes */
}

/* Called by the shim's dlsym (lookup.S) with its arguments: decides what a program's call of dlsym
 * returns: for a SHMEM function the shim's, if the handle's library has one; else what the C
 * library's dlsym finds. caller is an address in the calling code. */
__attribute__((visibility("hidden"))) struct outcome preload_lookup(void *handle, const char *name,
                                                                    const void *caller)
{
    static dlsym_function *_Atomic real; /* the C library's dlsym; NULL before the first call */
    dlsym_function *jump = real;
    if (!jump) {
        jump = (dlsym_function *)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
        if (!jump) /* the C library is older than 2.34 */
            jump = (dlsym_function *)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
        real = jump;
    }
    struct outcome as_it_is = {jump, NULL};
    if (!name || !may_be_shmem(name) || handle == RTLD_NEXT)
        return as_it_is;
    int number = preload_number(name);
    if (number < 0 || from_library(caller))
        return as_it_is;
    if (handle == RTLD_DEFAULT) {
        /* The loader finds the shim's function, because the shim comes first in the search order.
         */
        struct outcome none = {NULL, NULL};
        return preload_find((unsigned)number, caller) ? as_it_is : none;
    }
    void *found = jump(handle, name);
    if (!found || preload_own(found)) { /* a handle of the program also finds the shim's function */
        struct outcome none = {NULL, NULL};
        return found && !preload_find((unsigned)number, caller) ? none : as_it_is;
    }
    /* The shim calls the function that was found first. If another library has the name, too, the
     * program gets that library's function, and its calls bypass the shim. */
    void *earlier = NULL;
    if (!__atomic_compare_exchange_n(&found_by_dlsym[number], &earlier, found, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) &&
        earlier != found) {
        char text[120];
        snprintf(text, sizeof text, "%s of a second library, by dlsym", name);
        preload_head_bypassing(text);
        return as_it_is;
    }
    struct outcome result = {NULL, shim_function(jump, name)};
    return result.result ? result : as_it_is;
}
