/*
 * load.c: libfabric by dlopen, behind functions of the same names.
 *
 * Only these are symbols of libfabric.so that the inline functions of its
 * headers need; defining them here keeps the headers usable as they are, and
 * the version script keeps them out of sight.
 */
#define _GNU_SOURCE
#include "load.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define SONAME "libfabric.so.1"

/* Where vendors put theirs when it is not on the default path. */
static const char *const places[] = {
    SONAME,
    "/opt/amazon/efa/lib/" SONAME,
    "/opt/amazon/efa/lib64/" SONAME,
    "/opt/cray/libfabric/default/lib64/" SONAME,
    "/opt/cray/lib64/" SONAME,
};

static struct {
    void *handle;
    char file[512];
    int (*getinfo)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
                   struct fi_info **);
    void (*freeinfo)(struct fi_info *);
    struct fi_info *(*dupinfo)(const struct fi_info *);
    int (*fabric)(struct fi_fabric_attr *, struct fid_fabric **, void *);
    uint32_t (*version)(void);
    const char *(*strerror)(int);
} lib;

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

static int resolve(void *handle)
{
    const struct {
        const char *name;
        void **to;
    } symbols[] = {
        {"fi_getinfo", (void **)&lib.getinfo}, {"fi_freeinfo", (void **)&lib.freeinfo},
        {"fi_dupinfo", (void **)&lib.dupinfo}, {"fi_fabric", (void **)&lib.fabric},
        {"fi_version", (void **)&lib.version}, {"fi_strerror", (void **)&lib.strerror},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if ((*symbols[i].to = dlsym(handle, symbols[i].name)) == NULL)
            return -1;
    struct link_map *map;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0)
        snprintf(lib.file, sizeof lib.file, "%s", map->l_name);
    lib.handle = handle;
    return 0;
}

/* One attempt; appends why it failed to error. */
static int attempt(const char *name, int flags, char *error, size_t size)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | flags);
    if (handle && resolve(handle) == 0)
        return 0;
    const char *why = dlerror();
    size_t used = strlen(error);
    if (!(flags & RTLD_NOLOAD))
        snprintf(error + used, size - used, "%s%s", used ? "; " : "", why ? why : name);
    if (handle)
        dlclose(handle);
    return -1;
}

static int load(const char *name, char *error, size_t size)
{
    if (lib.handle)
        return 0;
    if (name && *name)
        return attempt(name, 0, error, size);
    /* A program that uses libfabric itself must not get a second one. */
    if (attempt(SONAME, RTLD_NOLOAD, error, size) == 0)
        return 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (attempt(places[i], 0, error, size) == 0)
            return 0;
    return -1;
}

int shmemi_ofi_load(const char *name, char *error, size_t size)
{
    struct sigaction before[NSIG];
    error[0] = '\0';
    pthread_mutex_lock(&loading);
    /* libpsm_infinipath and libpsm2, which Debian's libfabric is linked with,
     * take over SIGSEGV and its kin when they are loaded, print a backtrace and
     * exit with status 1. The program's handlers, and its death by a signal,
     * are its own. */
    for (int s = 1; s < NSIG; s++)
        sigaction(s, NULL, &before[s]);
    int rc = load(name, error, size);
    for (int s = 1; s < NSIG; s++)
        sigaction(s, &before[s], NULL);
    pthread_mutex_unlock(&loading);
    return rc;
}

const char *shmemi_ofi_loaded(void)
{
    return lib.handle ? lib.file : NULL;
}

int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
               const struct fi_info *hints, struct fi_info **info)
{
    return lib.getinfo(version, node, service, flags, hints, info);
}

void fi_freeinfo(struct fi_info *info)
{
    lib.freeinfo(info);
}

struct fi_info *fi_dupinfo(const struct fi_info *info)
{
    return lib.dupinfo(info);
}

int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    return lib.fabric(attr, fabric, context);
}

uint32_t fi_version(void)
{
    return lib.version();
}

const char *fi_strerror(int errnum)
{
    return lib.strerror(errnum);
}
