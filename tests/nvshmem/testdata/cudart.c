/* A CUDA runtime with one GPU of 4 processors, which hold two blocks of up to 256 threads each.
 * It prints each launch. No block of more than 512 threads, or with more than 4 KiB, runs.
 * With LACKS it is another version, which lacks a function. */
#include <stdio.h>

struct config {
    unsigned grid[3], block[3];
    unsigned long shared;
    void *stream;
    struct {
        int id, pad;
        int value[16];
    } * attributes;
    unsigned n;
};

struct attributes {
    unsigned long shared, constant, local;
    int threads, registers;
};

int cudaGetDevice(int *device);
int cudaDeviceGetAttribute(int *value, int attribute, int device);
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *func, int threads,
                                                  unsigned long shared);
int cudaLaunchKernelExC(const struct config *c, const void *func, void **args);
int cudaFuncGetAttributes(struct attributes *a, const void *func);
const char *cudaGetErrorString(int error);

int cudaGetDevice(int *device)
{
    *device = 0;
    return 0;
}

int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = attribute == 95 ? 1 : attribute == 16 ? 4 : -1;
    return device;
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *func, int threads,
                                                  unsigned long shared)
{
    *blocks = threads > 512 || shared > 4096 ? 0 : threads > 256 || shared > 1024 ? 1 : 2;
    return func == (const void *)1 ? 98 : 0; /* a kernel that this runtime does not know */
}

int cudaLaunchKernelExC(const struct config *c, const void *func, void **args)
{
    printf("%u %u %u blocks of %u %u %u, %lu bytes, stream %p, args %p, func %p:", c->grid[0],
           c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared, c->stream,
           (void *)args, func);
    for (unsigned i = 0; i < c->n; i++)
        printf(" %d=%d", c->attributes[i].id, c->attributes[i].value[0]);
    printf("\n");
    return 0;
}

#ifndef LACKS
int cudaFuncGetAttributes(struct attributes *a, const void *func)
{
    *a = (struct attributes){100, 0, 0, 512, 128};
    return func == NULL;
}
#endif

const char *cudaGetErrorString(int error)
{
    return error == 98 ? "invalid device function" : "unknown";
}
