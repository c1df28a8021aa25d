/*
 * loader.c: loads libshmem_core.so, the Go half.
 *
 * It is loaded at the first init and never before: a Go library starts five
 * threads when it is loaded, and a child forked before its first Go call hangs
 * in that call. It is never unloaded, because a Go runtime cannot be.
 *
 * Asynchronous signals are blocked meanwhile. The Go runtime's threads inherit
 * the mask, so the program's signals keep going to the program's threads.
 */
#define _GNU_SOURCE
#include "loader.h"

#include "error.h"
#include "fault.h"
#include "preflight.h"
#include "standard_files.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define CORE_FILE "libshmem_core.so"

/* Returns the path from which the dynamic linker has loaded libshmem.so. */
const char *shmemi_front_path(void)
{
    static char resolved[PATH_MAX];
    Dl_info info;
    if (resolved[0] == '\0' && dladdr((void *)&shmemi_state, &info) && info.dli_fname)
        snprintf(resolved, sizeof resolved, "%s", info.dli_fname);
    return resolved;
}

/* Writes the path of libshmem_core.so, which is in the folder of this library. */
static void core_path(char *path, size_t size)
{
    const char *front = shmemi_front_path();
    const char *slash = strrchr(front, '/');
    snprintf(path, size, "%.*s" CORE_FILE, slash ? (int)(slash - front + 1) : 0, front);
}

/* Loads the core with asynchronous signals blocked. Returns NULL if that fails; dlerror has the
 * reason. */
static void *load(const char *path)
{
    sigset_t all, before;
    sigfillset(&all);
    /* These signals are for the thread that caused them, and cannot be delayed. */
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    sigdelset(&all, SIGTRAP);
    sigdelset(&all, SIGABRT);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    void *core = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (core != NULL) {
        shmemi_fault_open();
        shmemi_abort_open();
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return core;
}

/* Tests that Go can start, loads the core, and checks that both halves are of one build. Returns
 * the core's table, or NULL with the reason in error. The caller has the lock of lifecycle.c. */
const struct shmemi_core *shmemi_core_open(char *error, size_t size)
{
    static const struct shmemi_core *table;
    char path[PATH_MAX];
    shmemi_occupy_standard_files(); /* again at each init: the program may have closed some */
    if (table)
        return table;

    core_path(path, sizeof path);
    if (!shmemi_preflight(path, error, size))
        return NULL;
    void *core = load(path);
    if (core == NULL) {
        snprintf(error, size, "%s cannot be loaded: %s (install it beside %s)", path, dlerror(),
                 shmemi_front_path());
        return NULL;
    }
    const struct shmemi_core *(*get)(shmemi_abort_fn *);
    *(void **)&get = dlsym(core, "shmemi_core_table");
    const struct shmemi_core *t = get ? get(shmemi_abort_core) : NULL;
    if (t == NULL || t->version != SHMEMI_ABI_VERSION || t->size != sizeof *t ||
        t->state_size != sizeof(struct shmemi_state) || strcmp(t->build, SHMEMI_VERSION) != 0) {
        snprintf(error, size,
                 "%s is version %s and %s is version %s (install both files of one version)", path,
                 t ? t->build : "unknown", shmemi_front_path(), SHMEMI_VERSION);
        return NULL;
    }
    table = t;
    return table;
}
