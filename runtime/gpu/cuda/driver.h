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

#include "marks.h"
#include "zz_store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SHMEMI_CUDA_INVALID_VALUE = 1,
    SHMEMI_CUDA_OUT_OF_MEMORY = 2,
    SHMEMI_CUDA_STUB_LIBRARY = 34,
    SHMEMI_CUDA_NO_DEVICE = 100,
    SHMEMI_CUDA_NOT_SUPPORTED = 801,
    SHMEMI_CUDA_SYSTEM_NOT_READY = 802,
    SHMEMI_CUDA_DRIVER_MISMATCH = 803,
    SHMEMI_CUDA_NO_BINARY = 209,
    SHMEMI_CUDA_PEER_UNSUPPORTED = 217,
    SHMEMI_CUDA_NO_COMPILER = 221,
    SHMEMI_CUDA_NEWER_PTX = 222,
    SHMEMI_CUDA_NOT_READY = 600,
    SHMEMI_CUDA_ILLEGAL_ADDRESS = 700, /* a kernel failed; so, too, ASSERT, and 714 to 719 */
    SHMEMI_CUDA_CONTEXT_IS_DESTROYED = 709,
    SHMEMI_CUDA_ASSERT = 710,
    SHMEMI_CUDA_HARDWARE_STACK = 714,
    SHMEMI_CUDA_LAUNCH_FAILED = 719,

    SHMEMI_CUDA_MULTIPROCESSORS = 16, /* attributes of a device */
    SHMEMI_CUDA_CAN_MAP_HOST_MEMORY = 19,
    SHMEMI_CUDA_UNIFIED_ADDRESSING = 41,
    SHMEMI_CUDA_CAPABILITY_MAJOR = 75,
    SHMEMI_CUDA_CAPABILITY_MINOR = 76,
    SHMEMI_CUDA_MANAGED_MEMORY = 83,
    SHMEMI_CUDA_CONCURRENT_MANAGED_ACCESS = 89,
    SHMEMI_CUDA_HOST_ATOMICS = 86,
    SHMEMI_CUDA_HOST_POINTER_FOR_REGISTERED = 91,
    SHMEMI_CUDA_HOST_REGISTER_SUPPORTED = 99,
    SHMEMI_CUDA_VIRTUAL_MEMORY = 102,
    SHMEMI_CUDA_POSIX_DESCRIPTORS = 103,
    SHMEMI_CUDA_RDMA_WITH_VIRTUAL_MEMORY = 110,
    SHMEMI_CUDA_RDMA = 116,
    SHMEMI_CUDA_RDMA_FLUSH_OPTIONS = 117,
    SHMEMI_CUDA_RDMA_WRITES_ORDERING = 118,
    SHMEMI_CUDA_STREAM_OPS_64 = 122,
    SHMEMI_CUDA_DMA_BUF_SUPPORTED = 124,
    SHMEMI_CUDA_MPS = 133,
    SHMEMI_CUDA_STREAM_CHANGE = 148,          /* since CUDA 13.1 */
    SHMEMI_CUDA_DMA_BUF_MMAP_SUPPORTED = 152, /* since CUDA 13.3 */

    SHMEMI_CUDA_POINTER_TYPE = 2, /* attributes of a pointer */
    SHMEMI_CUDA_POINTER_HOST = 4,
    SHMEMI_CUDA_POINTER_SYNC_MEMOPS = 6,
    SHMEMI_CUDA_POINTER_BUFFER = 7,
    SHMEMI_CUDA_POINTER_MANAGED = 8,
    SHMEMI_CUDA_POINTER_DEVICE = 9,
    SHMEMI_CUDA_POINTER_LEGACY_IPC = 10,
    SHMEMI_CUDA_POINTER_START = 11,
    SHMEMI_CUDA_POINTER_SIZE = 12,
    SHMEMI_CUDA_TYPE_HOST = 1, /* a value of the attribute SHMEMI_CUDA_POINTER_TYPE */
    SHMEMI_CUDA_TYPE_DEVICE = 2,
    SHMEMI_CUDA_TYPE_UNIFIED = 4, /* of a copy's source or destination: see the address */
    SHMEMI_CUDA_STACK_SIZE = 0,   /* a limit of a context */

    SHMEMI_CUDA_STREAM_NON_BLOCKING = 1,
    SHMEMI_CUDA_HOST_PORTABLE_MAPPED = 1 | 2, /* of cuMemHostAlloc and cuMemHostRegister */
    SHMEMI_CUDA_ATTACH_GLOBAL = 1,
    SHMEMI_CUDA_PREFER_LOCATION = 3, /* advice */
    SHMEMI_CUDA_ACCESSED_BY = 5,
    SHMEMI_CUDA_CPU = -1, /* as a location */
    SHMEMI_CUDA_DMA_BUF_FD = 1,
    SHMEMI_CUDA_EVENT_NO_TIMING = 2,
    SHMEMI_CUDA_WAIT_GEQ = 0,
    SHMEMI_CUDA_WAIT_EQ = 1,
    SHMEMI_CUDA_WAIT_AND = 2,
    SHMEMI_CUDA_STEP_STORE_32 = 2,
    SHMEMI_CUDA_STEP_STORE_64 = 5,
    SHMEMI_CUDA_STEP_CHANGE = 8,
    SHMEMI_CUDA_CHANGE_ADD = 0,
    SHMEMI_CUDA_CHANGE_AND = 5,
    SHMEMI_CUDA_CHANGE_OR = 6,
    SHMEMI_CUDA_CHANGE_32 = 14,
    SHMEMI_CUDA_CHANGE_64 = 22,
    SHMEMI_CUDA_FLUSH_THIS_CONTEXT = 0,
    SHMEMI_CUDA_FLUSH_TO_OWNER = 100,
    SHMEMI_CUDA_FLUSH_TO_ALL = 200,

    SHMEMI_CUDA_ALLOCATION_PINNED = 1, /* of physical memory */
    SHMEMI_CUDA_HANDLE_POSIX = 1,
    SHMEMI_CUDA_LOCATION_DEVICE = 1,
    SHMEMI_CUDA_ACCESS_READ_WRITE = 3,
    /* From this size on, a copy engine executes a plain copy from main memory. Smaller copies, up
     * to 24 KiB, are executed by the engine that runs kernels (H200, driver of CUDA 13.0): there a
     * context waits up to 2.4 ms for its time slice while a kernel of another context runs. */
    SHMEMI_CUDA_FEW_ROWS = 28 << 10,
    /* The most copies of one call of cuMemcpyBatchAsync: as many as are given at once. */
    SHMEMI_CUDA_BATCH = 64,
    SHMEMI_CUDA_SOURCE_IN_STREAM_ORDER = 1,
    SHMEMI_CUDA_BESIDE_KERNELS = 1, /* CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE */
    SHMEMI_CUDA_GRANULARITY_MINIMUM = 0,
    SHMEMI_CUDA_IPC_LAZY_PEER_ACCESS = 1,
    SHMEMI_CUDA_CAPTURE_RELAXED = 2, /* a capture mode of threads */
    SHMEMI_CUDA_EAGER_LOADING = 1,   /* of kernels */
    SHMEMI_CUDA_LAZY_LOADING = 2,
};

/* CUmemLocation. */
struct shmemi_cuda_location {
    int type;
    int id;
};

/* CUmemcpyAttributes: how a batched call accesses the memory of some of its copies. */
struct shmemi_cuda_manner {
    int source_order;
    struct shmemi_cuda_location from, to; /* hints for managed memory */
    unsigned flags;
};
_Static_assert(sizeof(struct shmemi_cuda_manner) == 24, "layout of CUmemcpyAttributes");

/* CUmemAllocationProp: the kind of physical memory. */
struct shmemi_cuda_wanted {
    int type;
    int handles;
    struct shmemi_cuda_location location;
    void *windows;
    struct {
        unsigned char compression;
        unsigned char rdma;
        unsigned short usage;
        unsigned char reserved[4];
    } flags;
};

/* CUmemAccessDesc: which GPUs may reach mapped memory, and how. */
struct shmemi_cuda_access {
    struct shmemi_cuda_location location;
    int flags;
};

/* CUipcMemHandle. */
struct shmemi_cuda_ipc {
    unsigned char data[64];
};

/* CUuuid. */
struct shmemi_cuda_uuid {
    unsigned char bytes[16];
};

/* One side of CUDA_MEMCPY2D. */
struct shmemi_cuda_side {
    size_t x, y;
    int type;
    const void *host;
    uint64_t at;
    void *array;
    size_t pitch;
};

/* CUDA_MEMCPY2D. */
struct shmemi_cuda_rows {
    struct shmemi_cuda_side from, to;
    size_t width, count;
};
_Static_assert(sizeof(struct shmemi_cuda_rows) == 128, "layout of CUDA_MEMCPY2D");

/* CUstreamBatchMemOpParams, as a store of one word by a stream. */
struct shmemi_cuda_step {
    unsigned operation;
    uint64_t at;
    uint64_t value;
    unsigned flags; /* 0: earlier work of the stream is visible first */
    uint64_t alias;
    uint64_t rest;
};
_Static_assert(sizeof(struct shmemi_cuda_step) == 48, "layout of CUstreamBatchMemOpParams");

/* CUstreamBatchMemOpParams, as an atomic operation of a stream on one word. */
struct shmemi_cuda_change {
    unsigned operation, flags; /* 0 */
    int what, type;
    uint64_t at, value, alias, rest;
};
_Static_assert(sizeof(struct shmemi_cuda_change) == sizeof(struct shmemi_cuda_step),
               "both are CUstreamBatchMemOpParams");

/* NEEDED(name, symbol, parameters, arguments) for every required function, OPTIONAL for functions
 * that only later drivers have. */
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
    NEEDED(context_state, "cuDevicePrimaryCtxGetState",                                            \
           (int device, unsigned *flags, int *active), (device, flags, active))                    \
    NEEDED(context_create, "cuCtxCreate_v2", (void **context, unsigned flags, int device),         \
           (context, flags, device))                                                               \
    NEEDED(context_destroy, "cuCtxDestroy_v2", (void *context), (context))                         \
    NEEDED(context_limit, "cuCtxSetLimit", (int limit, size_t value), (limit, value))              \
    NEEDED(context_push, "cuCtxPushCurrent_v2", (void *context), (context))                        \
    NEEDED(context_pop, "cuCtxPopCurrent_v2", (void **context), (context))                         \
    NEEDED(capture_mode, "cuThreadExchangeStreamCaptureMode", (int *mode), (mode))                 \
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
    NEEDED(copy_rows, "cuMemcpy2DAsync_v2", (const struct shmemi_cuda_rows *rows, void *stream),   \
           (rows, stream))                                                                         \
    NEEDED(device_uuid, "cuDeviceGetUuid", (struct shmemi_cuda_uuid * uuid, int device),           \
           (uuid, device))                                                                         \
    NEEDED(device_memory, "cuDeviceTotalMem_v2", (size_t * n, int device), (n, device))            \
    NEEDED(can_access, "cuDeviceCanAccessPeer", (int *can, int device, int peer),                  \
           (can, device, peer))                                                                    \
    NEEDED(memory_info, "cuMemGetInfo_v2", (size_t * free, size_t * total), (free, total))         \
    NEEDED(context_current, "cuCtxGetCurrent", (void **context), (context))                        \
    NEEDED(context_device, "cuCtxGetDevice", (int *device), (device))                              \
    NEEDED(granularity, "cuMemGetAllocationGranularity",                                           \
           (size_t * n, const struct shmemi_cuda_wanted *wanted, int option), (n, wanted, option)) \
    NEEDED(reserve, "cuMemAddressReserve",                                                         \
           (uint64_t * at, size_t n, size_t align, uint64_t hint, unsigned long long flags),       \
           (at, n, align, hint, flags))                                                            \
    NEEDED(unreserve, "cuMemAddressFree", (uint64_t at, size_t n), (at, n))                        \
    NEEDED(create, "cuMemCreate",                                                                  \
           (uint64_t * memory, size_t n, const struct shmemi_cuda_wanted *wanted,                  \
            unsigned long long flags),                                                             \
           (memory, n, wanted, flags))                                                             \
    NEEDED(release, "cuMemRelease", (uint64_t memory), (memory))                                   \
    NEEDED(map, "cuMemMap",                                                                        \
           (uint64_t at, size_t n, size_t offset, uint64_t memory, unsigned long long flags),      \
           (at, n, offset, memory, flags))                                                         \
    NEEDED(unmap, "cuMemUnmap", (uint64_t at, size_t n), (at, n))                                  \
    NEEDED(set_access, "cuMemSetAccess",                                                           \
           (uint64_t at, size_t n, const struct shmemi_cuda_access *access, size_t count),         \
           (at, n, access, count))                                                                 \
    NEEDED(share, "cuMemExportToShareableHandle",                                                  \
           (void *handle, uint64_t memory, int type, unsigned long long flags),                    \
           (handle, memory, type, flags))                                                          \
    NEEDED(take, "cuMemImportFromShareableHandle", (uint64_t * memory, void *handle, int type),    \
           (memory, handle, type))                                                                 \
    NEEDED(ipc_share, "cuIpcGetMemHandle", (struct shmemi_cuda_ipc * handle, uint64_t at),         \
           (handle, at))                                                                           \
    NEEDED(ipc_open, "cuIpcOpenMemHandle_v2",                                                      \
           (uint64_t * at, struct shmemi_cuda_ipc handle, unsigned flags), (at, handle, flags))    \
    NEEDED(ipc_close, "cuIpcCloseMemHandle", (uint64_t at), (at))                                  \
    NEEDED(pointer, "cuPointerGetAttributes",                                                      \
           (unsigned count, int *attributes, void **values, uint64_t at),                          \
           (count, attributes, values, at))                                                        \
    NEEDED(pointer_set, "cuPointerSetAttribute", (const void *value, int attribute, uint64_t at),  \
           (value, attribute, at))                                                                 \
    NEEDED(copy_any, "cuMemcpyAsync", (uint64_t to, uint64_t from, size_t n, void *stream),        \
           (to, from, n, stream))                                                                  \
    NEEDED(stream_query, "cuStreamQuery", (void *stream), (stream))                                \
    NEEDED(stream_capturing, "cuStreamIsCapturing", (void *stream, int *status), (stream, status)) \
    NEEDED(stream_after, "cuStreamWaitEvent", (void *stream, void *event, unsigned flags),         \
           (stream, event, flags))                                                                 \
    NEEDED(event_create, "cuEventCreate", (void **event, unsigned flags), (event, flags))          \
    NEEDED(event_destroy, "cuEventDestroy_v2", (void *event), (event))                             \
    NEEDED(event_record, "cuEventRecord", (void *event, void *stream), (event, stream))            \
    NEEDED(event_query, "cuEventQuery", (void *event), (event))                                    \
    NEEDED(event_wait, "cuEventSynchronize", (void *event), (event))                               \
    NEEDED(module_load, "cuModuleLoadData", (void **module, const void *image), (module, image))   \
    NEEDED(module_unload, "cuModuleUnload", (void *module), (module))                              \
    NEEDED(module_global, "cuModuleGetGlobal_v2",                                                  \
           (uint64_t * at, size_t * n, void *module, const char *name), (at, n, module, name))     \
    NEEDED(module_function, "cuModuleGetFunction",                                                 \
           (void **function, void *module, const char *name), (function, module, name))            \
    NEEDED(launch, "cuLaunchKernel",                                                               \
           (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,   \
            unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **arguments,   \
            void **extra),                                                                         \
           (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,           \
            arguments, extra))                                                                     \
    OPTIONAL(copy_batch, "cuMemcpyBatchAsync_v2",                                                  \
             (uint64_t * to, uint64_t * from, size_t * n, size_t count,                            \
              struct shmemi_cuda_manner * manner, size_t * first, size_t manners, void *stream),   \
             (to, from, n, count, manner, first, manners, stream))                                 \
    OPTIONAL(context_id, "cuCtxGetId", (void *context, unsigned long long *id), (context, id))     \
    OPTIONAL(flush_writes, "cuFlushGPUDirectRDMAWrites", (int target, int scope), (target, scope)) \
    OPTIONAL(stream_write, "cuStreamWriteValue64_v2",                                              \
             (void *stream, uint64_t at, uint64_t value, unsigned flags),                          \
             (stream, at, value, flags))                                                           \
    OPTIONAL(stream_write32, "cuStreamWriteValue32_v2",                                            \
             (void *stream, uint64_t at, uint32_t value, unsigned flags),                          \
             (stream, at, value, flags))                                                           \
    OPTIONAL(stream_batch, "cuStreamBatchMemOp_v2",                                                \
             (void *stream, unsigned count, struct shmemi_cuda_step *steps, unsigned flags),       \
             (stream, count, steps, flags))                                                        \
    OPTIONAL(stream_watch, "cuStreamWaitValue64_v2",                                               \
             (void *stream, uint64_t at, uint64_t value, unsigned flags),                          \
             (stream, at, value, flags))                                                           \
    OPTIONAL(library_global, "cuLibraryGetGlobal",                                                 \
             (uint64_t * at, size_t * n, void *library, const char *name), (at, n, library, name)) \
    OPTIONAL(retain, "cuMemRetainAllocationHandle", (uint64_t * memory, const void *at),           \
             (memory, at))                                                                         \
    OPTIONAL(properties, "cuMemGetAllocationPropertiesFromHandle",                                 \
             (struct shmemi_cuda_wanted * of, uint64_t memory), (of, memory))                      \
    OPTIONAL(loading, "cuModuleGetLoadingMode", (int *mode), (mode))                               \
    OPTIONAL(export, "cuMemGetHandleForAddressRange",                                              \
             (void *handle, uint64_t device, size_t n, int type, unsigned long long flags),        \
             (handle, device, n, type, flags))

/* The driver's functions, for one caller of them in the library. */
struct shmemi_cuda {
#define FIELD(name, symbol, parameters, arguments) int(*name) parameters;
    SHMEMI_CUDA_FUNCTIONS(FIELD, FIELD)
#undef FIELD
    struct shmemi_cuda_marks *marks; /* of the caller's calls under way; NULL: not recorded */
    unsigned long long birth; /* id of the caller's context; 0: no reset by the program ends it */
};

/* Reports whether the program has ended the context by a reset of the GPU. A new context may then
 * have the same handle, with another id, and the driver crashes if it gets a stream of the old
 * context there. The check takes 18 ns of calls of 1.6 to 6.7 us (H100, driver 580.159). */
static inline bool shmemi_cuda_gone(const struct shmemi_cuda *driver, void *context)
{
    unsigned long long now;
    if (driver->birth == 0)
        return false;
    int code = driver->context_id(context, &now);
    return code == 0 ? now != driver->birth : code == SHMEMI_CUDA_CONTEXT_IS_DESTROYED;
}

/* Sets the calling thread's capture mode, which decides which calls the driver refuses while a
 * graph is captured, and returns the earlier mode. It can fail only for an unknown mode. */
static inline int shmemi_cuda_capture_as(const struct shmemi_cuda *driver, int mode)
{
    driver->capture_mode(&mode);
    return mode;
}

/* shmemi_cuda_NAME calls a function of the driver, since Go cannot call a pointer, and marks it as
 * under way meanwhile. */
#define UNWRAP(...) __VA_ARGS__
#define CALL(name, symbol, parameters, arguments)                                                  \
    static inline int shmemi_cuda_##name(const struct shmemi_cuda *driver, UNWRAP parameters)      \
    {                                                                                              \
        struct shmemi_cuda_mark *mark_ = shmemi_cuda_begin(driver->marks, symbol);                 \
        int code_ = driver->name arguments;                                                        \
        shmemi_cuda_end(mark_);                                                                    \
        return code_;                                                                              \
    }
SHMEMI_CUDA_FUNCTIONS(CALL, CALL)
#undef CALL

/* The results of a call of the driver and of the push and pop of the context around it. */
struct shmemi_cuda_outcome {
    int push, call, pop; /* CUresult; 0 also if it was not called */
};

/* shmemi_cuda_in_NAME makes a context current, calls the function and restores the thread's own
 * context, in one crossing from Go instead of five. Device.withLocked explains why the thread is in
 * the relaxed capture mode meanwhile. */
#define CALL_IN(name, symbol, parameters, arguments)                                               \
    static inline struct shmemi_cuda_outcome shmemi_cuda_in_##name(                                \
        const struct shmemi_cuda *driver, void *within, UNWRAP parameters)                         \
    {                                                                                              \
        struct shmemi_cuda_outcome out_ = {0, 0, 0};                                               \
        void *before_;                                                                             \
        struct shmemi_cuda_mark *mark_ = shmemi_cuda_begin(driver->marks, symbol);                 \
        if ((out_.push = driver->context_push(within)) == 0) {                                     \
            int mode_ = shmemi_cuda_capture_as(driver, SHMEMI_CUDA_CAPTURE_RELAXED);               \
            out_.call = shmemi_cuda_gone(driver, within) ? SHMEMI_CUDA_CONTEXT_IS_DESTROYED        \
                                                         : driver->name arguments;                 \
            shmemi_cuda_capture_as(driver, mode_);                                                 \
            out_.pop = driver->context_pop(&before_);                                              \
        }                                                                                          \
        shmemi_cuda_end(mark_);                                                                    \
        return out_;                                                                               \
    }
SHMEMI_CUDA_FUNCTIONS(CALL_IN, CALL_IN)
#undef CALL_IN
#undef UNWRAP

/* Starts, on a stream of the context `within`, the copy of 2n bytes as two rows of n bytes without
 * a gap: only a copy engine executes a copy of rows, so it does not wait for kernels. */
static inline struct shmemi_cuda_outcome shmemi_cuda_in_two_rows(const struct shmemi_cuda *driver,
                                                                 void *within, uint64_t to,
                                                                 uint64_t from, size_t n,
                                                                 void *stream)
{
    const struct shmemi_cuda_rows rows = {
        .from = {.type = SHMEMI_CUDA_TYPE_UNIFIED, .at = from, .pitch = n},
        .to = {.type = SHMEMI_CUDA_TYPE_UNIFIED, .at = to, .pitch = n},
        .width = n,
        .count = 2,
    };
    return shmemi_cuda_in_copy_rows(driver, within, &rows, stream);
}

/* Makes a stream store n words, at most SHMEMI_CUDA_STORES, one after the other, with one call of
 * the driver. */
static inline struct shmemi_cuda_outcome
shmemi_cuda_in_stores(const struct shmemi_cuda *driver, void *within, void *stream,
                      const struct shmemi_cuda_store *stores, unsigned n)
{
    struct shmemi_cuda_step steps[SHMEMI_CUDA_STORES];
    for (unsigned i = 0; i < n; i++)
        steps[i] =
            (struct shmemi_cuda_step){.operation = stores[i].width == 8 ? SHMEMI_CUDA_STEP_STORE_64
                                                                        : SHMEMI_CUDA_STEP_STORE_32,
                                      .at = stores[i].at,
                                      .value = stores[i].value};
    return shmemi_cuda_in_stream_batch(driver, within, stream, n, steps, 0);
}

/* Makes a stream apply the driver's atomic operation `what` to a word, whose size is in type. */
static inline struct shmemi_cuda_outcome shmemi_cuda_in_change(const struct shmemi_cuda *driver,
                                                               void *within, void *stream, int what,
                                                               int type, uint64_t at,
                                                               uint64_t value)
{
    union {
        struct shmemi_cuda_change change;
        struct shmemi_cuda_step step;
    } one = {.change = {SHMEMI_CUDA_STEP_CHANGE, 0, what, type, at, value, 0, 0}};
    return shmemi_cuda_in_stream_batch(driver, within, stream, 1, &one.step, 0);
}

/* Loads a shared library. Returns its handle, or NULL with the loader's reason in why. */
void *shmemi_cuda_open_library(const char *file, char *why, size_t len);

/* The file that a library was loaded from. */
const char *shmemi_cuda_library_file(void *library);

void shmemi_cuda_close_library(void *library);

/* Fills in the functions from the driver's library. Returns NULL, or the name of a missing one. */
const char *shmemi_cuda_bind(struct shmemi_cuda *driver, void *library);

#endif
