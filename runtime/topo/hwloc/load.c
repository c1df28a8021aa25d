/*
 * load.c: opens hwloc and lets it describe this machine. One thread calls it at a time.
 */
#define _GNU_SOURCE
#include "load.h"

#include <dlfcn.h>
#include <hwloc.h>
#include <hwloc/export.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Constants of hwloc that are not in the oldest headers with which this is built. BLACKLIST (2.1)
 * leaves out a component. LESS (2.8) leaves out distances between NUMA nodes, attributes of memory
 * and kinds of processors, for each of which hwloc reads files of every processor. */
#define BLACKLIST (1UL << 0)
#define LESS ((1UL << 7) | (1UL << 8) | (1UL << 9))
#define WITH_LESS 0x20800 /* 2.8.0, the first with LESS, in the form of hwloc_get_api_version */

/* The functions of hwloc. */
static struct {
    __typeof__(hwloc_get_api_version) *version;
    __typeof__(hwloc_topology_init) *init;
    __typeof__(hwloc_topology_set_flags) *set_flags;
    __typeof__(hwloc_topology_set_all_types_filter) *filter_all;
    __typeof__(hwloc_topology_set_type_filter) *filter;
    __typeof__(hwloc_topology_load) *load;
    __typeof__(hwloc_topology_export_xmlbuffer) *export;
    __typeof__(hwloc_free_xmlbuffer) *free;
    __typeof__(hwloc_topology_destroy) *destroy;
    int (*set_components)(hwloc_topology_t, unsigned long, const char *); /* since 2.1 */
} real;

/* Loads the library of hwloc from a file and finds its functions. Returns major * 256 + minor of
 * its version, which is hwloc's number for it without the last byte, the revision. After a failure
 * it returns 0, and why, an array of len bytes, has the cause. */
unsigned shmemi_hwloc_open(const char *file, char *why, size_t len)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *reason = dlerror();
        snprintf(why, len, "%s", reason != NULL ? reason : "it cannot be loaded");
        return 0;
    }
#define TAKE(name, symbol)                                                                         \
    if ((*(void **)&real.name = dlsym(library, symbol)) == NULL) {                                 \
        snprintf(why, len, "%s has no function %s", file, symbol);                                 \
        dlclose(library);                                                                          \
        return 0;                                                                                  \
    }
    TAKE(version, "hwloc_get_api_version")
    TAKE(init, "hwloc_topology_init")
    TAKE(set_flags, "hwloc_topology_set_flags")
    TAKE(filter_all, "hwloc_topology_set_all_types_filter")
    TAKE(filter, "hwloc_topology_set_type_filter")
    TAKE(load, "hwloc_topology_load")
    TAKE(export, "hwloc_topology_export_xmlbuffer")
    TAKE(free, "hwloc_free_xmlbuffer")
    TAKE(destroy, "hwloc_topology_destroy")
#undef TAKE
    *(void **)&real.set_components = dlsym(library, "hwloc_topology_set_components");
    return real.version() >> 8;
}

/*
 * Selects the objects of the description: sockets, NUMA nodes, and everything between them and the
 * devices. With the levels of caches and cores a machine of 192 processors has three times as many
 * objects. Processors that this process may not use are included, because devices may be near them.
 * Returns 0, or -1 with errno set and in *step the name of the function that failed.
 */
static int choose(hwloc_topology_t t, const char **step)
{
    static const char *const slow[] = {"x86", "opencl", "cuda", "nvml", "rsmi", "levelzero", "gl"};
    static const hwloc_obj_type_t io[] = {HWLOC_OBJ_BRIDGE, HWLOC_OBJ_PCI_DEVICE,
                                          HWLOC_OBJ_OS_DEVICE};

    unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED;

    if (real.version() >= WITH_LESS)
        flags |= LESS;
    *step = "hwloc_topology_set_flags";
    if (real.set_flags(t, flags) != 0)
        return -1;
    *step = "hwloc_topology_set_all_types_filter";
    if (real.filter_all(t, HWLOC_TYPE_FILTER_KEEP_NONE) != 0)
        return -1;
    *step = "hwloc_topology_set_type_filter";
    if (real.filter(t, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL) != 0)
        return -1;
    for (size_t i = 0; i < sizeof io / sizeof io[0]; i++)
        if (real.filter(t, io[i], HWLOC_TYPE_FILTER_KEEP_ALL) != 0)
            return -1;
    /* These components start drivers or run on every processor, and other components read the same
     * facts from the kernel. A version of hwloc without a component returns an error for its name,
     * which needs no handling. */
    for (size_t i = 0; i < sizeof slow / sizeof slow[0] && real.set_components != NULL; i++)
        real.set_components(t, BLACKLIST, slow[i]);
    return 0;
}

/*
 * Makes a first topology, for which hwloc searches for plug-ins: each loads the libraries of its
 * device, and none is needed. So the search gets a folder that does not exist, unless the user has
 * set one.
 *
 * Other threads of the program may read the environment meanwhile. setenv may move its array and
 * free the old one, and unsetenv moves entries, so that a reader finds freed memory or misses a
 * variable. Therefore the variable is in an array of this unit's own, which is never freed, and is
 * its last entry. The array stays the environment; setenv replaces it when it next adds a variable.
 */
static int make_topology(hwloc_topology_t *t)
{
    static char variable[] = "HWLOC_PLUGINS_PATH=/nowhere";
    /* The arrays so far. There is a further one only if the program has called setenv since. */
    static struct kept {
        struct kept *next;
        char *entries[];
    } * last;
    char **old = environ, **made;
    size_t n = 0;

    if (getenv("HWLOC_PLUGINS_PATH") != NULL)
        return real.init(t);
    while (old != NULL && old[n] != NULL)
        n++;
    if (last == NULL || last->entries != old) {
        struct kept *k = calloc(1, sizeof *k + (n + 2) * sizeof *old);
        if (k == NULL)
            return -1;
        if (n > 0)
            memcpy(k->entries, old, n * sizeof *old);
        k->next = last;
        last = k;
    }
    made = last->entries; /* which has room for one more, as after an earlier call */
    __atomic_store_n(&made[n], variable, __ATOMIC_RELEASE);
    __atomic_store_n(&environ, made, __ATOMIC_RELEASE);
    int failed = real.init(t);
    if (environ == made && made[n] == variable)
        __atomic_store_n(&made[n], NULL, __ATOMIC_RELEASE);
    else
        unsetenv("HWLOC_PLUGINS_PATH"); /* the program has changed its environment meanwhile */
    return failed;
}

/* Reads the topology of this machine and returns it as XML of *len bytes, with the zero at the end.
 * shmemi_hwloc_free frees it. After a failure it returns NULL, and *step names the call that
 * failed.
 */
char *shmemi_hwloc_read(int *len, const char **step)
{
    hwloc_topology_t t;
    char *text = NULL;

    *step = "hwloc_topology_init";
    if (make_topology(&t) != 0)
        return NULL;
    if (choose(t, step) == 0) {
        *step = "hwloc_topology_load";
        if (real.load(t) == 0) {
            *step = "hwloc_topology_export_xmlbuffer";
            if (real.export(t, &text, len, 0) != 0)
                text = NULL;
            else if ((*step = "malloc", text != NULL)) {
                /* The buffer belongs to the topology, which is destroyed below. */
                char *copy = malloc((size_t)*len);
                for (int i = 0; copy != NULL && i < *len; i++)
                    copy[i] = text[i];
                real.free(t, text);
                text = copy;
            }
        }
    }
    real.destroy(t);
    return text;
}

/* Frees the XML. */
void shmemi_hwloc_free(char *text)
{
    free(text);
}
