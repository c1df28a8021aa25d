/*
 * memory.c: memory that has an address from the start, and the driver's facts about an address.
 */
#define _GNU_SOURCE
#include "driver.h"

enum { LARGE = 2 << 20 }; /* a block of cuMemAlloc from this size on begins at a multiple of it */

struct block fake_blocks[BLOCKS];

unsigned long fake_next_id(void)
{
    static unsigned long last;
    return ++last;
}

struct block *fake_add(kind kind)
{
    for (struct block *b = fake_blocks; b < fake_blocks + BLOCKS; b++)
        if (b->kind == FREE) {
            memset(b, 0, sizeof *b);
            b->kind = kind;
            b->fd = -1;
            b->id = fake_next_id();
            b->context = fake_context();
            return b;
        }
    abort();
}

struct block *fake_find(kind kind, const void *address)
{
    for (struct block *b = fake_blocks; b < fake_blocks + BLOCKS; b++)
        if (b->kind == kind && (b->host == address || b->device == address))
            return b;
    return NULL;
}

bool fake_of_primary(const void *address)
{
    const char *at = address;
    for (struct block *b = fake_blocks; b < fake_blocks + BLOCKS; b++)
        if ((b->kind == MANAGED || b->kind == DEVICE || b->kind == OPENED) &&
            fake_is_primary(b->context) &&
            ((at >= b->device && at < b->device + b->size) ||
             (b->kind == MANAGED && at >= b->host && at < b->host + b->size)))
            return true;
    return false;
}

char *fake_reached(const void *address)
{
    char *at = (char *)address;
    for (struct block *b = fake_blocks; b < fake_blocks + BLOCKS; b++)
        if (b->kind == DEVICE && b->map[1] != NULL && at >= b->map[0] && at < b->map[0] + b->mapped)
            return b->map[1] + (at - b->map[0]);
    return at;
}

char *fake_map(size_t n, int fd, int flags, void *at)
{
    char *p = mmap(at, n, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (p == MAP_FAILED)
        abort();
    return p;
}

int fake_release(struct block *b)
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

void fake_reset_memory(const void *context)
{
    for (struct block *b = fake_blocks; b < fake_blocks + BLOCKS; b++)
        if (b->kind != FREE && b->context == context)
            fake_release(b); /* registered memory itself stays mapped for the CPU */
}

int fake_memory(size_t n)
{
    int fd = memfd_create("fake-gpu", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)n) != 0)
        abort();
    return fd;
}

bool fake_crosses(const char *at, size_t n)
{
    bool crosses = false;
    pthread_mutex_lock(&fake_lock);
    for (struct block *b = fake_blocks; b < fake_blocks + BLOCKS; b++)
        if (b->kind == REGISTERED)
            crosses = crosses ||
                      (at >= b->device && at < b->device + b->size && at + n > b->device + b->size);
    pthread_mutex_unlock(&fake_lock);
    return crosses;
}

/* Maps shared memory once more and returns the second address, as a GPU may have another address
 * for it than the CPU. With an old size of 0 mremap leaves the first mapping as it is. */
static char *alias(char *p, size_t n)
{
    char *q = mremap(p, 0, n, MREMAP_MAYMOVE);
    if (q == MAP_FAILED)
        abort();
    return q;
}

/* Flags of cuMemHostAlloc and cuMemHostRegister, of cuMemAllocManaged and of the export. The fake
 * takes only the values that the library gives. */
enum { PORTABLE_MAPPED = 1 | 2, ATTACH_GLOBAL = 1, DMA_BUF_FD = 1 };

/* most_host=N: no allocation has more than N bytes. */
int cuMemHostAlloc(void **host, size_t n, unsigned flags)
{
    long most = fake_setting("most_host", 1L << 40);
    BEGIN(fake_may_wait()
              ?: flags != PORTABLE_MAPPED ? INVALID_VALUE
             : (long)n > most             ? OUT_OF_MEMORY
                                          : 0);
    pthread_mutex_lock(&fake_lock);
    struct block *b = fake_add(HOST);
    b->size = b->mapped = n;
    b->map[0] = b->host = fake_map(n, -1, MAP_SHARED | MAP_ANONYMOUS, NULL);
    /* Whole programs (works=1) need one address for both, as every GPU of today has. */
    if (fake_setting("works", 0) != 0)
        b->device = b->host;
    else
        b->map[1] = b->device = alias(b->host, n);
    memset(b->host, 0xaa, n);
    *host = b->host;
    pthread_mutex_unlock(&fake_lock);
    return 0;
}

int cuMemFreeHost(void *host)
{
    END(fake_may_wait() ?: LOCKED(fake_release(fake_find(HOST, host))));
}

int cuMemHostRegister_v2(void *host, size_t n, unsigned flags)
{
    BEGIN(fake_may_wait() ?: flags != PORTABLE_MAPPED ? INVALID_VALUE : 0);
    pthread_mutex_lock(&fake_lock);
    struct block *b = fake_add(REGISTERED);
    b->size = b->mapped = n;
    b->host = host;
    /* With attribute91=1 the GPU sees registered memory at the CPU's address. */
    if (fake_setting("attribute91", 1) == 1)
        b->device = host;
    else
        b->map[1] = b->device = alias(host, n);
    pthread_mutex_unlock(&fake_lock);
    return 0;
}

int cuMemHostUnregister(void *host)
{
    END(fake_may_wait() ?: LOCKED(fake_release(fake_find(REGISTERED, host))));
}

int cuMemHostGetDevicePointer_v2(uint64_t *device, void *host, unsigned flags)
{
    pthread_mutex_lock(&fake_lock);
    struct block *b = fake_find(HOST, host);
    if (b == NULL)
        b = fake_find(REGISTERED, host);
    char *address = b != NULL ? b->device : NULL;
    pthread_mutex_unlock(&fake_lock);
    BEGIN(fake_needs_context() ?: flags != 0 || address == NULL ? INVALID_VALUE : 0);
    *device = (uintptr_t)address;
    return 0;
}

int cuMemAllocManaged(uint64_t *device, size_t n, unsigned flags)
{
    BEGIN(fake_may_wait() ?: flags != ATTACH_GLOBAL ? INVALID_VALUE : 0);
    pthread_mutex_lock(&fake_lock);
    struct block *b = fake_add(MANAGED);
    b->size = b->mapped = n;
    b->map[0] = b->host = b->device = fake_map(n, -1, MAP_SHARED | MAP_ANONYMOUS, NULL);
    memset(b->host, 0xaa, n);
    *device = (uintptr_t)b->device;
    pthread_mutex_unlock(&fake_lock);
    return 0;
}

/* Takes the advice that the library gives, for a whole block: main memory (location -1) as the
 * preferred place, and access by GPU 0. */
int cuMemAdvise(uint64_t device, size_t n, int advice, int location)
{
    struct block *b = LOCKED(fake_find(MANAGED, (void *)device));
    enum { PREFERRED_LOCATION = 3, ACCESSED_BY = 5 };
    int known = (advice == PREFERRED_LOCATION && location == -1) ||
                (advice == ACCESSED_BY && location == 0);
    BEGIN(fake_needs_context() ?: b == NULL || b->size != n || !known ? INVALID_VALUE : 0);
    return 0;
}

#ifndef NO_ALLOC
/* Memory of the GPU is a file that begins at a multiple of PAGE, where it can be exported. As in
 * the real driver, an allocation of less than LARGE begins a little before (MISALIGNED). memory=N
 * is the size of the GPU's memory. With apart=1 no load or store of the CPU reaches the memory, as
 * with a real GPU: only copies do, and emulated kernels cannot use it. */

int cuMemAlloc_v2(uint64_t *device, size_t n)
{
    BEGIN(fake_may_wait() ?: (long)n > fake_setting("memory", 1L << 30) ? OUT_OF_MEMORY : 0);
    pthread_mutex_lock(&fake_lock);
    struct block *b = fake_add(DEVICE);
    size_t unit = n < LARGE ? PAGE : LARGE;
    b->size = n;
    b->mapped = n + 2 * unit;
    b->map[0] = fake_map(b->mapped, -1, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, NULL);
    char *start = (char *)(((uintptr_t)b->map[0] + unit) & ~(uintptr_t)(unit - 1));
    size_t whole = (n + 4095) & ~(size_t)4095;
    b->fd = fake_memory(whole);
    fake_map(whole, b->fd, MAP_SHARED | MAP_FIXED, start);
    b->device = n < LARGE ? start - MISALIGNED : start;
    /* Large blocks are made dirty only at their start, so that tests need less memory. */
    memset(b->device, 0xaa, n < LARGE ? n : 4096);
    if (fake_setting("apart", 0) != 0) {
        b->map[1] = fake_map(b->mapped, -1, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, NULL);
        fake_map(whole, b->fd, MAP_SHARED | MAP_FIXED, b->map[1] + (start - b->map[0]));
        if (mprotect(b->map[0], b->mapped, PROT_NONE) != 0)
            abort();
    }
    *device = (uintptr_t)b->device;
    pthread_mutex_unlock(&fake_lock);
    return 0;
}
#endif

int cuMemFree_v2(uint64_t device)
{
    END(fake_may_wait()
            ?: LOCKED(fake_release(fake_find(DEVICE, (void *)device)
                                       ? fake_find(DEVICE, (void *)device)
                                       : fake_find(MANAGED, (void *)device))));
}

#ifndef NO_EXPORT
/* Returns a file that cannot be mapped for writing, as a dma-buf of a driver that does not map its
 * dma-bufs. */
static int sealed(void)
{
    int fd = memfd_create("fake-gpu", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) != 0)
        abort();
    return fd;
}

/* Exports whole pages of a block or of a mapping: the descriptor is of its whole file. A small
 * block can be exported only from its first multiple of PAGE, where the file begins.
 * attribute124=0: the GPU cannot do it. */
int cuMemGetHandleForAddressRange(void *handle, uint64_t device, size_t n, int type,
                                  unsigned long long flags)
{
    int fd = -1;
    size_t offset = 0;
    pthread_mutex_lock(&fake_lock);
    for (struct block *b = fake_blocks; b < fake_blocks + BLOCKS; b++)
        if (b->kind == DEVICE && n % 4096 == 0 &&
            (b->device + MISALIGNED == (char *)device
                 ? n + MISALIGNED <= b->size
                 : b->size >= LARGE && device % 4096 == 0 && (char *)device >= b->device &&
                       (char *)device + n <= b->device + b->size))
            fd = b->fd;
    if (fd < 0 && n % 4096 == 0)
        fd = fake_mapped_file((char *)device, n, &offset);
    pthread_mutex_unlock(&fake_lock);
    BEGIN(fake_needs_context()
              ?: fd < 0 || type != DMA_BUF_FD || flags != 0 ? INVALID_VALUE
             : fake_setting("attribute124", 1) != 1         ? NOT_SUPPORTED
                                                            : 0);
    /* A driver before CUDA 13.3 exports a file that cannot be mapped. */
    *(int *)handle = fake_setting("unmappable", 0) ? sealed() : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return 0;
}
#endif

/* Sets the values of attributes for the address: those that the library asks for, by their numbers
 * in cuda.h. The value of an attribute that does not apply is 0. */
int cuPointerGetAttributes(unsigned count, int *attributes, void **values, uint64_t address)
{
    char *at = (char *)address, *base = NULL, *host = NULL;
    size_t size = 0;
    unsigned long id = 0;
    int place = 0; /* enum CUmemorytype: 1 in the host's memory, 2 in the GPU's; 0 unknown */
    bool managed = false, legacy = false;
    pthread_mutex_lock(&fake_lock);
    if (fake_mapped_range(at, &base, &size, &id))
        place = 2;
    for (struct block *b = fake_blocks; b < fake_blocks + BLOCKS && place == 0; b++) {
        bool of_host = b->host != NULL && at >= b->host && at < b->host + b->size;
        if (b->kind == FREE || !(of_host || (at >= b->device && at < b->device + b->size)))
            continue;
        managed = b->kind == MANAGED;
        legacy = b->kind == DEVICE || b->kind == OPENED;
        place = b->kind == HOST || b->kind == REGISTERED ? 1 : 2;
        base = of_host ? b->host : b->device;
        host = b->host == NULL ? NULL : b->host + (at - base);
        size = b->size;
        id = b->id;
    }
    pthread_mutex_unlock(&fake_lock);
    BEGIN(fake_needs_context());
    for (unsigned i = 0; i < count; i++)
        switch (attributes[i]) {
        case 2: /* memory type */
            *(int *)values[i] = place;
            break;
        case 4: /* host pointer */
            *(char **)values[i] = host;
            break;
        case 7: /* buffer id */
            *(unsigned long *)values[i] = id;
            break;
        case 8: /* is managed */
            *(int *)values[i] = managed;
            break;
        case 9: /* device ordinal; the fake says the first for all memory */
            *(int *)values[i] = 0;
            break;
        case 10: /* has a handle of cuIpcGetMemHandle */
            *(int *)values[i] = legacy;
            break;
        case 11: /* start of the allocation */
            *(char **)values[i] = base;
            break;
        case 12: /* size of the allocation */
            *(size_t *)values[i] = size;
            break;
        default:
            abort();
        }
    return 0;
}

/* Sets the only attribute that the library sets, synchronous copies (6), for the allocation at an
 * address. With sync_mapped=0 the driver refuses it for memory of cuMemMap. */
int cuPointerSetAttribute(const void *value, int attribute, uint64_t address)
{
    char *base = NULL;
    size_t size = 0;
    unsigned long id = 0;
    bool known = false;
    pthread_mutex_lock(&fake_lock);
    if (fake_mapped_range((char *)address, &base, &size, &id))
        known = fake_setting("sync_mapped", 1) != 0;
    for (struct block *b = fake_blocks; b < fake_blocks + BLOCKS; b++)
        known = known || (b->kind == DEVICE && (char *)address >= b->device &&
                          (char *)address < b->device + b->size);
    pthread_mutex_unlock(&fake_lock);
    BEGIN(fake_needs_context()
              ?: !known || attribute != 6 || *(const unsigned *)value != 1 ? INVALID_VALUE
                                                                           : 0);
    return 0;
}

int cuMemGetInfo_v2(size_t *available, size_t *total)
{
    BEGIN(fake_needs_context());
    *total = (size_t)fake_setting("memory", 1L << 30);
    *available = *total - (size_t)LOCKED(fake_contexts()) * FAKE_CONTEXT_BYTES;
    return 0;
}
