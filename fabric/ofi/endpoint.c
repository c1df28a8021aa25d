/*
 * endpoint.c: opening, posting, polling and sleeping.
 */
#define _GNU_SOURCE
#include "endpoint.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* A provider without a wait descriptor is looked at this often. */
#define BLIND_WAIT_NS 500000

enum { KIND_SEND = 1, KIND_RECV, KIND_WRITE, KIND_READ }; /* as fabric.Kind */

#define STEP(name, expression)                                                                     \
    do {                                                                                           \
        o->step = (name);                                                                          \
        int rc_ = (int)(expression);                                                               \
        if (rc_ != 0)                                                                              \
            return rc_;                                                                            \
    } while (0)

/* With a descriptor to sleep on where the provider has one. */
static int open_queue(struct shmemi_ofi *o)
{
    struct fi_cq_attr attr = {
        .size = o->n_contexts, .format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD};
    if (fi_cq_open(o->domain, &attr, &o->cq, NULL) == 0) {
        if (fi_control(&o->cq->fid, FI_GETWAIT, &o->wait_fd) != 0)
            o->wait_fd = -1;
        return 0;
    }
    attr.wait_obj = FI_WAIT_NONE;
    return fi_cq_open(o->domain, &attr, &o->cq, NULL);
}

/*
 * Gathers what ends a wait. Edges, not levels: the queue's descriptor of net in
 * libfabric 1.17 stays readable after its first completion, because its trywait
 * does not take the signal back, and a proxy that slept on it used 90 % of a
 * core. Each arrival still is a new edge, and the caller has polled the queue
 * until it was empty.
 */
static int watch(struct shmemi_ofi *o, int fd)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = fd};
    return fd < 0 || epoll_ctl(o->events_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

int shmemi_ofi_open(struct shmemi_ofi *o, struct fi_info *info, uint32_t tokens)
{
    memset(o, 0, sizeof *o);
    o->info = info;
    o->wait_fd = o->events_fd = o->wake_fd = -1;
    o->n_contexts = tokens;
    o->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    STEP("eventfd", o->wake_fd < 0 ? -errno : 0);
    o->contexts = calloc(tokens, sizeof *o->contexts);
    STEP("calloc", o->contexts ? 0 : -FI_ENOMEM);
    STEP("fi_fabric", fi_fabric(info->fabric_attr, &o->fabric, NULL));
    STEP("fi_domain", fi_domain(o->fabric, info, &o->domain, NULL));
    STEP("fi_cq_open", open_queue(o));
    STEP("epoll_create1", (o->events_fd = epoll_create1(EPOLL_CLOEXEC)) < 0 ? -errno : 0);
    STEP("epoll_ctl", watch(o, o->wake_fd));
    STEP("epoll_ctl", watch(o, o->wait_fd));
    struct fi_av_attr av = {.type = FI_AV_UNSPEC};
    STEP("fi_av_open", fi_av_open(o->domain, &av, &o->av, NULL));
    STEP("fi_endpoint", fi_endpoint(o->domain, info, &o->ep, NULL));
    STEP("fi_ep_bind", fi_ep_bind(o->ep, &o->cq->fid, FI_TRANSMIT | FI_RECV));
    STEP("fi_ep_bind", fi_ep_bind(o->ep, &o->av->fid, 0));
    STEP("fi_enable", fi_enable(o->ep));
    return 0;
}

static void close_fid(struct fid *fid)
{
    if (fid)
        fi_close(fid);
}

void shmemi_ofi_close(struct shmemi_ofi *o)
{
    close_fid(o->ep ? &o->ep->fid : NULL);
    close_fid(o->cq ? &o->cq->fid : NULL);
    close_fid(o->av ? &o->av->fid : NULL);
    close_fid(o->domain ? &o->domain->fid : NULL);
    close_fid(o->fabric ? &o->fabric->fid : NULL);
    if (o->info)
        fi_freeinfo(o->info);
    if (o->events_fd >= 0)
        close(o->events_fd);
    if (o->wake_fd >= 0)
        close(o->wake_fd);
    free(o->contexts);
    free(o->addrs);
    memset(o, 0, sizeof *o);
    o->wake_fd = o->wait_fd = o->events_fd = -1;
}

int shmemi_ofi_address(struct shmemi_ofi *o, void *addr, size_t *size)
{
    return fi_getname(&o->ep->fid, addr, size);
}

int shmemi_ofi_connect(struct shmemi_ofi *o, uint32_t n)
{
    o->addrs = malloc(n * sizeof *o->addrs);
    if (o->addrs == NULL)
        return -FI_ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        o->addrs[i] = FI_ADDR_NOTAVAIL;
    o->n_addrs = n;
    return 0;
}

int shmemi_ofi_insert(struct shmemi_ofi *o, uint32_t pe, const void *addr)
{
    int n = fi_av_insert(o->av, addr, 1, &o->addrs[pe], 0, NULL);
    return n == 1 ? 0 : n < 0 ? n : -FI_EADDRNOTAVAIL;
}

int shmemi_ofi_register(struct shmemi_ofi *o, void *base, size_t n, uint64_t key,
                        struct fid_mr **mr)
{
    const uint64_t access =
        FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    int rc = fi_mr_reg(o->domain, base, n, access, 0, key, 0, mr, NULL);
    if (rc == 0 && (o->info->domain_attr->mr_mode & FI_MR_ENDPOINT)) {
        rc = fi_mr_bind(*mr, &o->ep->fid, 0);
        if (rc == 0)
            rc = fi_mr_enable(*mr);
        if (rc != 0)
            fi_close(&(*mr)->fid);
    }
    return rc;
}

/* ------------------------------------------------------------------ posting */

int shmemi_ofi_recv(struct shmemi_ofi *o, void *buf, size_t n, uintptr_t desc, uint32_t token)
{
    return (int)fi_recv(o->ep, buf, n, (void *)desc, FI_ADDR_UNSPEC, &o->contexts[token]);
}

int shmemi_ofi_send(struct shmemi_ofi *o, uint32_t pe, const void *buf, size_t n, uintptr_t desc,
                    uint32_t token, int inject)
{
    if (inject)
        return (int)fi_inject(o->ep, buf, n, o->addrs[pe]);
    return (int)fi_send(o->ep, buf, n, (void *)desc, o->addrs[pe], &o->contexts[token]);
}

int shmemi_ofi_write(struct shmemi_ofi *o, uint32_t pe, const void *buf, size_t n, uintptr_t desc,
                     uint64_t remote, uint64_t key, uint32_t token, int inject)
{
    if (inject)
        return (int)fi_inject_write(o->ep, buf, n, o->addrs[pe], remote, key);
    struct iovec local = {(void *)buf, n};
    void *local_desc = (void *)desc;
    struct fi_rma_iov far = {remote, n, key};
    struct fi_msg_rma msg = {.msg_iov = &local,
                             .desc = &local_desc,
                             .iov_count = 1,
                             .addr = o->addrs[pe],
                             .rma_iov = &far,
                             .rma_iov_count = 1,
                             .context = &o->contexts[token]};
    return (int)fi_writemsg(o->ep, &msg, FI_COMPLETION | o->write_flags);
}

int shmemi_ofi_read(struct shmemi_ofi *o, uint32_t pe, void *buf, size_t n, uintptr_t desc,
                    uint64_t remote, uint64_t key, uint32_t token)
{
    return (int)fi_read(o->ep, buf, n, (void *)desc, o->addrs[pe], remote, key,
                        &o->contexts[token]);
}

/* ------------------------------------------------------------------ polling */

static uint32_t token_of(struct shmemi_ofi *o, void *context)
{
    return (uint32_t)((struct fi_context2 *)context - o->contexts);
}

static uint8_t kind_of(uint64_t flags)
{
    return flags & FI_RECV    ? KIND_RECV
           : flags & FI_WRITE ? KIND_WRITE
           : flags & FI_READ  ? KIND_READ
                              : KIND_SEND;
}

/* The entry that stopped the queue. */
static int poll_error(struct shmemi_ofi *o, struct shmemi_completion *c)
{
    struct fi_cq_err_entry e = {0};
    ssize_t n = fi_cq_readerr(o->cq, &e, 0);
    if (n < 0)
        return n == -FI_EAGAIN ? 0 : (int)n;
    fi_cq_strerror(o->cq, e.prov_errno, e.err_data, o->error, sizeof o->error);
    *c = (struct shmemi_completion){
        .token = token_of(o, e.op_context), .kind = kind_of(e.flags), .len = e.len, .err = e.err};
    return 1;
}

int shmemi_ofi_poll(void *self, struct shmemi_completion *c, int max)
{
    struct shmemi_ofi *o = self;
    struct fi_cq_msg_entry entries[32];
    if (max > 32)
        max = 32;
    ssize_t n = fi_cq_read(o->cq, entries, (size_t)max);
    if (n == -FI_EAGAIN)
        return 0;
    if (n == -FI_EAVAIL)
        return poll_error(o, c);
    for (ssize_t i = 0; i < n; i++)
        c[i] = (struct shmemi_completion){.token = token_of(o, entries[i].op_context),
                                          .kind = kind_of(entries[i].flags),
                                          .len = entries[i].len};
    return (int)n;
}

int shmemi_ofi_arm(void *self)
{
    struct shmemi_ofi *o = self;
    struct fid *queue = &o->cq->fid;
    return o->wait_fd < 0 || fi_trywait(o->fabric, &queue, 1) == 0;
}

int shmemi_ofi_wait(void *self, int64_t ns)
{
    struct shmemi_ofi *o = self;
    struct epoll_event event;
    if (o->wait_fd < 0 && ns > BLIND_WAIT_NS)
        ns = BLIND_WAIT_NS;
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    struct pollfd fd = {.fd = o->events_fd, .events = POLLIN};
    int n = ppoll(&fd, 1, &t, NULL);
    if (n < 0)
        return errno == EINTR ? 0 : -errno;
    if (n == 0 || epoll_wait(o->events_fd, &event, 1, 0) <= 0)
        return 0;
    if (event.data.fd == o->wake_fd) {
        uint64_t count;
        ssize_t ignored = read(o->wake_fd, &count, sizeof count);
        (void)ignored;
    }
    return 1;
}

void shmemi_ofi_wake(void *self)
{
    struct shmemi_ofi *o = self;
    uint64_t one = 1;
    ssize_t ignored = write(o->wake_fd, &one, sizeof one); /* full only when a wake is pending */
    (void)ignored;
}
