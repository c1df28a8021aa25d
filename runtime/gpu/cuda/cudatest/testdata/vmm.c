/*
 * vmm.c: CUDA's virtual memory management (VMM), and its IPC, by which memory of other processes
 * is mapped.
 *
 * A chunk is memory of cuMemCreate or of an import: a file without a name. Its handle is its place
 * in the table, from 1 on. A reserved range is mapped without rights, and a chunk mapped in it gets
 * rights by cuMemSetAccess: a caller that forgets the call gets a fault. foreign=CODE makes
 * cuMemSetAccess and cuIpcOpenMemHandle fail for memory of other processes, as if there were no
 * path between two GPUs; import=CODE makes the import of such memory fail, and ipc=CODE the making
 * of an IPC handle. memory=N is the size of the GPU's memory. A chunk has one handle, and counts
 * the calls that have returned it and were not followed by a release.
 */
#define _GNU_SOURCE
#include "driver.h"

#include <sys/stat.h>

enum { GRANULE = 2 << 20, TABLE = 256 };

/* CUDA's numbers for the only values that the library gives. DESCRIPTOR is a type of handles. */
enum { PINNED = 1, DESCRIPTOR = 1, AT_DEVICE = 1, READ_WRITE = 3, LAZY_PEER_ACCESS = 1 };

static struct chunk {
    bool foreign; /* imported, also if from this process */
    int names;    /* uses of the handle; 0: the entry is free */
    int fd;
    int handles; /* CUmemAllocationProp.requestedHandleTypes */
    size_t n;
    unsigned long id; /* of the memory, which its mappings keep: CU_POINTER_ATTRIBUTE_BUFFER_ID */
} chunks[TABLE];

static struct range {
    char *at; /* NULL: the entry is free */
    size_t n;
} ranges[TABLE];

static struct mapping {
    char *at; /* NULL: the entry is free */
    size_t n;
    int fd; /* of the mapping itself: the chunk's memory lives as long as it is mapped */
    int handles;
    bool foreign, allowed;
    unsigned long id;
} mappings[TABLE];

/* CUmemAllocationProp, CUmemAccessDesc and CUipcMemHandle. */
struct wanted {
    int type, handles, location, device;
    void *windows;
    unsigned char compression, rdma;
    unsigned short usage;
    unsigned char reserved[4];
};
struct access {
    int location, device, flags;
};
struct ipc {
    int pid, fd;
    size_t n;
    char rest[48];
};

/* Maps n bytes of addresses without rights, so that an access is a fault. */
static void *reserved(void *at, size_t n, int flags)
{
    void *p = mmap(at, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    if (p == MAP_FAILED)
        abort();
    return p;
}

/* Reports whether the properties of a new chunk are valid, and are those that the library sets. */
static bool good(const struct wanted *w)
{
    return w->type == PINNED && (w->handles & ~DESCRIPTOR) == 0 && w->location == AT_DEVICE &&
           w->windows == NULL && w->compression == 0 &&
           w->rdma == (fake_setting("attribute110", 1) == 1) && w->usage == 0 &&
           w->device < fake_setting("devices", 1);
}

/* granule=N is the result; the other calls want multiples of GRANULE all the same. */
int cuMemGetAllocationGranularity(size_t *n, const struct wanted *w, int option)
{
    BEGIN(option != 0 || !good(w) ? INVALID_VALUE : 0);
    *n = (size_t)fake_setting("granule", GRANULE);
    return 0;
}

/* align must be a power of 2, or 0. addresses=N: no range has more than N bytes. */
int cuMemAddressReserve(uint64_t *at, size_t n, size_t align, uint64_t hint,
                        unsigned long long flags)
{
    BEGIN(n == 0 || n % GRANULE != 0 || (align & (align - 1)) != 0 || hint != 0 || flags != 0
              ? INVALID_VALUE
          : (long)n > fake_setting("addresses", 1L << 44) ? OUT_OF_MEMORY
                                                          : 0);
    if (align < GRANULE)
        align = GRANULE;
    /* It maps align bytes too many, and frees those before and after the aligned range. */
    char *room = reserved(NULL, n + align, 0);
    char *start = (char *)(((uintptr_t)room + align - 1) & ~(uintptr_t)(align - 1));
    if (start > room)
        munmap(room, (size_t)(start - room));
    if (room + align > start)
        munmap(start + n, (size_t)(room + align - start));
    pthread_mutex_lock(&fake_lock);
    struct range *r = ranges;
    while (r < ranges + TABLE && r->at != NULL)
        r++;
    if (r == ranges + TABLE)
        abort();
    *r = (struct range){start, n};
    pthread_mutex_unlock(&fake_lock);
    *at = (uintptr_t)start;
    return 0;
}

/* Returns a mapping that overlaps n bytes at an address, or NULL. */
static struct mapping *mapping_in(const char *at, size_t n)
{
    for (struct mapping *m = mappings; m < mappings + TABLE; m++)
        if (m->at != NULL && m->at < at + n && at < m->at + m->n)
            return m;
    return NULL;
}

/* Frees a range of reserved addresses, if at and n name all of it and nothing is mapped in it. */
static int give_back(char *at, size_t n)
{
    for (struct range *r = ranges; r < ranges + TABLE; r++)
        if (r->at == at && r->n == n && mapping_in(at, n) == NULL) {
            munmap(at, n);
            r->at = NULL;
            return 0;
        }
    return INVALID_VALUE;
}

int cuMemAddressFree(uint64_t at, size_t n)
{
    END(LOCKED(give_back((char *)at, n)));
}

static struct chunk *chunk_of(uint64_t name)
{
    return name > 0 && name <= TABLE && chunks[name - 1].names > 0 ? &chunks[name - 1] : NULL;
}

/* Puts a chunk into the table and returns its handle. It replaces the id 0 by a new one. */
static uint64_t keep_chunk(struct chunk c)
{
    uint64_t i = 0;
    while (i < TABLE && chunks[i].names > 0)
        i++;
    if (i == TABLE)
        abort();
    c.names = 1;
    if (c.id == 0)
        c.id = fake_next_id();
    chunks[i] = c;
    return i + 1;
}

/* Returns how many bytes of the GPU this process has mapped: only memory that it has allocated, and
 * memory with several addresses once. */
static size_t in_use(void)
{
    size_t n = 0;
    for (struct mapping *m = mappings; m < mappings + TABLE; m++) {
        bool again = false;
        for (struct mapping *before = mappings; before < m; before++)
            again = again || (before->at != NULL && before->id == m->id);
        n += m->at != NULL && !m->foreign && !again ? m->n : 0;
    }
    return n;
}

int cuMemCreate(uint64_t *memory, size_t n, const struct wanted *w, unsigned long long flags)
{
    long room = fake_setting("memory", 1L << 30) - (long)LOCKED(in_use());
    BEGIN(n == 0 || n % GRANULE != 0 || !good(w) || flags != 0 ? INVALID_VALUE
          : (long)n > room                                     ? OUT_OF_MEMORY
                                                               : 0);
    int fd = fake_memory(n);
    char *p = fake_map(n, fd, MAP_SHARED, NULL);
    for (size_t i = 0; i < n; i += GRANULE)
        memset(p + i, 0xaa, 4096);
    munmap(p, n);
    *memory = LOCKED(keep_chunk((struct chunk){.fd = fd, .n = n, .handles = w->handles}));
    return 0;
}

/* Releases one handle of a chunk, and the chunk with its last one. What is mapped stays. */
static int drop_chunk(struct chunk *c)
{
    if (c == NULL)
        return INVALID_VALUE;
    if (--c->names == 0)
        close(c->fd);
    return 0;
}

int cuMemRelease(uint64_t memory)
{
    END(LOCKED(drop_chunk(chunk_of(memory))));
}

int cuMemExportToShareableHandle(void *handle, uint64_t memory, int type, unsigned long long flags)
{
    struct chunk *c = LOCKED(chunk_of(memory));
    BEGIN(c == NULL || c->handles != DESCRIPTOR || type != DESCRIPTOR || flags != 0 ? INVALID_VALUE
                                                                                    : 0);
    *(int *)handle = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
    return 0;
}

/* Reports whether a descriptor is one of this driver's. The real driver refuses others, too. */
static bool ours(int fd)
{
    char name[64], to[64] = "";
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return readlink(name, to, sizeof to - 1) > 0 && strstr(to, "fake-gpu") != NULL;
}

int cuMemImportFromShareableHandle(uint64_t *memory, void *handle, int type)
{
    int fd = (int)(intptr_t)handle; /* the argument is the descriptor itself, not its address */
    struct stat st;
    BEGIN(type != DESCRIPTOR || !ours(fd) || fstat(fd, &st) != 0 ? INVALID_VALUE
                                                                 : (int)fake_setting("import", 0));
    *memory = LOCKED(keep_chunk((struct chunk){.foreign = true,
                                               .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0),
                                               .n = (size_t)st.st_size,
                                               .handles = DESCRIPTOR}));
    return 0;
}

/* Returns 0, or the driver's error if a chunk cannot be mapped at an address: only whole chunks
 * can, in a reserved range, where nothing else is mapped. */
static int may_map(char *at, size_t n, struct chunk *c)
{
    bool inside = false;
    for (struct range *r = ranges; r < ranges + TABLE; r++)
        inside = inside || (r->at != NULL && at >= r->at && at + n <= r->at + r->n);
    bool fits = c != NULL && n == c->n && inside && (uintptr_t)at % GRANULE == 0;
    return fits && mapping_in(at, n) == NULL ? 0 : INVALID_VALUE;
}

/* Maps a chunk without rights, which cuMemSetAccess gives it. */
static int map_chunk(char *at, size_t n, struct chunk *c)
{
    struct mapping *m = mappings;
    while (m < mappings + TABLE && m->at != NULL)
        m++;
    if (m == mappings + TABLE)
        abort();
    *m = (struct mapping){at,    n,    fcntl(c->fd, F_DUPFD_CLOEXEC, 0), c->handles, c->foreign,
                          false, c->id};
    if (mmap(at, n, PROT_NONE, MAP_SHARED | MAP_FIXED, m->fd, 0) == MAP_FAILED)
        abort();
    return 0;
}

/* Unmaps a whole mapping. Its addresses stay reserved. */
static int unmap_chunk(char *at, size_t n)
{
    struct mapping *m = mapping_in(at, n);
    if (m == NULL || m->at != at || m->n != n)
        return INVALID_VALUE;
    reserved(at, n, MAP_FIXED);
    close(m->fd);
    m->at = NULL;
    return 0;
}

int cuMemMap(uint64_t at, size_t n, size_t offset, uint64_t memory, unsigned long long flags)
{
    BEGIN(offset != 0 || flags != 0 ? INVALID_VALUE
                                    : LOCKED(may_map((char *)at, n, chunk_of(memory))));
    return LOCKED(map_chunk((char *)at, n, chunk_of(memory)));
}

int cuMemUnmap(uint64_t at, size_t n)
{
    END(LOCKED(unmap_chunk((char *)at, n)));
}

/* Returns the handle of the mapped chunk, and counts one more use of it. If all uses were released,
 * the chunk gets a new handle. */
static uint64_t name_of(struct mapping *m)
{
    for (uint64_t i = 0; i < TABLE; i++)
        if (chunks[i].names > 0 && chunks[i].id == m->id) {
            chunks[i].names++;
            return i + 1;
        }
    return keep_chunk((struct chunk){.foreign = m->foreign,
                                     .fd = fcntl(m->fd, F_DUPFD_CLOEXEC, 0),
                                     .handles = m->handles,
                                     .n = m->n,
                                     .id = m->id});
}

/* As the real driver, it has handles only for memory of cuMemMap. */
int cuMemRetainAllocationHandle(uint64_t *memory, void *at)
{
    BEGIN(LOCKED(mapping_in(at, 1)) == NULL ? INVALID_VALUE : 0);
    *memory = LOCKED(name_of(mapping_in(at, 1)));
    return 0;
}

int cuMemGetAllocationPropertiesFromHandle(struct wanted *of, uint64_t memory)
{
    struct chunk *c = LOCKED(chunk_of(memory));
    BEGIN(c == NULL ? INVALID_VALUE : 0);
    *of = (struct wanted){.type = PINNED,
                          .handles = c->handles,
                          .location = AT_DEVICE,
                          .rdma = fake_setting("attribute110", 1) == 1};
    return 0;
}

int cuMemSetAccess(uint64_t at, size_t n, const struct access *a, size_t count)
{
    pthread_mutex_lock(&fake_lock);
    struct mapping *m = mapping_in((char *)at, n);
    bool whole = m != NULL && m->at == (char *)at && m->n == n;
    bool foreign = whole && m->foreign;
    pthread_mutex_unlock(&fake_lock);
    BEGIN(!whole || count != 1 || a->location != AT_DEVICE || a->flags != READ_WRITE ? INVALID_VALUE
          : foreign ? (int)fake_setting("foreign", 0)
                    : 0);
    if (mprotect((void *)at, n, PROT_READ | PROT_WRITE) != 0)
        abort();
    m->allowed = true;
    return 0;
}

int fake_mapped_file(const char *at, size_t n, size_t *offset)
{
    struct mapping *m = mapping_in(at, n);
    if (m == NULL || at < m->at || at + n > m->at + m->n)
        return -1;
    *offset = (size_t)(at - m->at);
    return m->fd;
}

bool fake_mapped_range(const char *at, char **base, size_t *n, unsigned long *id)
{
    struct mapping *m = mapping_in(at, 1);
    if (m == NULL)
        return false;
    *base = m->at;
    *n = m->n;
    *id = m->id;
    return true;
}

void fake_drop_vmm(void)
{
    for (struct mapping *m = mappings; m < mappings + TABLE; m++)
        if (m->at != NULL)
            unmap_chunk(m->at, m->n);
    for (struct range *r = ranges; r < ranges + TABLE; r++)
        if (r->at != NULL)
            give_back(r->at, r->n);
    for (struct chunk *c = chunks; c < chunks + TABLE; c++)
        while (c->names > 0)
            drop_chunk(c);
}

/* It has handles only for blocks that begin where their file does: large ones. */
int cuIpcGetMemHandle(struct ipc *handle, uint64_t at)
{
    pthread_mutex_lock(&fake_lock);
    struct block *b = fake_find(DEVICE, (void *)at);
    struct ipc h = {.pid = getpid(), .fd = b != NULL ? b->fd : -1, .n = b != NULL ? b->size : 0};
    pthread_mutex_unlock(&fake_lock);
    BEGIN(fake_needs_context()
              ?: b == NULL || at % GRANULE != 0 ? INVALID_VALUE
                                                : (int)fake_setting("ipc", 0));
    *handle = h;
    return 0;
}

/* Like the real driver, it refuses a handle of the same process. */
int cuIpcOpenMemHandle_v2(uint64_t *at, struct ipc handle, unsigned flags)
{
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/fd/%d", handle.pid, handle.fd);
    int fd = open(name, O_RDWR | O_CLOEXEC);
    int result = fake_needs_context()
                     ?: fd < 0 || flags != LAZY_PEER_ACCESS || !ours(fd) ? INVALID_VALUE
                    : handle.pid == getpid()                             ? INVALID_CONTEXT
                                             : (int)fake_setting("foreign", 0);
    if ((result = fake_note(__func__, result)) == 0) {
        pthread_mutex_lock(&fake_lock);
        struct block *b = fake_add(OPENED);
        b->size = b->mapped = handle.n;
        b->map[0] = b->device = fake_map(handle.n, fd, MAP_SHARED, NULL);
        pthread_mutex_unlock(&fake_lock);
        *at = (uintptr_t)b->device;
    }
    if (fd >= 0)
        close(fd);
    return result;
}

int cuIpcCloseMemHandle(uint64_t at)
{
    END(fake_needs_context() ?: LOCKED(fake_release(fake_find(OPENED, (void *)at))));
}
