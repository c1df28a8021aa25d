/*
 * mr.c: registrations. Peers find a region by its key in the file of each endpoint of the domain.
 * Names such as R13a are rows of rules.tsv, of which a test may switch off each (without).
 */
#define _GNU_SOURCE
#include "cuda.h"
#include "stub.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Of libfabric from 1.20 on; the headers may be older. */
struct dma_buf {
    int fd;
    uint64_t offset;
    size_t len;
    void *base;
};

/* Lets peers find the regions of a domain in the file of a new endpoint. */
void mr_publish(struct domain *d, struct ep *ep)
{
    for (int i = 0; i < WIRE_REGIONS; i++)
        if (d->regions[i] != NULL && d->regions[i]->enabled)
            wire_publish(ep->map->w, i, &d->regions[i]->peer);
}

/* Lets peers find a region in the files of all endpoints of its domain. */
static void publish_everywhere(struct region *r)
{
    for (struct ep *ep = r->domain->eps; ep != NULL; ep = ep->next)
        if (ep->map != NULL)
            wire_publish(ep->map->w, r->slot, &r->peer);
}

/* Implements fi_close for a region: peers no longer find it, and its key and slot are free. */
static int mr_close(struct fid *fid)
{
    struct region *r = (struct region *)fid;
    struct domain *d = r->domain;
    if (r->gpu)
        note("close %#llx\n", (unsigned long long)r->fid.key);
    pthread_mutex_lock(&d->lock);
    for (struct ep *ep = d->eps; ep != NULL; ep = ep->next)
        if (ep->map != NULL && r->enabled)
            wire_withdraw(ep->map->w, r->slot);
    d->regions[r->slot] = NULL;
    d->users--;
    pthread_mutex_unlock(&d->lock);
    if (r->mapped != NULL)
        munmap(r->mapped, r->mapped_len);
    free(r);
    return 0;
}

/* Implements fi_mr_bind: to an endpoint alone. */
static int mr_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
    (void)flags;
    if (other->fclass != FI_CLASS_EP)
        return -FI_EINVAL;
    ((struct region *)fid)->bound = true;
    return 0;
}

/* Implements fi_mr_enable. */
static int mr_control(struct fid *fid, int command, void *arg)
{
    struct region *r = (struct region *)fid;
    (void)arg;
    if (command != FI_ENABLE)
        return -FI_ENOSYS;
    if (!r->bound && rule(&r->domain->fabric->set, r->domain->kind, R19l))
        return -FI_EINVAL;
    pthread_mutex_lock(&r->domain->lock);
    r->enabled = true;
    publish_everywhere(r);
    pthread_mutex_unlock(&r->domain->lock);
    return 0;
}

static struct fi_ops fid_ops = {
    .size = sizeof fid_ops, .close = mr_close, .bind = mr_bind, .control = mr_control};

/*
 * Returns a key that the provider draws. The keys of efa's device have 32 bits, and differ between
 * NICs (rules.tsv: R14); the highest two bits of cxi's mark a cached registration of the provider
 * (rules.tsv: R19k).
 */
static uint64_t drawn_key(struct domain *d, const struct region *r)
{
    static uint64_t unreached;
    if (d->kind == KIND_CXI)
        return UINT64_C(3) << 62 | wire_draw();
    if (r->unreached)
        return (UINT64_C(1) << 32) + __atomic_add_fetch(&unreached, 1, __ATOMIC_RELAXED);
    return without(&d->fabric->set, d->kind, R14a) ? ++d->keys : wire_draw() & UINT32_MAX;
}

/* Assigns a key and a slot to a region. The caller holds the domain's lock. A provider that
 * chooses keys (FI_MR_PROV_KEY) draws the key if it ignores requested keys (rule R14b) or the
 * request is 0. Otherwise the key is the requested one, and an error if that is in use. */
static int key_for(struct domain *d, struct region *r, uint64_t asked)
{
    const bool chooses = (d->info->domain_attr->mr_mode & FI_MR_PROV_KEY) != 0;
    const bool ignored = rule(&d->fabric->set, d->kind, R14b) || d->fabric->set.provider != EFA;
    const bool draws = chooses && (ignored || asked == 0);
    for (;;) {
        uint64_t key = draws ? drawn_key(d, r) : asked;
        bool taken = draws && key == 0;
        r->slot = -1;
        for (int i = WIRE_REGIONS - 1; i >= 0; i--) {
            if (d->regions[i] == NULL)
                r->slot = i;
            else if (d->regions[i]->fid.key == key)
                taken = true;
        }
        if (r->slot < 0)
            return -FI_ENOMEM;
        if (taken && !draws)
            return -FI_ENOKEY;
        if (!taken) {
            r->peer.key = key;
            r->fid.key = key;
            return 0;
        }
    }
}

/*
 * Allocates the pages of a region now, as a registration that pins them does, not when the first
 * bytes arrive. It leaves out large regions, such as heaps, and regions beyond some buffers of a
 * process, because tests have more of both than the machine has memory.
 */
static void pin(const struct domain *d, const struct region *r)
{
    enum { MAX_PINNED = 16 << 20, MAX_PINNED_IN_ALL = 64 << 20 };
    static atomic_size_t pinned;
    const uintptr_t page = 4095, from = (uintptr_t)r->peer.memory & ~page;
    const size_t len = ((uintptr_t)r->peer.memory + r->peer.len - from + page) & ~page;
    if (d->kind > KIND_DIRECT || r->mapped != NULL || r->unreached || r->peer.len > MAX_PINNED ||
        atomic_fetch_add(&pinned, len) + len > MAX_PINNED_IN_ALL)
        return;
    /* Read-only memory is pinned, too, and needs no pages of its own. */
    if (madvise((void *)from, len, MADV_POPULATE_WRITE) != 0)
        madvise((void *)from, len, MADV_POPULATE_READ);
}

/* Completes a registration: assigns a key to the region, and lets peers find it, unless it has to
 * be bound and enabled first (FI_MR_ENDPOINT, rule R19l) or the NIC does not reach it. */
static int add(struct domain *d, struct region *r, uint64_t access, uint64_t key,
               struct fid_mr **mr)
{
    const int mode = d->info->domain_attr->mr_mode;
    r->domain = d;
    r->peer.remote = (uint32_t)(access & (FI_REMOTE_READ | FI_REMOTE_WRITE));
    r->fid.fid = (struct fid){.fclass = FI_CLASS_MR, .ops = &fid_ops};
    r->fid.mem_desc = mode & FI_MR_LOCAL || d->kind <= KIND_DIRECT ? r : NULL;
    if (!(mode & FI_MR_VIRT_ADDR))
        r->peer.base = 0;
    pin(d, r);
    pthread_mutex_lock(&d->lock);
    int ret = key_for(d, r, key);
    if (ret == 0) {
        d->regions[r->slot] = r;
        d->users++;
        if (!r->unreached &&
            (!(mode & FI_MR_ENDPOINT) || without(&d->fabric->set, d->kind, R19l))) {
            r->enabled = true;
            publish_everywhere(r);
        }
        *mr = &r->fid;
    }
    pthread_mutex_unlock(&d->lock);
    return ret;
}

/* Registers main memory. If a test switches off rule R19j of rules.tsv, cxi refuses a registration
 * of length 0. */
static int reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
               uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
    (void)offset, (void)context;
    if (flags != 0)
        return -FI_EBADFLAGS;
    struct domain *d = (struct domain *)fid;
    if (len == 0 && without(&d->fabric->set, d->kind, R19j))
        return -FI_EINVAL;
    struct region *r = calloc(1, sizeof *r);
    if (r == NULL)
        return -FI_ENOMEM;
    r->peer.base = r->peer.memory = (uintptr_t)buf;
    r->peer.len = len;
    int ret = add(d, r, access, key, mr);
    if (ret != 0)
        free(r);
    return ret;
}

/* Implements fi_mr_regv, for one range. */
static int regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
                uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
    if (count != 1)
        return -FI_EINVAL;
    return reg(fid, iov->iov_base, iov->iov_len, access, offset, key, flags, mr, context);
}

/*
 * Maps a dma-buf, so that arrivals go to the file's memory, whatever address it was registered
 * with. Memory that cannot be mapped is taken to be at that address.
 */
static void find_memory(struct region *r, const struct dma_buf *f)
{
    const uint64_t page = 4095, skip = f->offset & page;
    struct stat st;
    if (fstat(f->fd, &st) != 0 || (uint64_t)st.st_size < f->offset + f->len)
        return;
    void *at = mmap(NULL, f->len + skip, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd,
                    (off_t)(f->offset - skip));
    if (at == MAP_FAILED)
        return;
    r->mapped = at;
    r->mapped_len = f->len + skip;
    r->peer.memory = (uintptr_t)at + skip;
}

/* Stores where the memory of a registration is in *f, and whether that is in a dma-buf in *dmabuf.
 * Returns 0, or the error with which the provider refuses the registration: of a dma-buf for an API
 * version that has none (R13c) or without a page-aligned base (R13b), or as the settings dmabuf=0
 * and peer=0 ask. */
static int check(struct domain *d, const struct fi_mr_attr *a, uint64_t flags, struct dma_buf *f,
                 bool *dmabuf)
{
    const struct settings *s = &d->fabric->set;
    struct stat st;
    *dmabuf = (flags & STUB_MR_DMABUF) != 0;
    if (*dmabuf && FI_VERSION_LT(d->api, API_DMABUF) && rule(s, d->kind, R13c))
        return -FI_EBADFLAGS;
    if (*dmabuf && rule(s, d->kind, R19d))
        *dmabuf = false; /* cxi reads the description of the dma-buf as an iovec */
    if (*dmabuf) {
        memcpy(f, a->mr_iov, sizeof *f);
        if (fstat(f->fd, &st) != 0)
            return -FI_EBADF;
        if (setting("dmabuf", 1) == 0)
            return -FI_EOPNOTSUPP;
        return (uintptr_t)f->base % 4096 != 0 && rule(s, d->kind, R13b) ? -FI_EINVAL : 0;
    }
    f->base = a->mr_iov->iov_base;
    f->len = a->mr_iov->iov_len;
    return a->iface != FI_HMEM_SYSTEM && setting("peer", 1) == 0 ? -FI_ENOSYS : 0;
}

/* Implements fi_mr_regattr: registers one range (R13e) of main memory or, if CUDA is there (R13d),
 * of CUDA memory. Without peer-to-peer efa grants a registration that no NIC reaches (R13f). A test
 * may make the n-th registration of GPU memory fail (the setting fail_at) or refuse all accesses of
 * peers (unreached_at). */
static int regattr(struct fid *fid, const struct fi_mr_attr *a, uint64_t flags, struct fid_mr **mr)
{
    static long registrations; /* of GPU memory, in this process */
    struct domain *d = (struct domain *)fid;
    struct dma_buf f = {.fd = -1};
    bool dmabuf;
    const bool gpu = a->iface != FI_HMEM_SYSTEM;
    struct region *r = calloc(1, sizeof *r);
    if (r == NULL)
        return -FI_ENOMEM;
    int ret = check(d, a, flags, &f, &dmabuf);
    const struct settings *s = &d->fabric->set;
    if ((a->iov_count != 1 && (s->provider != EFA || rule(s, d->kind, R13e))) ||
        (gpu && a->iface != FI_HMEM_CUDA))
        ret = -FI_EINVAL;
    if (gpu && ret == 0 && !cuda_found(s) && (s->provider != EFA || rule(s, d->kind, R13d)))
        ret = -FI_ENOSYS;
    const long nth = gpu ? __atomic_add_fetch(&registrations, 1, __ATOMIC_RELAXED) : 0;
    if (gpu && nth == setting("fail_at", 0))
        ret = -FI_ENOMEM;
    r->gpu = gpu;
    r->peer.relaxed = s->provider == EFA && (flags & STUB_MR_RELAXED_ORDERING) != 0;
    r->peer.base = r->peer.memory = (uintptr_t)f.base;
    r->peer.len = f.len;
    if (ret == 0 && dmabuf) {
        /* R13a: the device counts addresses from the base of the file. */
        if (s->provider != EFA || rule(s, d->kind, R13a)) {
            r->peer.base += f.offset;
            r->peer.memory += f.offset;
        }
        find_memory(r, &f);
    }
    r->unreached = gpu && !s->p2p && rule(s, d->kind, R13f);
    if (gpu && nth == setting("unreached_at", 0))
        r->peer.len = 0; /* every access is beyond its end */
    if (ret == 0)
        ret = add(d, r, a->access, a->requested_key, mr);
    if (gpu)
        note("%s %p %zu offset %lu GPU %d: %d\n", flags & STUB_MR_DMABUF ? "dmabuf" : "peer",
             f.base, f.len, (unsigned long)f.offset, a->device.cuda, ret);
    if (ret != 0) {
        if (r->mapped != NULL)
            munmap(r->mapped, r->mapped_len);
        free(r);
    }
    return ret;
}

struct fi_ops_mr mr_ops = {.size = sizeof mr_ops, .reg = reg, .regv = regv, .regattr = regattr};
