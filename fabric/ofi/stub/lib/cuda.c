/*
 * cuda.c: looks for CUDA's libraries as the provider does, where cuda=look says so. Else they
 * count as found, and nothing is called.
 */
#define _GNU_SOURCE
#include "cuda.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static void *runtime;

/* FI_HMEM=system leaves CUDA alone (R22). */
static bool filtered(const struct settings *s)
{
    const char *only = getenv("FI_HMEM");
    return rule(s, KIND_EFA, R22b) && only != NULL && strstr(only, "cuda") == NULL;
}

bool cuda_there(const struct settings *s)
{
    if (setting("hmem", 1) == 0 || filtered(s))
        return false;
    if (!s->look)
        return true;
    if (runtime == NULL)
        runtime = dlopen("libcudart.so", RTLD_NOW | RTLD_LOCAL);
    if (runtime == NULL && rule(s, KIND_EFA, R21a))
        return false;
    const char *driver = s->release < RELEASE(2, 1) ? "libcuda.so" : "libcuda.so.1";
    if (!rule(s, KIND_EFA, R21b))
        return true;
    return dlopen(driver, RTLD_NOW | RTLD_LOCAL) != NULL;
}

void cuda_touch(const struct settings *s)
{
    void *memory = NULL;
    if (!s->look || !cuda_there(s) || runtime == NULL)
        return;
    int (*allocate)(void **, size_t) = (int (*)(void **, size_t))dlsym(runtime, "cudaMalloc");
    int (*release)(void *) = (int (*)(void *))dlsym(runtime, "cudaFree");
    if (allocate != NULL && release != NULL && allocate(&memory, 4096) == 0)
        release(memory);
}
