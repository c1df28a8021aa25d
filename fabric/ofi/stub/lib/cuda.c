/*
 * cuda.c: loads CUDA's libraries as the provider does if the stub's setting is cuda=look. Otherwise
 * they count as found, and nothing is loaded.
 */
#define _GNU_SOURCE
#include "cuda.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void *runtime;

/* Reports whether a list has a name between separators; upper and lower case are the same. */
static bool lists(const char *names, const char *name, char separator)
{
    const size_t n = strlen(name);
    for (const char *at = names; at != NULL; at = strchr(at, separator)) {
        at += *at == separator;
        if (strncasecmp(at, name, n) == 0 && (at[n] == 0 || at[n] == separator))
            return true;
    }
    return false;
}

/* Reports whether FI_HMEM, such as FI_HMEM=system, excludes CUDA. By rule R22c libfabric then makes
 * no CUDA calls; rule R22d says which character separates names. Only the first call reads the
 * variable, for the whole process. */
static bool filtered(const struct settings *s)
{
    static int excluded = -1;
    const char *only = getenv("FI_HMEM");
    const char separator = rule(s, KIND_EFA, R22d) ? ';' : ',';
    if (__atomic_load_n(&excluded, __ATOMIC_RELAXED) < 0)
        __atomic_store_n(&excluded, only != NULL && *only != 0 && !lists(only, "cuda", separator),
                         __ATOMIC_RELAXED);
    return rule(s, KIND_EFA, R22c) && excluded;
}

/* Loads NVML, by which the provider finds out whether there are GPUs (rules.tsv: R21d). */
static void open_nvml(const struct settings *s)
{
    static void *nvml;
    if (nvml == NULL && rule(s, KIND_EFA, R21d))
        nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
}

/*
 * Reports whether CUDA counts as found. With cuda=look the libraries are loaded in the provider's
 * order. The rules R21a to R21c each say that the provider needs one of them.
 */
bool cuda_found(const struct settings *s)
{
    const bool excluded = filtered(s);
    if (setting("hmem", 1) == 0 || excluded)
        return false;
    if (!s->loads_cuda)
        return true;
    if (runtime == NULL)
        runtime = dlopen("libcudart.so", RTLD_NOW | RTLD_LOCAL);
    if (runtime == NULL && rule(s, KIND_EFA, R21a))
        return false;
    if (rule(s, KIND_EFA, R21b) && dlopen("libcuda.so", RTLD_NOW | RTLD_LOCAL) == NULL)
        return false;
    if (rule(s, KIND_EFA, R21c) && dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) == NULL)
        return false;
    open_nvml(s);
    return true;
}

/* Allocates and frees memory of the current device, as the provider does to try CUDA, unless
 * FI_HMEM_DISABLE_P2P=1 forbids it (rule R22e). */
void cuda_touch(const struct settings *s)
{
    void *memory = NULL;
    const char *no_p2p = getenv("FI_HMEM_DISABLE_P2P");
    if (!s->loads_cuda || !cuda_found(s) || runtime == NULL)
        return;
    if (rule(s, KIND_EFA, R22e) && no_p2p != NULL && *no_p2p == '1')
        return;
    int (*allocate)(void **, size_t) = (int (*)(void **, size_t))dlsym(runtime, "cudaMalloc");
    int (*release)(void *) = (int (*)(void *))dlsym(runtime, "cudaFree");
    if (allocate != NULL && release != NULL && allocate(&memory, 4096) == 0)
        release(memory);
}

/* Calls cudaMemcpy where the provider would copy with CUDA: when an operation on memory of a GPU is
 * posted (gpu_posted). It copies no bytes: tests have a stand-in for CUDA that lists its calls
 * (testdata/cudart.c), and so see whether the provider's data path may call CUDA. */
void cuda_copy(const struct settings *s)
{
    if (!s->loads_cuda || !cuda_found(s) || runtime == NULL)
        return;
    int (*copy)(void *, const void *, size_t, int) =
        (int (*)(void *, const void *, size_t, int))dlsym(runtime, "cudaMemcpy");
    if (copy != NULL)
        copy(NULL, NULL, 0, 4); /* cudaMemcpyDefault */
}
