/*
 * libcuda.c: a driver for tests, with the names and arguments that NVIDIA's
 * libcuda.so.1 has. Its GPU is this process: an address of the GPU is another
 * mapping of the memory, so that both sides see each other's stores and no code
 * can take one address for the other unnoticed. Fresh memory is dirty.
 *
 * It holds the caller to the driver's rules: most calls need a current context
 * on the calling thread, and what is freed must have been allocated by the call
 * that belongs to it. NO_EXPORT and NO_ALLOC leave functions out.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <stdint.h>
#include <sys/mman.h>

enum { INVALID_VALUE = 1, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101 };
enum { INVALID_CONTEXT = 201, NOT_SUPPORTED = 801 };
enum { PAGE = 65536, MISALIGNED = 512, CONTEXT = 0x1000, STREAM = 0x2000 };

typedef enum { FREE, HOST, REGISTERED, MANAGED, DEVICE } kind;

static struct block {
    kind kind;
    char *host, *device; /* as the two sides address it */
    size_t size;
    char *map[2]; /* what was mapped */
    size_t mapped;
    int fd;
} blocks[64];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int initialised;
static int contexts[8];
static __thread void *stack[8];
static __thread int depth;

static int needs_context(void)
{
    return depth > 0 ? 0 : INVALID_CONTEXT;
}

static struct block *add(kind kind)
{
    for (struct block *b = blocks; b < blocks + 64; b++)
        if (b->kind == FREE) {
            memset(b, 0, sizeof *b);
            b->kind = kind;
            b->fd = -1;
            return b;
        }
    abort();
}

static struct block *find(kind kind, const void *address)
{
    for (struct block *b = blocks; b < blocks + 64; b++)
        if (b->kind == kind && (b->host == address || b->device == address))
            return b;
    return NULL;
}

static char *map(size_t n, int fd, int flags, void *at)
{
    char *p = mmap(at, n, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (p == MAP_FAILED)
        abort();
    return p;
}

static int release(struct block *b)
{
    if (b == NULL)
        return INVALID_VALUE;
    for (int i = 0; i < 2; i++)
        if (b->map[i] != NULL && munmap(b->map[i], b->mapped) != 0)
            abort();
    if (b->fd >= 0)
        close(b->fd);
    b->kind = FREE;
    return 0;
}

/* Gives shared memory a second address, as a GPU may have another one. */
static char *alias(char *p, size_t n)
{
    char *q = mremap(p, 0, n, MREMAP_MAYMOVE);
    if (q == MAP_FAILED)
        abort();
    return q;
}

#define LOCKED(expression)                                                                         \
    ({                                                                                             \
        pthread_mutex_lock(&lock);                                                                 \
        __typeof__(expression) value_ = (expression);                                              \
        pthread_mutex_unlock(&lock);                                                               \
        value_;                                                                                    \
    })

/* Before a call that may fail by the test's wish; END after it. */
#define BEGIN(result)                                                                              \
    int code = fake_note(__func__, result);                                                        \
    if (code != 0)                                                                                 \
    return code
/* A release does its work whatever the test wishes. */
#define END(result)                                                                                \
    int done = result;                                                                             \
    return fake_note(__func__, done)

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
    if (--contexts[device] == 0)
        for (struct block *b = blocks; b < blocks + 64; b++)
            if (b->kind != FREE)
                release(b);
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

int cuStreamCreate(void **stream, unsigned flags)
{
    BEGIN(flags != 1 ? INVALID_VALUE : needs_context());
    *stream = (void *)(uintptr_t)STREAM;
    return 0;
}

int cuStreamDestroy_v2(void *stream)
{
    END(stream != (void *)(uintptr_t)STREAM ? INVALID_VALUE : needs_context());
}

static int needs_stream(void *stream)
{
    return stream != (void *)(uintptr_t)STREAM ? INVALID_VALUE : needs_context();
}

/* What a stream has to do: a copy, or a fill where there is no source. */
static struct work {
    char *to;
    const char *from;
    size_t n;
    unsigned value;
} queue[64];
static int queued;

int cuStreamSynchronize(void *stream)
{
    int code = fake_note(__func__, needs_stream(stream));
    pthread_mutex_lock(&lock);
    for (int i = 0; code == 0 && i < queued; i++)
        for (size_t k = 0; k < queue[i].n; k++)
            queue[i].to[k] =
                queue[i].from != NULL ? queue[i].from[k] : (char)(queue[i].value >> (k % 4 * 8));
    queued = 0;
    pthread_mutex_unlock(&lock);
    return code;
}

int cuMemHostAlloc(void **host, size_t n, unsigned flags)
{
    long most = fake_setting("most_host", 1L << 40);
    BEGIN(needs_context() ? INVALID_CONTEXT : flags != 3 ? INVALID_VALUE : (long)n > most ? 2 : 0);
    pthread_mutex_lock(&lock);
    struct block *b = add(HOST);
    b->size = b->mapped = n;
    b->map[0] = b->host = map(n, -1, MAP_SHARED | MAP_ANONYMOUS, NULL);
    b->map[1] = b->device = alias(b->host, n);
    memset(b->host, 0xaa, n);
    *host = b->host;
    pthread_mutex_unlock(&lock);
    return 0;
}

int cuMemFreeHost(void *host)
{
    END(needs_context() ? INVALID_CONTEXT : LOCKED(release(find(HOST, host))));
}

int cuMemHostRegister_v2(void *host, size_t n, unsigned flags)
{
    BEGIN(needs_context() ? INVALID_CONTEXT : flags != 3 ? INVALID_VALUE : 0);
    pthread_mutex_lock(&lock);
    struct block *b = add(REGISTERED);
    b->size = b->mapped = n;
    b->host = host;
    b->map[1] = b->device = alias(host, n);
    pthread_mutex_unlock(&lock);
    return 0;
}

int cuMemHostUnregister(void *host)
{
    END(needs_context() ? INVALID_CONTEXT : LOCKED(release(find(REGISTERED, host))));
}

int cuMemHostGetDevicePointer_v2(uint64_t *device, void *host, unsigned flags)
{
    pthread_mutex_lock(&lock);
    struct block *b = find(HOST, host);
    if (b == NULL)
        b = find(REGISTERED, host);
    char *address = b != NULL ? b->device : NULL;
    pthread_mutex_unlock(&lock);
    BEGIN(needs_context() ? INVALID_CONTEXT : flags != 0 || address == NULL ? INVALID_VALUE : 0);
    *device = (uintptr_t)address;
    return 0;
}

int cuMemAllocManaged(uint64_t *device, size_t n, unsigned flags)
{
    BEGIN(needs_context() ? INVALID_CONTEXT : flags != 1 ? INVALID_VALUE : 0);
    pthread_mutex_lock(&lock);
    struct block *b = add(MANAGED);
    b->size = b->mapped = n;
    b->map[0] = b->host = b->device = map(n, -1, MAP_SHARED | MAP_ANONYMOUS, NULL);
    memset(b->host, 0xaa, n);
    *device = (uintptr_t)b->device;
    pthread_mutex_unlock(&lock);
    return 0;
}

int cuMemAdvise(uint64_t device, size_t n, int advice, int location)
{
    struct block *b = LOCKED(find(MANAGED, (void *)device));
    int known = (advice == 3 && location == -1) || (advice == 5 && location == 0);
    BEGIN(needs_context()                       ? INVALID_CONTEXT
          : b == NULL || b->size != n || !known ? INVALID_VALUE
                                                : 0);
    return 0;
}

#ifndef NO_ALLOC
/* Memory of the GPU is a file from a multiple of PAGE on, so that it can be
 * exported there. What is handed out begins a little before. */
int cuMemAlloc_v2(uint64_t *device, size_t n)
{
    BEGIN(needs_context());
    pthread_mutex_lock(&lock);
    struct block *b = add(DEVICE);
    b->size = n;
    b->mapped = n + 2 * PAGE;
    b->map[0] = map(b->mapped, -1, MAP_PRIVATE | MAP_ANONYMOUS, NULL);
    char *start = (char *)(((uintptr_t)b->map[0] + PAGE) & ~(uintptr_t)(PAGE - 1));
    b->fd = memfd_create("fake-gpu", MFD_CLOEXEC);
    size_t whole = (n + 4095) & ~(size_t)4095;
    if (b->fd < 0 || ftruncate(b->fd, (off_t)whole) != 0)
        abort();
    map(whole, b->fd, MAP_SHARED | MAP_FIXED, start);
    b->device = start - MISALIGNED;
    memset(b->device, 0xaa, n);
    *device = (uintptr_t)b->device;
    pthread_mutex_unlock(&lock);
    return 0;
}
#endif

int cuMemFree_v2(uint64_t device)
{
    END(needs_context()
            ? INVALID_CONTEXT
            : LOCKED(release(find(DEVICE, (void *)device) ? find(DEVICE, (void *)device)
                                                          : find(MANAGED, (void *)device))));
}

/* Nothing is done before it is waited for. */
static int later(struct work w, void *stream)
{
    int code = needs_stream(stream);
    pthread_mutex_lock(&lock);
    if (code == 0 && queued == 64)
        abort();
    if (code == 0)
        queue[queued++] = w;
    pthread_mutex_unlock(&lock);
    return code;
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t n, void *stream)
{
    BEGIN(later((struct work){(void *)to, NULL, n, 0x01010101u * value}, stream));
    return 0;
}

/* deaf=1 makes a GPU whose stores do not arrive: a check has to notice. */
int cuMemsetD32Async(uint64_t to, unsigned value, size_t n, void *stream)
{
    if (fake_setting("deaf", 0))
        n = 0;
    BEGIN(later((struct work){(void *)to, NULL, 4 * n, value}, stream));
    return 0;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n, void *stream)
{
    BEGIN(later((struct work){(void *)to, from, n, 0}, stream));
    return 0;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n, void *stream)
{
    BEGIN(later((struct work){to, (void *)from, n, 0}, stream));
    return 0;
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t n, void *stream)
{
    BEGIN(later((struct work){(void *)to, (void *)from, n, 0}, stream));
    return 0;
}

#ifndef NO_EXPORT
static int sealed(void)
{
    int fd = memfd_create("fake-gpu", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) != 0)
        abort();
    return fd;
}

int cuMemGetHandleForAddressRange(void *handle, uint64_t device, size_t n, int type,
                                  unsigned long long flags)
{
    int fd = -1;
    pthread_mutex_lock(&lock);
    for (struct block *b = blocks; b < blocks + 64; b++)
        if (b->kind == DEVICE && b->device + MISALIGNED == (char *)device && n % 4096 == 0 &&
            n + MISALIGNED <= b->size)
            fd = b->fd;
    pthread_mutex_unlock(&lock);
    BEGIN(needs_context()                        ? INVALID_CONTEXT
          : fd < 0 || type != 1 || flags != 0    ? INVALID_VALUE
          : fake_setting("attribute124", 1) != 1 ? NOT_SUPPORTED
                                                 : 0);
    /* A driver before CUDA 13.3 exports what cannot be mapped. */
    *(int *)handle = fake_setting("unmappable", 0) ? sealed() : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return 0;
}
#endif
