/*
 * nic.c: a libfabric whose provider "efa" takes memory of GPUs. It is the real
 * libfabric with a provider over TCP behind that name; only what concerns the
 * registration of GPU memory is its own. The bytes do move, where the GPU's memory
 * is the process's own too.
 *
 * FAKE_NIC holds words KEY=NUMBER: hmem=0, the provider has no FI_HMEM; dmabuf=0
 * and peer=0, a registration of that kind fails; fail_at=K, the K-th fails;
 * minor=N, libfabric says it is 1.N; again=K, endpoints that are opened now refuse a
 * K-th of all postings by FI_EAGAIN, at random, and all for a while now and then;
 * overrun_at=K, the K-th look at a completion queue finds it overrun; stray=N, the first N looks
 * find error entries that no operation has, with the error stray_err (5) and stray_flags (0).
 * FAKE_NIC_LOG names a file that gets a line for each registration and for each end of one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "efa"

/* From 1.20 on; the headers may be older. */
struct dma_buf {
    int fd;
    uint64_t offset;
    size_t len;
    void *base;
};
#define DMA_BUF (1ULL << 40)

static void *library;
static char *behind; /* the real provider */

/* While this is loaded, so that who loads it can undo what the real one does to signals. */
__attribute__((constructor)) static void open_real(void)
{
    library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
}

static void *real(const char *name)
{
    void *f = library != NULL ? dlsym(library, name) : NULL;
    if (f == NULL) {
        fprintf(stderr, "nic.c: no %s in libfabric\n", name);
        abort();
    }
    return f;
}

#define REAL(name) ((__typeof__(&name))real(#name))

static long setting(const char *key, long otherwise)
{
    const char *s = getenv("FAKE_NIC");
    for (size_t n = strlen(key); s != NULL && *s != 0; s = strchr(s, ' ') ? strchr(s, ' ') + 1 : "")
        if (strncmp(s, key, n) == 0 && s[n] == '=')
            return strtol(s + n + 1, NULL, 10);
    return otherwise;
}

static void note(const char *format, ...)
{
    const char *file = getenv("FAKE_NIC_LOG");
    char line[256];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    int fd = file != NULL ? open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return;
    if (write(fd, line, (size_t)n) != n)
        abort();
    close(fd);
}

uint32_t fi_version(void)
{
    return FI_VERSION(1, (uint32_t)setting("minor", 20));
}

void fi_freeinfo(struct fi_info *info)
{
    REAL(fi_freeinfo)(info);
}

struct fi_info *fi_dupinfo(const struct fi_info *info)
{
    return REAL(fi_dupinfo)(info);
}

const char *fi_strerror(int number)
{
    return REAL(fi_strerror)(number);
}

static void rename_to(struct fi_info *info, const char *name)
{
    free(info->fabric_attr->prov_name);
    info->fabric_attr->prov_name = strdup(name);
}

/* What the real provider may see of an info. */
static struct fi_info *inner(const struct fi_info *info)
{
    struct fi_info *mine = fi_dupinfo(info);
    mine->caps &= ~(uint64_t)FI_HMEM;
    mine->domain_attr->mr_mode &= ~FI_MR_HMEM;
    if (mine->fabric_attr->prov_name != NULL)
        rename_to(mine, behind);
    return mine;
}

int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
               const struct fi_info *hints, struct fi_info **info)
{
    uint32_t newest = REAL(fi_version)();
    const char *asked = hints->fabric_attr->prov_name;
    const bool gpu = (hints->caps & FI_HMEM) != 0;
    if (version > newest)
        version = newest;
    if (asked != NULL && strcmp(asked, NAME) != 0)
        return -FI_ENODATA;
    if (gpu && setting("hmem", 1) == 0)
        return -FI_ENODATA;
    /* The provider's name before and since 1.18. */
    static char *const names[] = {"net", "tcp"};
    int ret = -FI_ENODATA;
    char *before = behind;
    for (int i = 0; i < 2 && ret != 0; i++) {
        behind = names[i];
        struct fi_info *h = inner(hints);
        rename_to(h, behind);
        ret = REAL(fi_getinfo)(version, node, service, flags, h, info);
        if (ret == 0 && strcmp((*info)->fabric_attr->prov_name, behind) != 0) {
            fi_freeinfo(*info); /* a layer over another one of that name */
            ret = -FI_ENODATA;
        }
        fi_freeinfo(h);
    }
    if (ret != 0)
        behind = before;
    for (struct fi_info *i = ret == 0 ? *info : NULL; i != NULL; i = i->next) {
        rename_to(i, NAME);
        if (gpu)
            i->caps |= FI_HMEM;
    }
    return ret;
}

static struct fi_ops *closing; /* of the real provider's regions */

static int close_region(struct fid *fid)
{
    note("close %#lx\n", fi_mr_key((struct fid_mr *)fid));
    return closing->close(fid);
}

static int register_gpu(struct fid *fid, const struct fi_mr_attr *a, uint64_t flags,
                        struct fid_mr **mr)
{
    static struct fi_ops ours;
    static long number;
    struct fid_domain *domain = (struct fid_domain *)fid;
    struct dma_buf file = {.fd = -1};
    struct stat st;
    int ret = 0;
    if (flags & DMA_BUF) {
        memcpy(&file, a->mr_iov, sizeof file);
        if (fstat(file.fd, &st) != 0)
            ret = -FI_EBADF;
        else if (setting("dmabuf", 1) == 0)
            ret = -FI_EOPNOTSUPP;
    } else {
        file.base = a->mr_iov->iov_base;
        file.len = a->mr_iov->iov_len;
        if (setting("peer", 1) == 0)
            ret = -FI_ENOSYS;
    }
    if (a->iov_count != 1 || a->iface != FI_HMEM_CUDA)
        ret = -FI_EINVAL;
    if (++number == setting("fail_at", 0))
        ret = -FI_ENOMEM;
    if (ret == 0)
        ret =
            domain->mr->reg(fid, file.base, file.len, a->access, 0, a->requested_key, 0, mr, NULL);
    note("%s %p %zu offset %lu GPU %d: %d\n", flags & DMA_BUF ? "dmabuf" : "peer", file.base,
         file.len, file.offset, a->device.cuda, ret);
    if (ret != 0)
        return ret;
    closing = (*mr)->fid.ops;
    ours = *closing;
    ours.close = close_region;
    (*mr)->fid.ops = &ours;
    return 0;
}

static long again;        /* one of how many postings is refused */
static uint64_t postings; /* so far */
static struct fi_ops_msg *messages;
static struct fi_ops_rma *moves;

/* Whether a posting finds no room. The log gets a line for each 256. */
static bool full(void)
{
    static uint64_t refused;
    uint64_t n = __atomic_add_fetch(&postings, 1, __ATOMIC_RELAXED);
    uint64_t dice = n * 0x9e3779b97f4a7c15u;
    dice = (dice ^ (dice >> 29)) * 0xbf58476d1ce4e5b9u;
    dice ^= dice >> 32;
    bool storm = n / 64 % 8 == 7; /* of 64 postings, then calm for 448 */
    if (again == 0 || (!storm && dice % (uint64_t)again != 0))
        return false;
    uint64_t count = __atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
    if (count % 256 == 1)
        note("again %lu of %lu\n", count, n);
    return true;
}

#define UNLESS_FULL(call) (full() ? -FI_EAGAIN : (call))

static ssize_t recv_or_not(struct fid_ep *e, void *b, size_t n, void *d, fi_addr_t a, void *c)
{
    return UNLESS_FULL(messages->recv(e, b, n, d, a, c));
}

static ssize_t send_or_not(struct fid_ep *e, const void *b, size_t n, void *d, fi_addr_t a, void *c)
{
    return UNLESS_FULL(messages->send(e, b, n, d, a, c));
}

static ssize_t sendmsg_or_not(struct fid_ep *e, const struct fi_msg *m, uint64_t flags)
{
    return UNLESS_FULL(messages->sendmsg(e, m, flags));
}

static ssize_t inject_or_not(struct fid_ep *e, const void *b, size_t n, fi_addr_t a)
{
    return UNLESS_FULL(messages->inject(e, b, n, a));
}

static ssize_t read_or_not(struct fid_ep *e, void *b, size_t n, void *d, fi_addr_t a, uint64_t at,
                           uint64_t key, void *c)
{
    return UNLESS_FULL(moves->read(e, b, n, d, a, at, key, c));
}

static ssize_t readmsg_or_not(struct fid_ep *e, const struct fi_msg_rma *m, uint64_t flags)
{
    return UNLESS_FULL(moves->readmsg(e, m, flags));
}

static ssize_t writemsg_or_not(struct fid_ep *e, const struct fi_msg_rma *m, uint64_t flags)
{
    return UNLESS_FULL(moves->writemsg(e, m, flags));
}

static ssize_t inject_write_or_not(struct fid_ep *e, const void *b, size_t n, fi_addr_t a,
                                   uint64_t at, uint64_t key)
{
    return UNLESS_FULL(moves->inject(e, b, n, a, at, key));
}

static ssize_t inject_data_or_not(struct fid_ep *e, const void *b, size_t n, uint64_t data,
                                  fi_addr_t a, uint64_t at, uint64_t key)
{
    return UNLESS_FULL(moves->injectdata(e, b, n, data, a, at, key));
}

/* All endpoints of the provider have the same functions. */
static void refuse(struct fid_ep *ep)
{
    static struct fi_ops_msg our_messages;
    static struct fi_ops_rma our_moves;
    if (messages == NULL) {
        messages = ep->msg;
        moves = ep->rma;
        our_messages = *messages;
        our_messages.recv = recv_or_not;
        our_messages.send = send_or_not;
        our_messages.sendmsg = sendmsg_or_not;
        our_messages.inject = inject_or_not;
        our_moves = *moves;
        our_moves.read = read_or_not;
        our_moves.readmsg = readmsg_or_not;
        our_moves.writemsg = writemsg_or_not;
        our_moves.inject = inject_write_or_not;
        our_moves.injectdata = inject_data_or_not;
    }
    ep->msg = &our_messages;
    ep->rma = &our_moves;
}

static struct fi_ops_cq *queues;

static ssize_t read_or_overrun(struct fid_cq *cq, void *b, size_t n)
{
    static long looks;
    long at = setting("overrun_at", 0);
    if (at > 0 && ++looks >= at)
        return -FI_EOVERRUN;
    return queues->read(cq, b, n);
}

static long strays; /* error entries that have come */

static ssize_t read_or_stray(struct fid_cq *cq, void *b, size_t n)
{
    return strays < setting("stray", 0) ? -FI_EAVAIL : queues->read(cq, b, n);
}

static ssize_t stray_error(struct fid_cq *cq, struct fi_cq_err_entry *e, uint64_t flags)
{
    if (strays >= setting("stray", 0))
        return queues->readerr(cq, e, flags);
    strays++;
    *e = (struct fi_cq_err_entry){.err = (int)setting("stray_err", FI_EIO),
                                  .flags = (uint64_t)setting("stray_flags", 0)};
    return 1;
}

static struct fi_ops_domain *domain_ops;

static int open_queue(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
                      void *context)
{
    static struct fi_ops_cq ours;
    int ret = domain_ops->cq_open(domain, attr, cq, context);
    if (ret == 0 && setting("overrun_at", 0) > 0) {
        queues = (*cq)->ops;
        ours = *queues;
        ours.read = read_or_overrun;
        (*cq)->ops = &ours;
    }
    if (ret == 0 && setting("stray", 0) > 0) {
        strays = 0;
        queues = (*cq)->ops;
        ours = *queues;
        ours.read = read_or_stray;
        ours.readerr = stray_error;
        (*cq)->ops = &ours;
    }
    return ret;
}

static int open_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                         void *context)
{
    struct fi_info *mine = inner(info);
    int ret = domain_ops->endpoint(domain, mine, ep, context);
    fi_freeinfo(mine);
    /* The provider opens others, for connections of its own. */
    if (ret == 0 && info->ep_attr->type == FI_EP_RDM && (again = setting("again", 0)) > 0)
        refuse(*ep);
    return ret;
}

static struct fi_ops_fabric *fabric_ops;

static int open_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
                       void *context)
{
    static struct fi_ops_domain ours;
    static struct fi_ops_mr regions;
    struct fi_info *mine = inner(info);
    int ret = fabric_ops->domain(fabric, mine, domain, context);
    fi_freeinfo(mine);
    if (ret != 0)
        return ret;
    domain_ops = (*domain)->ops;
    ours = *domain_ops;
    ours.endpoint = open_endpoint;
    ours.cq_open = open_queue;
    (*domain)->ops = &ours;
    regions = *(*domain)->mr;
    regions.regattr = register_gpu;
    (*domain)->mr = &regions;
    return 0;
}

int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    static struct fi_ops_fabric ours;
    struct fi_fabric_attr mine = *attr;
    mine.prov_name = behind;
    int ret = REAL(fi_fabric)(&mine, fabric, context);
    if (ret != 0)
        return ret;
    fabric_ops = (*fabric)->ops;
    ours = *fabric_ops;
    ours.domain = open_domain;
    (*fabric)->ops = &ours;
    return 0;
}
