/*
 * regions.h: rules about registrations and their keys.
 */
#ifndef REGIONS_H
#define REGIONS_H

#include "side.h"

/* Of fi_mr_regattr: later versions have more fields than the headers may have. */
struct attributes {
    struct fi_mr_attr attr;
    uint64_t later[8];
};

/* Registers 8 KiB, from `offset` on, of a memory file in place of a dma-buf at b. The address that
 * the region claims is `misplace` bytes after the beginning of the file's mapping, b.memory. */
static int dma_buf(uint64_t misplace, uint64_t offset, struct fid_mr **mr)
{
    struct {
        int fd;
        uint64_t offset;
        size_t len;
        void *base;
    } file = {.offset = offset, .len = 8192};
    struct attributes x = {.attr = {.mr_iov = (const void *)&file,
                                    .iov_count = 1,
                                    .access = FI_REMOTE_WRITE | FI_REMOTE_READ,
                                    .iface = FI_HMEM_CUDA}};
    file.fd = memfd_create("gpu", MFD_CLOEXEC);
    if (ftruncate(file.fd, 65536) != 0)
        return -errno;
    char *at = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
    file.base = at + misplace;
    b.memory = at;
    return fi_mr_regattr(b.domain, &x.attr, DMABUF, mr);
}

static struct fi_info *gpu_hints(void)
{
    struct fi_info *h = hints();
    h->caps |= FI_HMEM;
    h->domain_attr->mr_mode |= FI_MR_HMEM;
    return h;
}

static void gpu(void)
{
    must(ask(gpu_hints()), "fi_getinfo");
    both();
}

static int register_gpu(struct side *s, void *memory, size_t n, struct fid_mr **mr)
{
    struct iovec iov = {memory, n};
    struct attributes x = {.attr = {.mr_iov = &iov,
                                    .iov_count = 1,
                                    .access = FI_SEND | FI_RECV | FI_WRITE | FI_REMOTE_WRITE,
                                    .iface = FI_HMEM_CUDA}};
    return fi_mr_regattr(s->domain, &x.attr, 0, mr);
}

/* Registered with the address of the memory at the offset, the device counts from further on. */
static void dmabuf_offset(void)
{
    struct fid_mr *mr;
    gpu();
    shake();
    must(dma_buf(4096, 4096, &mr), "fi_mr_regattr");
    b.base = (uintptr_t)b.memory + 4096 - HALF;
    memset(a.memory, 7, 8);
    const char *came = written(fi_mr_key(mr));
    say(strcmp(came, "fine") != 0 ? came : b.memory[4096] == 7 ? "there" : "elsewhere");
}

static void dmabuf_page(void)
{
    struct fid_mr *mr;
    gpu();
    say(named(dma_buf(64, 0, &mr)));
}

static void dmabuf_old(void)
{
    struct fid_mr *mr;
    api = FI_VERSION(1, 19);
    gpu();
    say(named(dma_buf(0, 0, &mr)));
}

/* On cxi the region has the length of the dma-buf's offset, which is 0. */
static void dmabuf_cxi(void)
{
    struct fid_mr *mr;
    gpu();
    must(dma_buf(0, 0, &mr), "fi_mr_regattr");
    if (info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
        must(fi_mr_bind(mr, &b.ep->fid, 0), "fi_mr_bind");
        must(fi_mr_enable(mr), "fi_mr_enable");
    }
    b.base = (info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)b.memory : 0) - HALF;
    say(written(fi_mr_key(mr)));
}

static void register_some(enum fi_hmem_iface iface, size_t count)
{
    struct fid_mr *mr;
    static char memory[2][4096];
    struct iovec iov[2] = {{memory[0], 4096}, {memory[1], 4096}};
    struct attributes x = {
        .attr = {.mr_iov = iov, .iov_count = count, .access = FI_WRITE, .iface = iface}};
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    say(named(fi_mr_regattr(a.domain, &x.attr, 0, &mr)));
}

static void gpu_closed(void)
{
    register_some(FI_HMEM_CUDA, 1);
}

static void two_pieces(void)
{
    register_some(FI_HMEM_SYSTEM, 2);
}

/* The key's form, and the result of a write with it. */
static void gpu_apart(void)
{
    struct fid_mr *mr;
    char text[64];
    gpu();
    shake();
    must(register_gpu(&b, b.memory, SIZE, &mr), "fi_mr_regattr");
    snprintf(text, sizeof text, "%s bits, %s", fi_mr_key(mr) > UINT32_MAX ? "more than 32" : "32",
             written(fi_mr_key(mr)));
    say(text);
}

/* The same NIC counts on, so the first keys of two NICs show it. */
static void two_keys(void)
{
    must(ask(hints()), "fi_getinfo");
    open_side(&a);
    info = info->next;
    if (info == NULL)
        say("one NIC");
    open_side(&b);
    say(a.key == b.key ? "one key" : "two keys");
}

static void key(void)
{
    both();
    say(b.key == 77 ? "as asked" : "the device's"); /* enable (side.h) asks for 77 */
}

static void register_nothing(void)
{
    struct fid_mr *mr;
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    say(named(fi_mr_reg(a.domain, contexts, 0, FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL)));
}

static void posted_with(uint64_t key)
{
    both();
    say(named(write_to(&a, &b, 8, a.desc, key, FI_COMPLETION, &contexts[0])));
}

static void key_impossible(void)
{
    posted_with(UINT64_C(1) << 40);
}

/* Keys of cxi: bit 63 is set in all that the provider makes, bit 62 if the region is cached, and
 * bit 61 if the rest is a place of a table of 92. */
static void key_beyond(void)
{
    posted_with(UINT64_C(5) << 61 | 92);
}

static void key_placed(void)
{
    posted_with(UINT64_C(5) << 61 | 91);
}

static void key_uncached(void)
{
    posted_with(UINT64_C(1) << 63 | 92);
}

static void unbound(void)
{
    struct fid_mr *mr;
    both();
    must(fi_mr_reg(b.domain, b.memory, SIZE, FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL), "fi_mr_reg");
    say(written(fi_mr_key(mr)));
}

static void enabled_unbound(void)
{
    struct fid_mr *mr;
    both();
    must(fi_mr_reg(b.domain, b.memory, SIZE, FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL), "fi_mr_reg");
    say(named(fi_mr_enable(mr)));
}

static const struct what regions[] = {
    {"dmabuf-offset", dmabuf_offset},
    {"dmabuf-page", dmabuf_page},
    {"dmabuf-old", dmabuf_old},
    {"dmabuf-cxi", dmabuf_cxi},
    {"gpu-closed", gpu_closed},
    {"two-pieces", two_pieces},
    {"gpu-apart", gpu_apart},
    {"two-keys", two_keys},
    {"key", key},
    {"register-nothing", register_nothing},
    {"key-impossible", key_impossible},
    {"key-beyond", key_beyond},
    {"key-placed", key_placed},
    {"key-uncached", key_uncached},
    {"unbound", unbound},
    {"enabled-unbound", enabled_unbound},
    {NULL, NULL},
};

#endif
