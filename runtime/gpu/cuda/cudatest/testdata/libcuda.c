/*
 * libcuda.c: a driver for tests, with the names and arguments that NVIDIA's libcuda.so.1 has: its
 * start, its devices and their contexts. memory.c, vmm.c, stream.c, copy.c and module.c are the
 * rest of it.
 *
 * Its GPU is this process: an address of the GPU is another mapping of the memory, so that both
 * sides see each other's stores and no code can take one address for the other unnoticed. Fresh
 * memory is dirty. Memory that is shared between processes is really shared, by files without a
 * name.
 *
 * It holds the caller to the driver's rules: most calls need a current context on the calling
 * thread, and memory must be freed by the call that belongs to its allocation. NO_EXPORT, NO_ALLOC
 * and NO_LATE leave out functions that came after CUDA 11.0.
 */
#define _GNU_SOURCE
#include "driver.h"

#include <time.h>

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static int initialised;
/* Tables for up to 8 GPUs; a number of GPUs (devices=N) above that is not checked. */
static int contexts[8];              /* how often the primary context of each GPU is retained */
static bool was_reset[8];            /* and has not been retained since: no call works in it */
static unsigned long long births[8]; /* of the primary contexts: the result of cuCtxGetId */
static unsigned long long own_births[8][4], last_birth; /* the same of cuCtxCreate's; the last id */
static bool own[8][4]; /* the contexts of cuCtxCreate that exist, up to four for each GPU */
static __thread void *stack[8]; /* the current context of the thread is the last of `depth` */
static __thread int depth;

static bool is_alive(const void *context);

int fake_needs_context(void)
{
    return depth == 0 ? INVALID_CONTEXT : is_alive(stack[depth - 1]) ? 0 : CONTEXT_IS_DESTROYED;
}

void *fake_context(void)
{
    return depth > 0 ? stack[depth - 1] : NULL;
}

/* The device of a context, from the number that stands for the context (driver.h). It is negative
 * for NULL. */
static int device_of(const void *context)
{
    uintptr_t c = (uintptr_t)context;
    return (int)(c >= OWN ? (c - OWN) / 4 : c - CONTEXT);
}

/* Reports whether calls work in a context: it exists, and has not been reset. */
static bool is_alive(const void *context)
{
    int device = device_of(context);
    if (device < 0 || device >= 8)
        return false;
    return fake_is_primary(context) ? contexts[device] > 0 && !was_reset[device]
                                    : own[device][(uintptr_t)context % 4];
}

int fake_contexts(void)
{
    int n = 0;
    for (int i = 0; i < 8 * 4; i++)
        n += own[i / 4][i % 4];
    return n;
}

bool fake_is_primary(const void *context)
{
    return (uintptr_t)context < OWN;
}

bool fake_loads(void)
{
    static bool loads;
    static long
        checked; /* ms: the file is checked once in 1 ms, because each step of a stream asks */
    const char *folder = getenv("FAKE_CUDA_HOLD");
    if (folder == NULL)
        return false;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    long now = t.tv_sec * 1000 + t.tv_nsec / 1000000;
    if (now != checked) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%d.loads", folder, (int)getpid());
        loads = access(file, F_OK) == 0;
        checked = now;
    }
    return loads;
}

/* init=CODE is the result. */
int cuInit(unsigned flags)
{
    BEGIN(flags != 0 ? INVALID_VALUE : (int)fake_setting("init", 0));
    /* The driver ends in a handler of exit. */
    if (!initialised && atexit(fake_end) != 0)
        abort();
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
            : code == DEINITIALIZED   ? "CUDA_ERROR_DEINITIALIZED"
            : code == NO_DEVICE       ? "CUDA_ERROR_NO_DEVICE"
            : code == INVALID_CONTEXT ? "CUDA_ERROR_INVALID_CONTEXT"
            : code == INVALID_HANDLE  ? "CUDA_ERROR_INVALID_HANDLE"
            : code == 709             ? "CUDA_ERROR_CONTEXT_IS_DESTROYED"
            : code == 999             ? "CUDA_ERROR_UNKNOWN"
                                      : NULL;
    return *text == NULL ? INVALID_VALUE : 0;
}

int cuGetErrorString(int code, const char **text)
{
    *text = code == 2                 ? "out of memory"
            : code == DEINITIALIZED   ? "driver shutting down"
            : code == NO_DEVICE       ? "no CUDA-capable device is detected"
            : code == INVALID_CONTEXT ? "invalid device context"
            : code == INVALID_HANDLE  ? "invalid resource handle"
            : code == 709             ? "context is destroyed"
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

/* peers=0: no GPU has access to the memory of another. */
int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
    BEGIN(device == peer ? INVALID_DEVICE : 0);
    *can = (int)fake_setting("peers", 1);
    return 0;
}

/* attributeN=V is the value of the attribute with number N in cuda.h; with V < 0 the driver does
 * not know it. Else it is 1; 0 of attribute 148, atomic operations of streams. */
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    char key[32];
    snprintf(key, sizeof key, "attribute%d", attribute);
    long set = fake_setting(key, attribute != 148); /* no driver that was tried can do 148 */
    BEGIN(set < 0 ? INVALID_VALUE : 0);
    *value = (int)set;
    return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    BEGIN(0);
    pthread_mutex_lock(&fake_lock);
    if (contexts[device]++ == 0 || was_reset[device])
        births[device] = ++last_birth;
    was_reset[device] = false;
    pthread_mutex_unlock(&fake_lock);
    *context = (void *)(uintptr_t)(CONTEXT + device);
    return 0;
}

/* Releases the primary context of a GPU once. With the last release it frees all memory of the
 * context, as the real driver does. */
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
    was_reset[device] = false;
    return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    END(LOCKED(drop_context(device)));
}

/*
 * Resets the primary context as cudaDeviceReset does, even while callers retain it; they still do
 * afterwards. The context can be made current, but no call works in it until it is retained once
 * more, which makes a new context with the same handle. Objects without a context, memory of
 * cuMemCreate and its mappings, stay. A call with a stream of the old context then ends the
 * process, and one with an event is refused (H100, driver 580.159).
 */
static int reset(int device)
{
    const void *context = (void *)(uintptr_t)(CONTEXT + device);
    was_reset[device] = true;
    fake_reset_streams(context);
    fake_reset_modules(context);
    fake_reset_memory(context);
    return 0;
}

int cuDevicePrimaryCtxReset_v2(int device)
{
    BEGIN(device < 0 || device >= fake_setting("devices", 1) ? INVALID_DEVICE : 0);
    return LOCKED(reset(device));
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    BEGIN(0);
    *flags = 0;
    *active = LOCKED(contexts[device] > 0 && !was_reset[device]);
    return 0;
}

#ifndef NO_LATE
/* The library calls this before each other call, so the log leaves it out. */
int cuCtxGetId(void *context, unsigned long long *id)
{
    if (fake_has_ended())
        return DEINITIALIZED;
    if (context == NULL || !LOCKED(is_alive(context)))
        return context == NULL ? INVALID_CONTEXT : CONTEXT_IS_DESTROYED;
    int device = device_of(context);
    *id = fake_is_primary(context) ? births[device] : own_births[device][(uintptr_t)context % 4];
    return 0;
}
#endif

/* The new context becomes the current one of the thread. */
int cuCtxCreate_v2(void **context, unsigned flags, int device)
{
    int k = 0;
    bool known = initialised && device >= 0 && device < fake_setting("devices", 1);
    while (known && k < 4 && own[device][k])
        k++;
    BEGIN(flags != 0 || depth == 8 ? INVALID_VALUE
          : !known                 ? INVALID_DEVICE
          : k == 4                 ? OUT_OF_MEMORY
                                   : 0);
    own[device][k] = true;
    own_births[device][k] = LOCKED(++last_birth);
    *context = stack[depth++] = (void *)(uintptr_t)(OWN + 4 * device + k);
    return 0;
}

static int end_context(void *context)
{
    if (fake_is_primary(context) || !is_alive(context))
        return INVALID_CONTEXT;
    own[device_of(context)][(uintptr_t)context % 4] = false;
    fake_drop_streams_of(context);
    if (fake_context() == context)
        depth--;
    return 0;
}

int cuCtxDestroy_v2(void *context)
{
    END(LOCKED(end_context(context)));
}

/* Takes only the size of a stack (limit 0), of at most 1 MiB. */
int cuCtxSetLimit(int limit, size_t value)
{
    BEGIN(limit != 0 || value > 1 << 20 ? INVALID_VALUE : fake_needs_context());
    return 0;
}

int cuCtxPushCurrent_v2(void *context)
{
    bool known = LOCKED(is_alive(context) || (fake_is_primary(context) && device_of(context) >= 0 &&
                                              was_reset[device_of(context)]));
    BEGIN(known && depth < 8 ? 0 : INVALID_CONTEXT);
    stack[depth++] = context;
    return 0;
}

/* Replaces the current context, or with NULL takes it away. cudaSetDevice calls this. */
int cuCtxSetCurrent(void *context)
{
    bool known = context == NULL || LOCKED(is_alive(context)) || fake_is_primary(context);
    BEGIN(known ? 0 : INVALID_CONTEXT);
    depth -= depth > 0;
    if (context != NULL)
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

static __thread int capture_mode;

/* Sets the capture mode of the thread to *mode, and *mode to the one before. It fails only for an
 * unknown mode, where the fake ends the process; the log leaves it out. */
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
    /* This works for a context that a reset has ended, too: a job may begin after a reset. */
    BEGIN(depth == 0 ? INVALID_CONTEXT : 0);
    *device = device_of(stack[depth - 1]);
    return 0;
}
