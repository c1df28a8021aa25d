/*
 * load.h: calls the five functions of include/shmemx_bootstrap.h in a library that is loaded at
 * run time.
 */
#ifndef SHMEMI_PLUGIN_LOAD_H
#define SHMEMI_PLUGIN_LOAD_H

#include <stddef.h>

struct shmemi_plugin {
    int (*rank)(void);
    int (*size)(void);
    int (*allgather)(const void *mine, void *all, size_t nbytes, int timeout_ms);
    int (*barrier)(int timeout_ms);
    void (*abort_)(int status, const char *reason);
};

/* Loads the library and finds its functions. Returns 0, or -1 and the cause in text. */
int shmemi_plugin_load(const char *file, struct shmemi_plugin *p, char *text, size_t len);

int shmemi_plugin_rank(const struct shmemi_plugin *p);
int shmemi_plugin_size(const struct shmemi_plugin *p);
int shmemi_plugin_allgather(const struct shmemi_plugin *p, const void *mine, void *all, size_t n,
                            int timeout_ms);
int shmemi_plugin_barrier(const struct shmemi_plugin *p, int timeout_ms);
void shmemi_plugin_abort(const struct shmemi_plugin *p, int status, const char *reason);

#endif
