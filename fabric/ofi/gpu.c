/*
 * gpu.c: registers memory of GPUs. Go decides with which providers, and what to do after a refusal.
 */
#include "endpoint.h"

#include <sys/uio.h>

/*
 * libfabric has the flag and the struct for dma-bufs from version 1.20 on. The headers that this is
 * built with may be older than the library that runs.
 */
#ifndef FI_MR_DMABUF
#define FI_MR_DMABUF (1ULL << 40)
#endif
struct dma_buf {
    int fd;
    uint64_t offset;
    size_t len;
    void *base;
};

/*
 * Returns libfabric's info of the same provider, NIC and fabric with access to GPU memory
 * (FI_HMEM), which the caller frees. Otherwise returns NULL, and *error is a negative error of
 * libfabric, -FI_ENODATA if no such endpoint is offered. The hints allow FI_MR_HMEM: providers that
 * reach GPU memory want local buffers there registered.
 */
struct fi_info *shmemi_ofi_with_gpu(uint32_t version, const struct fi_info *info, int *error)
{
    struct fi_info *h = fi_dupinfo(info), *list = NULL;
    *error = -FI_ENOMEM;
    if (h == NULL)
        return NULL;
    h->caps |= FI_HMEM;
    h->domain_attr->mr_mode = REGISTRATION | FI_MR_HMEM;
    *error = shmemi_ofi_getinfo(version, h, &list);
    fi_freeinfo(h);
    if (*error != 0)
        return NULL;
    struct fi_info *got = NULL;
    *error = -FI_ENODATA;
    if (list->caps & FI_HMEM && (got = fi_dupinfo(list)) == NULL)
        *error = -FI_ENOMEM;
    fi_freeinfo(list);
    return got;
}

/* Registers memory of a GPU: of a dma-buf if fd is not negative, else by its address. */
int shmemi_ofi_register_gpu(struct shmemi_ofi *o, const void *base, size_t len, int device, int fd,
                            uint64_t offset, struct fid_mr **mr)
{
    struct iovec whole = {.iov_base = (void *)base, .iov_len = len};
    /* libfabric's base is that of the whole dma-buf: providers add the offset to it. */
    struct dma_buf file = {
        .fd = fd, .offset = offset, .len = len, .base = (void *)((uintptr_t)base - offset)};
    /* In later versions the struct has more fields at its end, which have to be 0. */
    struct {
        struct fi_mr_attr attr;
        uint64_t later[8];
    } a = {.attr = {
               .mr_iov = fd < 0 ? &whole : (const struct iovec *)(const void *)&file,
               .iov_count = 1,
               .access = ACCESS,
               .requested_key = shmemi_ofi_draw_key(o),
               .iface = FI_HMEM_CUDA,
               .device.cuda = device,
           }};
    o->failed = fd < 0 ? "fi_mr_regattr" : "fi_mr_regattr with FI_MR_DMABUF";
    int ret = fi_mr_regattr(o->domain, &a.attr, fd < 0 ? 0 : FI_MR_DMABUF, mr);
    return ret != 0 ? ret : shmemi_ofi_enable(o, mr);
}
