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

/* FI_HMEM=system leaves CUDA alone (R22). The first call reads it for the whole process. */
static bool filtered(const struct settings *s)
{
    static int spared = -1;
    const char *only = getenv("FI_HMEM");
    if (__atomic_load_n(&spared, __ATOMIC_RELAXED) < 0)
        __atomic_store_n(&spared, only != NULL && strstr(only, "cuda") == NULL, __ATOMIC_RELAXED);
    return rule(s, KIND_EFA, R22c) && spared;
}

bool cuda_there(const struct settings *s)
{
    const bool spared = filtered(s);
    if (setting("hmem", 1) == 0 || spared)
        return false;
    if (!s->look)
        return true;
    if (runtime == NULL)
        runtime = dlopen("libcudart.so", RTLD_NOW | RTLD_LOCAL);
    if (runtime == NULL && rule(s, KIND_EFA, R21a))
        return false;
    if (rule(s, KIND_EFA, R21b) && dlopen("libcuda.so", RTLD_NOW | RTLD_LOCAL) == NULL)
        return false;
    return !rule(s, KIND_EFA, R21c) || dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != NULL;
}

void cuda_touch(const struct settings *s)
{
    void *memory = NULL;
    const char *no_p2p = getenv("FI_HMEM_DISABLE_P2P");
    if (!s->look || !cuda_there(s) || runtime == NULL)
        return;
    if (rule(s, KIND_EFA, R22e) && no_p2p != NULL && *no_p2p == '1')
        return;
    int (*allocate)(void **, size_t) = (int (*)(void **, size_t))dlsym(runtime, "cudaMalloc");
    int (*release)(void *) = (int (*)(void *))dlsym(runtime, "cudaFree");
    if (allocate != NULL && release != NULL && allocate(&memory, 4096) == 0)
        release(memory);
}
