/*
 * launch.c: collective launches, of kernels whose blocks all run at the same time, for callers that
 * find these functions by name, such as bindings of Python.
 *
 * Compiled programs use the inline forms of the headers, which call the CUDA runtime that the
 * program is linked with. This library is linked with none, and uses the shared CUDA runtime of the
 * process. That runtime does not know the kernels of a program that is linked with the static one,
 * and returns an error for them.
 */
#define _GNU_SOURCE
#include "own.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* dim3 of CUDA: the numbers of blocks of a grid, or of threads of a block. */
struct dim {
    unsigned x, y, z;
};

/* cudaLaunchAttribute and cudaLaunchConfig_t. */
struct attribute {
    int id;
    int pad;
    union {
        int cooperative;
        char bytes[64];
    } value;
};
_Static_assert(sizeof(struct attribute) == 72, "the size of the struct in CUDA");
struct config {
    struct dim grid, block;
    size_t shared; /* bytes of dynamic shared memory for each block */
    void *stream;
    struct attribute *attributes;
    unsigned n; /* the number of attributes */
};
_Static_assert(sizeof(struct config) == 56, "the size of the struct in CUDA");

/* cudaFuncAttributes. Later versions of CUDA append members, for which `more` has room. */
struct kernel {
    size_t shared, constant, local; /* bytes */
    int threads, registers;         /* the most threads of a block; the registers of a thread */
    char more[256];
};

enum { ATTRIBUTE_COOPERATIVE = 2 }; /* cudaLaunchAttributeCooperative */
enum { MAX_ATTRIBUTES = 32 };       /* of a launch; the limit of this library */
/* cudaDevAttrCooperativeLaunch and cudaDevAttrMultiProcessorCount. */
enum { CAN_COOPERATE = 95, PROCESSORS = 16 };

/* The functions of the CUDA runtime, once open_runtime has found one; fill_runtime has their names.
 * Those that return int return a cudaError_t, 0 for success. */
static struct runtime {
    int (*device)(int *device);
    int (*query)(int *value, int attribute, int device);
    int (*fit)(int *blocks, const void *func, int threads, size_t shared);
    int (*launch)(const struct config *config, const void *func, void **args);
    int (*kernel)(struct kernel *kernel, const void *func);
    const char *(*describe)(int error);
} runtime;

/* Finds a function by its name in a library, or, if library is NULL, in the process; NULL if there
 * is none. */
static void *find_function(void *library, const char *name)
{
    return dlsym(library == NULL ? RTLD_DEFAULT : library, name);
}

/* Fills in runtime with functions from a library, or, if library is NULL, from the whole process.
 * False: it lacks a function. */
static bool fill_runtime(void *library)
{
    struct runtime r = {
        .device = (int (*)(int *))find_function(library, "cudaGetDevice"),
        .query = (int (*)(int *, int, int))find_function(library, "cudaDeviceGetAttribute"),
        .fit = (int (*)(int *, const void *, int, size_t))find_function(
            library, "cudaOccupancyMaxActiveBlocksPerMultiprocessor"),
        .launch = (int (*)(const struct config *, const void *, void **))find_function(
            library, "cudaLaunchKernelExC"),
        .kernel =
            (int (*)(struct kernel *, const void *))find_function(library, "cudaFuncGetAttributes"),
        .describe = (const char *(*)(int))find_function(library, "cudaGetErrorString"),
    };
    if (r.device == NULL || r.query == NULL || r.fit == NULL || r.launch == NULL ||
        r.kernel == NULL || r.describe == NULL)
        return false;
    runtime = r;
    return true;
}

/* Finds the CUDA runtime that is loaded already; a second one would not know the program's kernels.
 * Returns 0, or an error that it has printed. */
static int open_runtime(const char *call)
{
    static const char *const names[] = {"libcudart.so.13", "libcudart.so.12"};
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    bool found = runtime.launch != NULL || fill_runtime(NULL);
    for (size_t i = 0; !found && i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
        found = library != NULL && fill_runtime(library);
        if (library != NULL && !found)
            dlclose(library); /* the program may unload it */
    }
    pthread_mutex_unlock(&mutex);
    if (found)
        return 0;
    fprintf(stderr,
            "shmem: %s: the process has no libcudart.so with cudaLaunchKernelExC (call the inline "
            "form of nvshmemx.h, or link the program with -cudart shared)\n",
            call);
    return NVSHMEMX_ERROR_NOT_SUPPORTED;
}

/* Prints an error of the CUDA runtime, and returns the status of a failed launch. */
static int refuse(const char *call, const char *what, int error, const char *remedy)
{
    fprintf(stderr, "shmem: %s: %s: %s (%s)\n", call, what, runtime.describe(error), remedy);
    return NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
}

/* Returns the product of three dimensions: the number of blocks of a grid, or of threads of a
 * block. */
static unsigned long long product(struct dim d)
{
    return (unsigned long long)d.x * d.y * d.z;
}

/* Stores in *limit how many blocks of a kernel run at the same time on the thread's GPU: blocks per
 * multiprocessor times multiprocessors; 0 if not one block fits. A collective launch may have no
 * more, because its blocks wait for each other. Returns 0, or an error that it has printed. */
static int max_blocks(const void *func, struct dim block, size_t shared, int *limit,
                      const char *call)
{
    int device = 0, can = 0, processors = 0, blocks = 0;
    if (func == NULL || limit == NULL) {
        fprintf(stderr, "shmem: %s: %s is NULL (pass %s)\n", call,
                func == NULL ? "func" : "gridsize",
                func == NULL ? "a kernel" : "the address of an int");
        return NVSHMEMX_ERROR_INVALID_VALUE;
    }
    if (product(block) == 0 || product(block) > 1024) {
        fprintf(stderr,
                "shmem: %s: a block of %llu threads (pass a kernel, and blocks of 1 to 1024 "
                "threads)\n",
                call, product(block));
        return NVSHMEMX_ERROR_INVALID_VALUE;
    }
    if (open_runtime(call) != 0)
        return NVSHMEMX_ERROR_NOT_SUPPORTED;
    int error = runtime.device(&device);
    if (error == 0)
        error = runtime.query(&can, CAN_COOPERATE, device);
    if (error == 0)
        error = runtime.query(&processors, PROCESSORS, device);
    if (error == 0 && can)
        error = runtime.fit(&blocks, func, (int)product(block), shared);
    if (error != 0)
        return refuse(call, "ask how many blocks fit", error,
                      "pass func of a __global__ function that is compiled for this GPU");
    if (!can) {
        fprintf(stderr, "shmem: %s: GPU %d launches no cooperative kernels (use another GPU)\n",
                call, device);
        return NVSHMEMX_ERROR_NOT_SUPPORTED;
    }
    *limit = blocks * processors;
    return 0;
}

/* Prints why not one block of a kernel runs, and returns the status of a failed launch. */
static int refuse_block(const struct config *c, const void *func, const char *call)
{
    struct kernel k;
    int error = runtime.kernel(&k, func);
    if (error != 0)
        return refuse(call, "ask for a kernel's registers", error, "check func");
    if ((unsigned long long)k.threads < product(c->block))
        fprintf(stderr,
                "shmem: %s: a block of %llu threads does not run: the kernel takes %d registers a "
                "thread, with which a block has at most %d (compile it with "
                "__launch_bounds__(%llu), or launch smaller blocks)\n",
                call, product(c->block), k.registers, k.threads, product(c->block));
    else
        fprintf(stderr,
                "shmem: %s: a block with %zu bytes of shared memory does not run (launch with "
                "less)\n",
                call, c->shared + k.shared);
    return NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
}

/* Launches a kernel cooperatively; a grid of zeros means as many blocks as run at the same time.
 * Returns 0, or an error that it has printed. */
static int launch(struct config c, const void *func, void **args, const char *call)
{
    struct attribute attributes[MAX_ATTRIBUTES + 1]; /* one more, for ATTRIBUTE_COOPERATIVE */
    int limit = 0, rc = max_blocks(func, c.block, c.shared, &limit, call);
    if (rc != 0)
        return rc;
    if (limit == 0)
        return refuse_block(&c, func, call);
    if (c.grid.x == 0 && c.grid.y == 0 && c.grid.z == 0)
        c.grid = (struct dim){(unsigned)limit, 1, 1};
    if (product(c.grid) > (unsigned long long)limit || c.n > MAX_ATTRIBUTES) {
        fprintf(stderr,
                "shmem: %s: %llu blocks of %llu threads with %u attributes do not run at the same "
                "time, the GPU holds %d of them (launch fewer or smaller blocks, with at most %d "
                "attributes)\n",
                call, product(c.grid), product(c.block), c.n, limit, MAX_ATTRIBUTES);
        return NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
    }
    /* The caller's attributes, with the launch made cooperative whatever the caller has set. */
    unsigned n = 0;
    for (unsigned i = 0; i < c.n; i++)
        if (c.attributes[i].id != ATTRIBUTE_COOPERATIVE)
            attributes[n++] = c.attributes[i];
    attributes[n++] = (struct attribute){.id = ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    c.attributes = attributes;
    c.n = n;
    int error = runtime.launch(&c, func, args);
    return error == 0 ? 0
                      : refuse(call, "launch", error,
                               "check func, args and the sizes of the launch; compute-sanitizer "
                               "finds what an earlier kernel did wrong");
}

#pragma GCC visibility push(default)
int nvshmemx_collective_launch_query_gridsize(const void *func, struct dim block, void **args,
                                              size_t shared, int *gridsize);
int nvshmemx_collective_launch(const void *func, struct dim grid, struct dim block, void **args,
                               size_t shared, struct CUstream_st *stream);
int nvshmemx_collective_launch_attr(const struct config *attr, const void *func, void **args);
#pragma GCC visibility pop

/* Stores in *gridsize how many blocks of a kernel run at the same time on the GPU of the calling
 * thread. Returns 0, or an error that has been printed. */
int nvshmemx_collective_launch_query_gridsize(const void *func, struct dim block, void **args,
                                              size_t shared, int *gridsize)
{
    (void)args;
    return max_blocks(func, block, shared, gridsize, __func__);
}

/* Launches a kernel whose blocks may wait for each other; a grid of zeros means as many blocks as
 * run at the same time. All PEs call it, but it does not wait for the others. Returns 0, or an
 * error that has been printed. */
int nvshmemx_collective_launch(const void *func, struct dim grid, struct dim block, void **args,
                               size_t shared, struct CUstream_st *stream)
{
    struct config c = {.grid = grid, .block = block, .shared = shared, .stream = stream};
    return launch(c, func, args, __func__);
}

/* Like nvshmemx_collective_launch, with the attributes of cudaLaunchKernelEx. */
int nvshmemx_collective_launch_attr(const struct config *attr, const void *func, void **args)
{
    if (attr == NULL) {
        fprintf(stderr, "shmem: %s: attr is NULL (pass the launch attributes)\n", __func__);
        return NVSHMEMX_ERROR_INVALID_VALUE;
    }
    return launch(*attr, func, args, __func__);
}
