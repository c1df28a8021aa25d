/*
 * libgdrapi.c: GDRCopy for tests, on the memory of the fake driver in this folder. Its mappings
 * begin a page before the requested address, as those of the kernel module may, and gdr_get_info
 * says so. A build with NO_INFO lacks gdr_get_info.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <stdint.h>
#include <sys/mman.h>

enum { PAGE = 65536 };

/* gdr_mh_t. A gdr has at most one buffer here, whose handle has the value HANDLE. */
typedef struct {
    unsigned long value;
} handle;
enum { HANDLE = 7 };

/* gdr_info_v2_t. */
struct info {
    uint64_t va, mapped_size;
    uint32_t page_size;
    uint64_t tm_cycles;
    uint32_t cycles_per_ms;
    unsigned mapped : 1, wc_mapping : 1;
    int mapping_type;
};

/* What gdr_open returns: the pinned buffer. */
struct gdr {
    uint64_t address;
    size_t size;
};

/* gdrdrv=0: the kernel module is not there. Then errno is ENOENT; it is 0 if the test makes the
 * call fail. */
void *gdr_open(void)
{
    int gone = fake_setting("gdrdrv", 1) == 0;
    if (fake_note(__func__, gone ? ENOENT : 0) != 0) {
        errno = gone ? ENOENT : 0;
        return NULL;
    }
    return calloc(1, sizeof(struct gdr));
}

int gdr_close(void *gdr)
{
    free(gdr);
    return fake_note(__func__, 0) != 0 ? EIO : 0;
}

int gdr_pin_buffer(void *gdr, unsigned long address, size_t n, uint64_t token, uint32_t space,
                   handle *h)
{
    int bad = address % PAGE != 0 || n % PAGE != 0 || token != 0 || space != 0;
    if (fake_note(__func__, bad ? EINVAL : 0) != 0)
        return EINVAL;
    struct gdr *g = gdr;
    g->address = address;
    g->size = n;
    h->value = HANDLE;
    return 0;
}

int gdr_unpin_buffer(void *gdr, handle h)
{
    (void)gdr;
    return fake_note(__func__, h.value == HANDLE ? 0 : EINVAL) != 0 ? EINVAL : 0;
}

int gdr_map(void *gdr, handle h, void **address, size_t n)
{
    struct gdr *g = gdr;
    if (fake_note(__func__, h.value == HANDLE && n == g->size ? 0 : EINVAL) != 0)
        return EINVAL;
    /* With an old size of 0 mremap makes a second mapping, and leaves the first one. */
    char *p = mremap((void *)g->address, 0, n, MREMAP_MAYMOVE);
    if (p == MAP_FAILED)
        abort();
    *address = p - PAGE;
    return 0;
}

int gdr_unmap(void *gdr, handle h, void *address, size_t n)
{
    (void)gdr;
    int bad = h.value != HANDLE || munmap((char *)address + PAGE, n) != 0;
    return fake_note(__func__, bad ? EINVAL : 0) != 0 ? EINVAL : 0;
}

#ifndef NO_INFO
/* combining=0: the mapping is not a write-combining one. */
int gdr_get_info_v2(void *gdr, handle h, struct info *info)
{
    struct gdr *g = gdr;
    if (fake_note(__func__, h.value == HANDLE ? 0 : EINVAL) != 0)
        return EINVAL;
    info->va = g->address - PAGE;
    info->mapped_size = g->size + PAGE;
    info->page_size = PAGE;
    info->mapped = 1;
    info->wc_mapping = (unsigned)fake_setting("combining", 1) & 1;
    return 0;
}
#endif

void gdr_runtime_get_version(int *major, int *minor)
{
    *major = 2;
    *minor = 5;
}
