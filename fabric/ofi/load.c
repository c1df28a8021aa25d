/*
 * load.c: opens libfabric and forwards its entry points. It does not decide
 * which file is opened; library.go does.
 */
#define _GNU_SOURCE
#include "load.h"

#include "symbols.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The entry points of the libfabric that was opened; shmemi_ofi_bind fills them in. */
static struct entries {
    uint32_t (*version)(void);
    int (*getinfo)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
                   struct fi_info **);
    void (*freeinfo)(struct fi_info *);
    struct fi_info *(*dupinfo)(const struct fi_info *);
    int (*fabric)(struct fi_fabric_attr *, struct fid_fabric **, void *);
    const char *(*strerror)(int);
} real;

/* Whether libfabric is not to use GPUs, whether it is not to read the kernel's symbol table, and
 * whether its first call has been made. Only that call reads the first two. */
static int leave_gpus, skip_symbols, was_called;

static void *opened; /* the library that real is taken from */

static pthread_mutex_t one_call = PTHREAD_MUTEX_INITIALIZER; /* locked during a getinfo */

/* Calls fi_version of the libfabric that was opened. The library is not linked with libfabric, so
 * the functions that libfabric's headers declare are defined here. */
uint32_t fi_version(void)
{
    return real.version();
}

/* Calls fi_getinfo of the libfabric that was opened. */
int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
               const struct fi_info *hints, struct fi_info **info)
{
    return real.getinfo(version, node, service, flags, hints, info);
}

/* Calls fi_freeinfo of the libfabric that was opened. */
void fi_freeinfo(struct fi_info *info)
{
    real.freeinfo(info);
}

/* Calls fi_dupinfo of the libfabric that was opened. */
struct fi_info *fi_dupinfo(const struct fi_info *info)
{
    return real.dupinfo(info);
}

/* Calls fi_fabric of the libfabric that was opened. */
int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    return real.fabric(attr, fabric, context);
}

/* Calls fi_strerror of the libfabric that was opened. */
const char *fi_strerror(int errnum)
{
    return real.strerror(errnum);
}

/*
 * Saves all signal handlers, for restore_signals. Libraries that libfabric needs install handlers
 * when they are loaded: those of Omni-Path and its predecessor, which Debian 12 links it with,
 * catch SIGINT, SIGTERM, SIGABRT and the faults, print a backtrace and exit with status 1, without
 * an alternate stack. The program must keep its handlers and its death by a signal, and the Go
 * runtime needs its own handlers too. For a signal that cannot be handled both calls fail.
 */
static void save_signals(struct sigaction old[NSIG])
{
    for (int s = 1; s < NSIG; s++)
        sigaction(s, NULL, &old[s]);
}

/* Restores the handlers that save_signals has saved. */
static void restore_signals(const struct sigaction old[NSIG])
{
    for (int s = 1; s < NSIG; s++)
        sigaction(s, &old[s], NULL);
}

/*
 * Sets the option of efa that lets the process fork. Where the kernel or rdma-core copies no
 * registered pages for a child (before 5.13 and 35), efa ends a process that forks, unless the
 * option tells it to keep these pages out of the child: then a child that touches the heap faults,
 * and a child that starts a program does not. With huge pages of its own the provider cannot do
 * that, and the option alone ends the process.
 */
static int allow_forks(void)
{
    const char *huge = getenv("FI_EFA_USE_HUGE_PAGE");
    if (huge == NULL || *huge == 0 || *huge == '0')
        return setenv("FI_EFA_FORK_SAFE", "1", 0);
    return 0;
}

/* Sets the environment variables that libfabric's providers read when they start. Returns 0, or
 * another number after an error. */
int shmemi_ofi_set_options(void)
{
    /* Providers also cache registrations, and notice that memory was unmapped by patching functions
     * of the C library, which not every unmapping calls. A user who sets the variable decides
     * otherwise. docs/decisions/0019 */
    return setenv("FI_MR_CACHE_MONITOR", "disabled", 0) | allow_forks();
}

/* Loads libfabric; with present, only if the process has loaded it. Returns the handle, or NULL and
 * the cause in why. */
void *shmemi_ofi_open_library(const char *file, int present, char *why, size_t len)
{
    struct sigaction old[NSIG];
    /* If the program has loaded libfabric itself, it may use GPUs through libfabric: getinfo then
     * does not hide them. */
    void *before = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (before != NULL) {
        dlclose(before);
        __atomic_store_n(&was_called, 1, __ATOMIC_RELAXED);
    }
    save_signals(old);
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | (present ? RTLD_NOLOAD : 0));
    restore_signals(old);
    if (library == NULL) {
        const char *reason = dlerror();
        snprintf(why, len, "%s", reason != NULL ? reason : "is not loaded");
    }
    return library;
}

/* Looks up libfabric's entry points in an open library. Returns the name of a missing one, or
 * NULL. */
const char *shmemi_ofi_bind(void *library)
{
    struct entries found;
#define TAKE(name)                                                                                 \
    if ((*(void **)&found.name = dlsym(library, "fi_" #name)) == NULL)                             \
    return "fi_" #name
    TAKE(version);
    TAKE(getinfo);
    TAKE(freeinfo);
    TAKE(dupinfo);
    TAKE(fabric);
    TAKE(strerror);
#undef TAKE
    real = found; /* only now: without a function, a library that was opened before stays in use */
    opened = library;
    return NULL;
}

/* Returns the file from which a library was loaded, or "". */
const char *shmemi_ofi_library_file(void *library)
{
    struct link_map *map = NULL;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == NULL)
        return "";
    return map->l_name;
}

/* Closes a library that shmemi_ofi_open_library has loaded. */
void shmemi_ofi_close_library(void *library)
{
    dlclose(library);
}

/* Sets whether libfabric leaves GPUs alone. Only its first call reads that, for the whole process.
 */
void shmemi_ofi_leave_gpus(int yes)
{
    __atomic_store_n(&leave_gpus, yes, __ATOMIC_RELAXED);
}

/* Sets whether the first call of libfabric skips the kernel's symbol table. */
void shmemi_ofi_skip_symbols(int yes)
{
    __atomic_store_n(&skip_symbols, yes, __ATOMIC_RELAXED);
}

/* Returns the function that libfabric calls as fopen, or 0 if its import is not found. */
uintptr_t shmemi_ofi_open_import(void)
{
    void **import = shmemi_ofi_import(opened);
    return import != NULL ? (uintptr_t)*import : 0;
}

/*
 * Calls fi_getinfo, and restores the signal handlers that libraries of libfabric replace. In the
 * first call it hides the kernel's symbol table (symbols.c) if no NIC needs it. In that call
 * libfabric also searches for CUDA, and efa allocates memory of the current GPU to try it: that
 * makes a context of some 500 MB on GPU 0 in each process, and takes half a second. For a process
 * that moves no memory of GPUs, FI_HMEM=system prevents that. Only the first call reads the
 * variable, which is removed again: a child may want its GPUs.
 *
 * Two threads may open a mesh each. One call runs at a time: a second one would save the handlers
 * that the libraries of the first have just installed.
 */
static int getinfo(uint32_t version, uint64_t flags, struct fi_info *hints, struct fi_info **list)
{
    const char *name = "FI_HMEM";
    struct sigaction old[NSIG];
    pthread_mutex_lock(&one_call);
    int first = !__atomic_exchange_n(&was_called, 1, __ATOMIC_RELAXED);
    int hide_gpus = first && __atomic_load_n(&leave_gpus, __ATOMIC_RELAXED) && getenv(name) == NULL;
    void **hidden = NULL;
    if (hide_gpus)
        setenv(name, "system", 0);
    if (first && __atomic_load_n(&skip_symbols, __ATOMIC_RELAXED))
        hidden = shmemi_ofi_hide_symbols(opened);
    save_signals(old);
    int ret = fi_getinfo(version, NULL, NULL, flags, hints, list);
    restore_signals(old);
    shmemi_ofi_show_symbols(opened, hidden);
    if (hide_gpus)
        unsetenv(name);
    pthread_mutex_unlock(&one_call);
    return ret;
}

/* Calls fi_getinfo of the loaded library, for the version of its API. */
int shmemi_ofi_getinfo(uint32_t version, struct fi_info *hints, struct fi_info **list)
{
    return getinfo(version, 0, hints, list);
}

/* Lists all providers of the library, also those that have no device here. */
int shmemi_ofi_known(uint32_t version, struct fi_info **list)
{
    return getinfo(version, FI_PROV_ATTR_ONLY, NULL, list);
}

/* FI_MR_BASIC and FI_MR_SCALABLE, whose use is a warning with the headers of libfabric 2. */
enum { MR_BASIC = 1 << 0, MR_SCALABLE = 1 << 1 };

/* Lists all endpoints that a provider offers, whatever their features: the hints allow every mode.
 * Messages use it to say what a provider that was not chosen offers. */
int shmemi_ofi_anything(uint32_t version, const char *provider, struct fi_info **list)
{
    struct fi_info *hints = fi_dupinfo(NULL);
    if (hints == NULL)
        return -FI_ENOMEM;
    hints->mode = ~UINT64_C(0);
    hints->domain_attr->mode = ~UINT64_C(0);
    hints->domain_attr->mr_mode = ~(MR_BASIC | MR_SCALABLE);
    hints->fabric_attr->prov_name = strdup(provider);
    int ret = getinfo(version, 0, hints, list);
    fi_freeinfo(hints);
    return ret;
}
