/*
 * rma.c: posts writes and reads, and refuses what each provider refuses. Names such as R6c are rows
 * of rules.tsv, of which a test may switch off each (without).
 */
#define _GNU_SOURCE
#include "stub.h"

#include <string.h>

/*
 * Reports whether cxi accepts a key. An application's keys have 32 bits. The provider's own keys
 * have bit 63, and bit 62 if the region is cached; of the others, those with bit 61 are slots of a
 * table of 92 (rules.tsv: R19k).
 */
static bool key_is_valid(uint64_t key)
{
    if (key >> 63 == 0)
        return key <= UINT32_MAX;
    return (key >> 61 & 3) != 1 || (key & UINT16_MAX) < 92;
}

/* Returns 0 if the provider accepts a read or a write, or its error, by the rules that the code
 * names: bytes without a descriptor (R5), sizes and injected writes (R6), and cxi's flags and keys
 * (R19). Where the provider crashes, the process ends (die). */
static int check_rma(struct ep *ep, enum op_kind what, const struct fi_msg_rma *m, size_t len,
                     uint64_t flags)
{
    const struct settings *s = &ep->domain->fabric->set;
    const enum kind kind = ep->domain->kind;
    const bool inject = (flags & FI_INJECT) != 0;
    /* The bytes of an injected write are copied, so they need no descriptor. */
    const bool described = inject || (m->desc != NULL && m->desc[0] != NULL);
    /* R6c: efa-direct injects writes only with wide entries of the send queue. */
    if (inject && len > 0 && rule(s, kind, R6c) && !injects_writes(ep))
        return -FI_ENOSYS;
    /* cxi refuses immediate data with writes (R19a), fences that the endpoint was not opened for
     * (R19h), and invalid keys (R19k). */
    if (flags & FI_REMOTE_CQ_DATA && rule(s, kind, R19a))
        return -FI_EBADFLAGS;
    if (flags & FI_FENCE && !(ep->info->caps & FI_FENCE) && !without(s, kind, R19h))
        return -FI_EINVAL;
    if (rule(s, kind, R19k) && !key_is_valid(m->rma_iov->key))
        return -FI_EKEYREJECTED;
    if (inject && len > ep->info->tx_attr->inject_size) {
        if (rule(s, kind, R6h))
            die(R6h, "%zu injected bytes", len);
        return rule(s, kind, R19g) ? -FI_EMSGSIZE : -FI_EINVAL;
    }
    if (len > (size_t)rule_value(G4f) && rule(s, kind, R6e))
        die(R6e, "%zu bytes at once, above the device's largest RDMA", len);
    /* Without a descriptor efa-direct crashes (R5c) or, in later versions, returns an error: for
     * one byte and more (R5f), and up to 2.4 also for none (R6j, R6k). efa accepts that (R5h). */
    if (!described && rule(s, kind, R5c))
        die(R5c, "%s without descriptor", what == OP_READ ? "read" : "write");
    if (!described && len > 0 && rule(s, kind, R5f))
        return -FI_EINVAL;
    if (!described && len == 0 && (rule(s, kind, R6j) || without(s, kind, R6k)))
        return -FI_EINVAL;
    if (!described && without(s, kind, R5h))
        return -FI_EINVAL;
    /* R6i: a read or write of efa-direct has one local buffer. */
    if (m->iov_count > 1 && rule(s, kind, R6i))
        return -FI_EINVAL;
    if (m->iov_count > ep->info->tx_attr->iov_limit || m->rma_iov_count != 1)
        return -FI_EINVAL;
    return 0;
}

/* Posts a one-sided operation: checks it by the rules, and queues it. */
static ssize_t post_rma(struct fid_ep *fid, enum op_kind what, const struct fi_msg_rma *m,
                        uint64_t flags)
{
    struct ep *ep = (struct ep *)fid;
    const struct settings *s = &ep->domain->fabric->set;
    size_t len = 0;
    for (size_t i = 0; i < m->iov_count; i++)
        len += m->msg_iov[i].iov_len;
    int ret = check_rma(ep, what, m, len, flags);
    if (ret != 0)
        return ret;
    const bool inject = (flags & FI_INJECT) != 0;
    pthread_mutex_lock(&ep->domain->lock);
    struct peer *peer = av_peer(ep->av, m->addr);
    ret = ep_accepts(ep, peer, /* rma */ true, inject);
    /* R11f: efa refuses immediate data for a peer if only one of the two endpoints needs a receive
     * for it (unlike); later versions emulate the write (R11g). */
    if (ret == 0 && flags & FI_REMOTE_CQ_DATA &&
        (rule(s, ep->domain->kind, R11f) || without(s, ep->domain->kind, R11g)) && unlike(ep, peer))
        ret = -FI_EOPNOTSUPP;
    struct op *op = ret == 0 ? op_new(ep, what, peer) : NULL;
    if (op != NULL) {
        gpu_posted(ep, peer, m->desc);
        op->context = m->context;
        op->flags = FI_RMA | (what == OP_READ ? FI_READ : FI_WRITE);
        op->inject = inject && !(flags & FI_COMPLETION);
        op->iov_count = m->iov_count;
        memcpy(op->iov, m->msg_iov, m->iov_count * sizeof *op->iov);
        op->len = len;
        op->remote = m->rma_iov->addr;
        op->key = m->rma_iov->key;
        op->data = op_data(ep, m->data);
        op->fence = (flags & FI_FENCE) != 0;
        op->has_data = (flags & FI_REMOTE_CQ_DATA) != 0;
        if (inject)
            ret = op_copy(op);
        if (!op->inject)
            scribble(ep, op);
        if (!hello_try_queue(ep, op))
            op_post(ep, op);
    }
    pthread_mutex_unlock(&ep->domain->lock);
    return ret;
}

/* Posts a one-sided operation with one local buffer, for the calls of libfabric that take no
 * vector. */
static ssize_t post_one(struct fid_ep *fid, enum op_kind what, const void *buf, size_t len,
                        void *desc, uint64_t data, fi_addr_t to, uint64_t addr, uint64_t key,
                        void *context, uint64_t flags)
{
    struct iovec iov = {(void *)buf, len};
    struct fi_rma_iov rma = {.addr = addr, .len = len, .key = key};
    struct fi_msg_rma m = {.msg_iov = &iov,
                           .desc = &desc,
                           .iov_count = 1,
                           .addr = to,
                           .rma_iov = &rma,
                           .rma_iov_count = 1,
                           .context = context,
                           .data = data};
    return post_rma(fid, what, &m, flags);
}

/* Implements fi_read. */
static ssize_t fread_(struct fid_ep *e, void *b, size_t n, void *d, fi_addr_t from, uint64_t addr,
                      uint64_t key, void *c)
{
    return post_one(e, OP_READ, b, n, d, 0, from, addr, key, c, FI_COMPLETION);
}

/* Implements fi_readmsg. */
static ssize_t freadmsg(struct fid_ep *e, const struct fi_msg_rma *m, uint64_t flags)
{
    return post_rma(e, OP_READ, m, flags);
}

/* Implements fi_write. */
static ssize_t fwrite_(struct fid_ep *e, const void *b, size_t n, void *d, fi_addr_t to,
                       uint64_t addr, uint64_t key, void *c)
{
    return post_one(e, OP_WRITE, b, n, d, 0, to, addr, key, c, FI_COMPLETION);
}

/* Reports whether a rule of rules.tsv holds for the provider of an endpoint, and is not switched
 * off. */
static bool holds(struct fid_ep *e, enum rule_id id)
{
    struct domain *d = ((struct ep *)e)->domain;
    return rule(&d->fabric->set, d->kind, id);
}

/* Implements fi_writemsg, which efa-direct refuses with FI_INJECT up to libfabric 2.4 (R6b). */
static ssize_t fwritemsg(struct fid_ep *e, const struct fi_msg_rma *m, uint64_t flags)
{
    if (flags & FI_INJECT && holds(e, R6b))
        return -FI_ENOSYS;
    return post_rma(e, OP_WRITE, m, flags);
}

/* Checks an injected write to a peer of this host, for which efa uses shared memory
 * (shm_check_inject). */
static void check_inject_to(struct fid_ep *e, fi_addr_t to)
{
    struct ep *ep = (struct ep *)e;
    pthread_mutex_lock(&ep->domain->lock);
    shm_check_inject(ep, av_peer(ep->av, to));
    pthread_mutex_unlock(&ep->domain->lock);
}

/* Reports whether an endpoint cannot inject writes: efa-direct can only if its send queue has wide
 * entries, with room for the bytes (rules.tsv: G5). */
static bool cannot_inject(struct fid_ep *e)
{
    return holds(e, R6c) && !injects_writes((struct ep *)e);
}

/* Implements fi_inject_write, which efa-direct does not have up to libfabric 2.4 (R6a). */
static ssize_t finject(struct fid_ep *e, const void *b, size_t n, fi_addr_t to, uint64_t addr,
                       uint64_t key)
{
    if (holds(e, R6a) || (n > 0 && cannot_inject(e)))
        return -FI_ENOSYS;
    check_inject_to(e, to);
    return post_one(e, OP_WRITE, b, n, NULL, 0, to, addr, key, NULL, FI_INJECT);
}

/* Implements fi_writedata, which cxi does not have (R19b). */
static ssize_t fwritedata(struct fid_ep *e, const void *b, size_t n, void *d, uint64_t data,
                          fi_addr_t to, uint64_t addr, uint64_t key, void *c)
{
    if (holds(e, R19b))
        return -FI_ENOSYS;
    return post_one(e, OP_WRITE, b, n, d, data, to, addr, key, c,
                    FI_COMPLETION | FI_REMOTE_CQ_DATA);
}

/* Implements fi_inject_writedata, which efa-direct (up to 2.4, R6a) and cxi (R19c) do not have. */
static ssize_t finjectdata(struct fid_ep *e, const void *b, size_t n, uint64_t data, fi_addr_t to,
                           uint64_t addr, uint64_t key)
{
    if (holds(e, R6a) || (n > 0 && cannot_inject(e)) || holds(e, R19c))
        return -FI_ENOSYS;
    check_inject_to(e, to);
    return post_one(e, OP_WRITE, b, n, NULL, data, to, addr, key, NULL,
                    FI_INJECT | FI_REMOTE_CQ_DATA);
}

struct fi_ops_rma rma_ops = {.size = sizeof rma_ops,
                             .read = fread_,
                             .readmsg = freadmsg,
                             .write = fwrite_,
                             .writemsg = fwritemsg,
                             .inject = finject,
                             .writedata = fwritedata,
                             .injectdata = finjectdata};
