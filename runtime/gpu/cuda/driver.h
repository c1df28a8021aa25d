/*
 * driver.h: the functions of CUDA's driver interface that are used, without
 * CUDA's headers. The binary interface is stable: a function whose arguments
 * change gets a new suffix, and the names here carry the suffix that goes with
 * these arguments (cuda.h of CUDA 13.5; all but one are as in CUDA 11.0).
 *
 * A result is CUresult, an enum; CUdevice is an int; CUdeviceptr is 64 bits;
 * CUcontext and CUstream are pointers.
 */
#ifndef SHMEMI_CUDA_DRIVER_H
#define SHMEMI_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

enum {
    SHMEMI_CUDA_OUT_OF_MEMORY = 2,
    SHMEMI_CUDA_STUB_LIBRARY = 34,
    SHMEMI_CUDA_NO_DEVICE = 100,
    SHMEMI_CUDA_NOT_SUPPORTED = 801,
    SHMEMI_CUDA_SYSTEM_NOT_READY = 802,
    SHMEMI_CUDA_DRIVER_MISMATCH = 803,

    SHMEMI_CUDA_CAN_MAP_HOST_MEMORY = 19, /* attributes of a device */
    SHMEMI_CUDA_MANAGED_MEMORY = 83,
    SHMEMI_CUDA_CONCURRENT_MANAGED_ACCESS = 89,
    SHMEMI_CUDA_HOST_REGISTER_SUPPORTED = 99,
    SHMEMI_CUDA_DMA_BUF_SUPPORTED = 124,
    SHMEMI_CUDA_DMA_BUF_MMAP_SUPPORTED = 152, /* since CUDA 13.3 */

    SHMEMI_CUDA_STREAM_NON_BLOCKING = 1,
    SHMEMI_CUDA_HOST_PORTABLE_MAPPED = 1 | 2, /* of cuMemHostAlloc and cuMemHostRegister */
    SHMEMI_CUDA_ATTACH_GLOBAL = 1,
    SHMEMI_CUDA_PREFER_LOCATION = 3, /* advice */
    SHMEMI_CUDA_ACCESSED_BY = 5,
    SHMEMI_CUDA_CPU = -1, /* as a location */
    SHMEMI_CUDA_DMA_BUF_FD = 1,
};

/* NEEDED(name, symbol, parameters, arguments) for every function that has to be
 * there, OPTIONAL for those that only later drivers have. */
#define SHMEMI_CUDA_FUNCTIONS(NEEDED, OPTIONAL)                                                    \
    NEEDED(init, "cuInit", (unsigned flags), (flags))                                              \
    NEEDED(driver_version, "cuDriverGetVersion", (int *version), (version))                        \
    NEEDED(error_name, "cuGetErrorName", (int code, const char **text), (code, text))              \
    NEEDED(error_text, "cuGetErrorString", (int code, const char **text), (code, text))            \
    NEEDED(device_count, "cuDeviceGetCount", (int *count), (count))                                \
    NEEDED(device, "cuDeviceGet", (int *device, int ordinal), (device, ordinal))                   \
    NEEDED(device_name, "cuDeviceGetName", (char *name, int len, int device), (name, len, device)) \
    NEEDED(device_pci, "cuDeviceGetPCIBusId", (char *id, int len, int device), (id, len, device))  \
    NEEDED(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device),      \
           (value, attribute, device))                                                             \
    NEEDED(context_retain, "cuDevicePrimaryCtxRetain", (void **context, int device),               \
           (context, device))                                                                      \
    NEEDED(context_release, "cuDevicePrimaryCtxRelease_v2", (int device), (device))                \
    NEEDED(context_push, "cuCtxPushCurrent_v2", (void *context), (context))                        \
    NEEDED(context_pop, "cuCtxPopCurrent_v2", (void **context), (context))                         \
    NEEDED(stream_create, "cuStreamCreate", (void **stream, unsigned flags), (stream, flags))      \
    NEEDED(stream_destroy, "cuStreamDestroy_v2", (void *stream), (stream))                         \
    NEEDED(stream_wait, "cuStreamSynchronize", (void *stream), (stream))                           \
    NEEDED(host_alloc, "cuMemHostAlloc", (void **host, size_t n, unsigned flags),                  \
           (host, n, flags))                                                                       \
    NEEDED(host_free, "cuMemFreeHost", (void *host), (host))                                       \
    NEEDED(host_register, "cuMemHostRegister_v2", (void *host, size_t n, unsigned flags),          \
           (host, n, flags))                                                                       \
    NEEDED(host_unregister, "cuMemHostUnregister", (void *host), (host))                           \
    NEEDED(host_address, "cuMemHostGetDevicePointer_v2",                                           \
           (uint64_t * device, void *host, unsigned flags), (device, host, flags))                 \
    NEEDED(managed_alloc, "cuMemAllocManaged", (uint64_t * device, size_t n, unsigned flags),      \
           (device, n, flags))                                                                     \
    NEEDED(advise, "cuMemAdvise", (uint64_t device, size_t n, int advice, int location),           \
           (device, n, advice, location))                                                          \
    NEEDED(alloc, "cuMemAlloc_v2", (uint64_t * device, size_t n), (device, n))                     \
    NEEDED(free, "cuMemFree_v2", (uint64_t device), (device))                                      \
    NEEDED(fill8, "cuMemsetD8Async", (uint64_t to, unsigned char value, size_t n, void *stream),   \
           (to, value, n, stream))                                                                 \
    NEEDED(fill32, "cuMemsetD32Async", (uint64_t to, unsigned value, size_t n, void *stream),      \
           (to, value, n, stream))                                                                 \
    NEEDED(copy_in, "cuMemcpyHtoDAsync_v2",                                                        \
           (uint64_t to, const void *from, size_t n, void *stream), (to, from, n, stream))         \
    NEEDED(copy_out, "cuMemcpyDtoHAsync_v2", (void *to, uint64_t from, size_t n, void *stream),    \
           (to, from, n, stream))                                                                  \
    NEEDED(copy, "cuMemcpyDtoDAsync_v2", (uint64_t to, uint64_t from, size_t n, void *stream),     \
           (to, from, n, stream))                                                                  \
    OPTIONAL(export, "cuMemGetHandleForAddressRange",                                              \
             (void *handle, uint64_t device, size_t n, int type, unsigned long long flags),        \
             (handle, device, n, type, flags))

/* The functions as one driver has them. */
struct shmemi_cuda {
#define FIELD(name, symbol, parameters, arguments) int(*name) parameters;
    SHMEMI_CUDA_FUNCTIONS(FIELD, FIELD)
#undef FIELD
};

/* Go cannot call a pointer: shmemi_cuda_NAME does. */
#define UNWRAP(...) __VA_ARGS__
#define CALL(name, symbol, parameters, arguments)                                                  \
    static inline int shmemi_cuda_##name(const struct shmemi_cuda *driver, UNWRAP parameters)      \
    {                                                                                              \
        return driver->name arguments;                                                             \
    }
SHMEMI_CUDA_FUNCTIONS(CALL, CALL)
#undef CALL
#undef UNWRAP

/* Answers a library, or NULL with the loader's reason in why. */
void *shmemi_cuda_open_library(const char *file, char *why, size_t len);

/* The file that a library was loaded from. */
const char *shmemi_cuda_library_file(void *library);

void shmemi_cuda_close_library(void *library);

/* Takes the functions from a library. Answers NULL, or the one that is missing. */
const char *shmemi_cuda_bind(struct shmemi_cuda *driver, void *library);

#endif
