/* load.c: finds the functions of a plugin, and calls them. */
#define _GNU_SOURCE
#include "load.h"

#include <dlfcn.h>
#include <stdio.h>

#define PREFIX "shmemx_bootstrap_"

/* Loads the library of a bootstrap plugin and finds its five functions. Returns 0, or -1 and the
 * cause in text. The library stays loaded (RTLD_NODELETE). */
int shmemi_plugin_load(const char *file, struct shmemi_plugin *p, char *text, size_t len)
{
    const struct {
        const char *name;
        void **to;
    } functions[] = {
        {PREFIX "rank", (void **)&p->rank},           {PREFIX "size", (void **)&p->size},
        {PREFIX "allgather", (void **)&p->allgather}, {PREFIX "barrier", (void **)&p->barrier},
        {PREFIX "abort", (void **)&p->abort_},
    };
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL) {
        snprintf(text, len, "%s", dlerror());
        return -1;
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        *functions[i].to = dlsym(library, functions[i].name);
        if (*functions[i].to == NULL) {
            snprintf(text, len, "it has no function %s (shmemx_bootstrap.h says what it needs)",
                     functions[i].name);
            return -1;
        }
    }
    return 0;
}

/* Returns this PE's number, as the plugin says. */
int shmemi_plugin_rank(const struct shmemi_plugin *p)
{
    return p->rank();
}

/* Returns the number of PEs, as the plugin says. */
int shmemi_plugin_size(const struct shmemi_plugin *p)
{
    return p->size();
}

/* Calls the allgather of the plugin: n bytes of each PE. Returns the plugin's result, 0 for
 * success. */
int shmemi_plugin_allgather(const struct shmemi_plugin *p, const void *mine, void *all, size_t n,
                            int timeout_ms)
{
    return p->allgather(mine, all, n, timeout_ms);
}

/* Calls the barrier of the plugin. Returns the plugin's result, 0 for success. */
int shmemi_plugin_barrier(const struct shmemi_plugin *p, int timeout_ms)
{
    return p->barrier(timeout_ms);
}

/* Calls the abort of the plugin. */
void shmemi_plugin_abort(const struct shmemi_plugin *p, int status, const char *reason)
{
    p->abort_(status, reason);
}
