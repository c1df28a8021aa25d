/*
 * libcuda.c: a driver for tests, with the names and arguments that NVIDIA's
 * libcuda.so.1 has: its start, its devices and their contexts. memory.c, vmm.c,
 * stream.c and module.c are the rest of it.
 *
 * Its GPU is this process: an address of the GPU is another mapping of the
 * memory, so that both sides see each other's stores and no code can take one
 * address for the other unnoticed. Fresh memory is dirty. Memory that was shared
 * between processes is so in truth, by files that have no name.
 *
 * It holds the caller to the driver's rules: most calls need a current context
 * on the calling thread, and what is freed must have been allocated by the call
 * that belongs to it. NO_EXPORT, NO_ALLOC and NO_LATE, for what came after CUDA
 * 11.0, leave functions out.
 */
#define _GNU_SOURCE
#include "driver.h"

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static int initialised;
static int contexts[8];
static __thread void *stack[8];
static __thread int depth;

int fake_needs_context(void)
{
    return depth > 0 ? 0 : INVALID_CONTEXT;
}

void *fake_context(void)
{
    return depth > 0 ? stack[depth - 1] : NULL;
}

int cuInit(unsigned flags)
{
    BEGIN(flags != 0 ? INVALID_VALUE : (int)fake_setting("init", 0));
    initialised = 1;
    return 0;
}

int cuDriverGetVersion(int *version)
{
    BEGIN(0);
    *version = (int)fake_setting("version", 13030);
    return 0;
}

int cuGetErrorName(int code, const char **text)
{
    *text = code == 2                 ? "CUDA_ERROR_OUT_OF_MEMORY"
            : code == NO_DEVICE       ? "CUDA_ERROR_NO_DEVICE"
            : code == INVALID_CONTEXT ? "CUDA_ERROR_INVALID_CONTEXT"
            : code == 999             ? "CUDA_ERROR_UNKNOWN"
                                      : NULL;
    return *text == NULL ? INVALID_VALUE : 0;
}

int cuGetErrorString(int code, const char **text)
{
    *text = code == 2                 ? "out of memory"
            : code == NO_DEVICE       ? "no CUDA-capable device is detected"
            : code == INVALID_CONTEXT ? "invalid device context"
            : code == 999             ? "unknown error"
                                      : NULL;
    return *text == NULL ? INVALID_VALUE : 0;
}

int cuDeviceGetCount(int *count)
{
    BEGIN(initialised ? 0 : NOT_INITIALIZED);
    *count = (int)fake_setting("devices", 1);
    return 0;
}

int cuDeviceGet(int *device, int ordinal)
{
    BEGIN(ordinal < fake_setting("devices", 1) ? 0 : INVALID_DEVICE);
    *device = ordinal;
    return 0;
}

int cuDeviceGetName(char *name, int len, int device)
{
    BEGIN(0);
    snprintf(name, (size_t)len, "Fake G%d", 100 + device);
    return 0;
}

int cuDeviceGetPCIBusId(char *id, int len, int device)
{
    BEGIN(0);
    snprintf(id, (size_t)len, "0000:%02x:00.0", 15 + device);
    return 0;
}

/* first=K hides the first K GPUs of the machine. */
int cuDeviceGetUuid(unsigned char *uuid, int device)
{
    BEGIN(0);
    memset(uuid, 0, 16);
    uuid[0] = 0xfa;
    uuid[15] = (unsigned char)(device + fake_setting("first", 0));
    return 0;
}

int cuDeviceTotalMem_v2(size_t *n, int device)
{
    (void)device;
    BEGIN(0);
    *n = (size_t)fake_setting("memory", 1L << 30);
    return 0;
}

int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
    BEGIN(device == peer ? INVALID_DEVICE : 0);
    *can = (int)fake_setting("peers", 1);
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    char key[32];
    snprintf(key, sizeof key, "attribute%d", attribute);
    long set = fake_setting(key, 1);
    BEGIN(set < 0 ? INVALID_VALUE : 0);
    *value = (int)set;
    return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    BEGIN(0);
    LOCKED(contexts[device]++);
    *context = (void *)(uintptr_t)(CONTEXT + device);
    return 0;
}

/* With its context goes what is still allocated, as in the real driver. */
static int drop_context(int device)
{
    if (contexts[device] == 0)
        return INVALID_CONTEXT;
    if (--contexts[device] != 0)
        return 0;
    for (struct block *b = fake_blocks; b < fake_blocks + BLOCKS; b++)
        if (b->kind != FREE)
            fake_release(b);
    fake_drop_vmm();
    fake_drop_streams();
    return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    END(LOCKED(drop_context(device)));
}

int cuCtxPushCurrent_v2(void *context)
{
    uintptr_t device = (uintptr_t)context - CONTEXT;
    int live = device < 8 && LOCKED(contexts[device]) > 0;
    BEGIN(live && depth < 8 ? 0 : INVALID_CONTEXT);
    stack[depth++] = context;
    return 0;
}

int cuCtxPopCurrent_v2(void **context)
{
    int ok = depth > 0;
    if (ok)
        *context = stack[--depth];
    END(ok ? 0 : INVALID_CONTEXT);
}

/* It fails for no other reason than a mode that is none, and is in no log. */
static __thread int capture_mode;

int cuThreadExchangeStreamCaptureMode(int *mode)
{
    if (*mode < 0 || *mode > RELAXED)
        abort();
    int before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    return 0;
}

int fake_may_wait(void)
{
    return fake_setting("others_capture", 0) != 0 && capture_mode != RELAXED ? CAPTURE_UNSUPPORTED
                                                                             : fake_needs_context();
}

int cuCtxGetCurrent(void **context)
{
    BEGIN(0);
    *context = fake_context();
    return 0;
}

int cuCtxGetDevice(int *device)
{
    BEGIN(fake_needs_context());
    *device = (int)((uintptr_t)stack[depth - 1] - CONTEXT);
    return 0;
}
