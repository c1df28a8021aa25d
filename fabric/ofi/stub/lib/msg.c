/*
 * msg.c: posting of messages and receives. Names such as R5b are rows of rules.tsv, of which a test
 * may switch off each (without).
 */
#define _GNU_SOURCE
#include "stub.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

/* Returns the number of bytes of all ranges. */
static size_t length(const struct iovec *iov, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += iov[i].iov_len;
    return n;
}

/* Returns 0 if a receive may be posted. The device of efa-direct writes to the caller's buffers, so
 * they have to be registered: without a descriptor old versions crash (R5b), and later ones return
 * an error (R5e). efa accepts buffers without a descriptor (R5h). */
static int receive_allowed(struct ep *ep, void **desc)
{
    const struct settings *s = &ep->domain->fabric->set;
    if (desc != NULL && desc[0] != NULL)
        return 0;
    if (rule(s, ep->domain->kind, R5b))
        die(R5b, "receive without descriptor");
    return rule(s, ep->domain->kind, R5e) || without(s, ep->domain->kind, R5h) ? -FI_EINVAL : 0;
}

/* Returns 0 if the provider accepts a message of len bytes with the descriptors desc, or its error.
 * Rules R6d to R6g bound the size of a message, by the MTU (G4e), and of an injected one; R19g is
 * cxi's error for too long an injected one. R5a, R5d and R5g say how efa-direct handles bytes
 * without a descriptor, and R5h that efa accepts them. Where the provider crashes, the process ends
 * (die). */
static int send_allowed(struct ep *ep, size_t len, void **desc, bool inject)
{
    const struct settings *s = &ep->domain->fabric->set;
    const enum kind kind = ep->domain->kind;
    /* The most bytes that need no descriptor. */
    size_t bare = kind == KIND_DIRECT || without(s, kind, R5h) ? 0 : SIZE_MAX;
    if (rule(s, kind, R5g))
        bare = (size_t)rule_value(R5g);
    if (len > (size_t)rule_value(G4e) && rule(s, kind, R6d))
        die(R6d, "send of %zu bytes, above the MTU", len);
    if (inject && len > ep->info->tx_attr->inject_size) {
        if (rule(s, kind, R6f))
            die(R6f, "%zu injected bytes", len);
        if (kind == KIND_DIRECT)
            return rule(s, kind, R6g) ? -FI_EOPNOTSUPP : 0;
        return rule(s, kind, R19g) ? -FI_EMSGSIZE : -FI_EINVAL;
    }
    if (inject || len <= bare || (desc != NULL && desc[0] != NULL))
        return 0;
    if (rule(s, kind, R5a))
        die(R5a, "send of %zu bytes without descriptor", len);
    return rule(s, kind, R5d) || without(s, kind, R5h) ? -FI_EINVAL : 0;
}

/* Posts a message: checks it by the rules, and queues it. */
static ssize_t send_message(struct fid_ep *fid, const struct fi_msg *m, uint64_t flags)
{
    struct ep *ep = (struct ep *)fid;
    const size_t len = length(m->msg_iov, m->iov_count);
    const bool inject = (flags & FI_INJECT) != 0;
    if (m->iov_count > ep->info->tx_attr->iov_limit)
        return -FI_EINVAL;
    if (len > ep->info->ep_attr->max_msg_size)
        return -FI_EMSGSIZE;
    int ret = send_allowed(ep, len, m->desc, inject);
    if (ret != 0)
        return ret;
    pthread_mutex_lock(&ep->domain->lock);
    struct peer *peer = av_peer(ep->av, m->addr);
    ret = ep_accepts(ep, peer, /* rma */ false, inject);
    struct op *op = ret == 0 ? op_new(ep, OP_SEND, peer) : NULL;
    if (op != NULL) {
        gpu_posted(ep, peer, m->desc);
        op->context = m->context;
        op->flags = FI_SEND | FI_MSG;
        op->inject = inject && !(flags & FI_COMPLETION);
        op->iov_count = m->iov_count;
        memcpy(op->iov, m->msg_iov, m->iov_count * sizeof *op->iov);
        op->len = len;
        op->data = op_data(ep, m->data);
        op->fence = (flags & FI_FENCE) != 0;
        op->has_data = (flags & FI_REMOTE_CQ_DATA) != 0;
        op->ack = ep->domain->kind == KIND_EFA && flags & FI_DELIVERY_COMPLETE;
        /* The target copies a long message from one address of this process (carry_message). */
        if (inject || (len > WIRE_INLINE && m->iov_count > 1))
            ret = op_copy(op);
        if (!op->inject)
            scribble(ep, op);
        op_post(ep, op);
    }
    pthread_mutex_unlock(&ep->domain->lock);
    return ret;
}

/* Posts a message from one range. */
static ssize_t send_one(struct fid_ep *fid, const void *buf, size_t len, void *desc, uint64_t data,
                        fi_addr_t to, void *context, uint64_t flags)
{
    struct iovec iov = {(void *)buf, len};
    struct fi_msg m = {.msg_iov = &iov,
                       .desc = &desc,
                       .iov_count = 1,
                       .addr = to,
                       .context = context,
                       .data = data};
    return send_message(fid, &m, flags);
}

/* Returns the endpoint's default flags, for calls without flags. */
static uint64_t default_flags(struct fid_ep *fid)
{
    return ((struct ep *)fid)->info->tx_attr->op_flags & FI_DELIVERY_COMPLETE;
}

/* Implements fi_send. */
static ssize_t fsend(struct fid_ep *e, const void *b, size_t n, void *d, fi_addr_t to, void *c)
{
    return send_one(e, b, n, d, 0, to, c, FI_COMPLETION | default_flags(e));
}

/* Implements fi_sendv. */
static ssize_t fsendv(struct fid_ep *e, const struct iovec *iov, void **d, size_t n, fi_addr_t to,
                      void *c)
{
    struct fi_msg m = {.msg_iov = iov, .desc = d, .iov_count = n, .addr = to, .context = c};
    return send_message(e, &m, FI_COMPLETION | default_flags(e));
}

/* Implements fi_senddata. */
static ssize_t fsenddata(struct fid_ep *e, const void *b, size_t n, void *d, uint64_t data,
                         fi_addr_t to, void *c)
{
    return send_one(e, b, n, d, data, to, c, FI_COMPLETION | FI_REMOTE_CQ_DATA | default_flags(e));
}

/* Implements fi_inject. */
static ssize_t finject(struct fid_ep *e, const void *b, size_t n, fi_addr_t to)
{
    return send_one(e, b, n, NULL, 0, to, NULL, FI_INJECT);
}

/* Implements fi_injectdata. */
static ssize_t finjectdata(struct fid_ep *e, const void *b, size_t n, uint64_t data, fi_addr_t to)
{
    return send_one(e, b, n, NULL, data, to, NULL, FI_INJECT | FI_REMOTE_CQ_DATA);
}

/* Doubles the receive queue if a test has switched off R16c or R16f, of which either limits its
 * length. Returns false if both hold, or without memory. */
static bool more_receives(struct ep *ep)
{
    const struct settings *s = &ep->domain->fabric->set;
    if (!without(s, ep->domain->kind, R16c) && !without(s, ep->domain->kind, R16f))
        return false;
    struct receive *to = calloc(2 * ep->rx_size, sizeof *to);
    if (to == NULL)
        return false;
    for (size_t i = ep->rx_head; i != ep->rx_tail; i++)
        to[i % (2 * ep->rx_size)] = ep->receives[i % ep->rx_size];
    free(ep->receives);
    ep->receives = to;
    ep->rx_size *= 2;
    return true;
}

/* Posts a receive buffer, and delivers a message to it that has arrived earlier. By rule R7a the
 * provider writes to the caller's context, which a test would notice. */
static ssize_t receive(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
                       void *context)
{
    struct ep *ep = (struct ep *)fid;
    if (count != 1)
        return -FI_EINVAL;
    int ret = receive_allowed(ep, desc);
    if (ret != 0)
        return ret;
    pthread_mutex_lock(&ep->domain->lock);
    if (!ep->enabled)
        ret = -FI_EOPBADSTATE;
    else if (draw_refusal(ep))
        ret = -FI_EAGAIN;
    else if (ep->rx_tail - ep->rx_head >= ep->rx_size && !more_receives(ep))
        ret = -FI_EAGAIN;
    if (ret == 0) {
        gpu_posted(ep, NULL, desc);
        ep->receives[ep->rx_tail++ % ep->rx_size] =
            (struct receive){context, iov->iov_base, iov->iov_len};
        if (context != NULL && rule(&ep->domain->fabric->set, ep->domain->kind, R7a))
            memset(context, 0x5a, scribbled(ep));
        atomic_fetch_add(&ep->map->w->credits, 1);
        early_match(ep);
    }
    pthread_mutex_unlock(&ep->domain->lock);
    return ret;
}

/* Implements fi_recv. */
static ssize_t frecv(struct fid_ep *e, void *b, size_t n, void *d, fi_addr_t from, void *c)
{
    struct iovec iov = {b, n};
    (void)from;
    return receive(e, &iov, &d, 1, c);
}

/* Implements fi_recvv. */
static ssize_t frecvv(struct fid_ep *e, const struct iovec *iov, void **d, size_t n, fi_addr_t from,
                      void *c)
{
    (void)from;
    return receive(e, iov, d, n, c);
}

/* Implements fi_recvmsg. */
static ssize_t frecvmsg(struct fid_ep *e, const struct fi_msg *m, uint64_t flags)
{
    (void)flags;
    return receive(e, m->msg_iov, m->desc, m->iov_count, m->context);
}

struct fi_ops_msg msg_ops = {.size = sizeof msg_ops,
                             .recv = frecv,
                             .recvv = frecvv,
                             .recvmsg = frecvmsg,
                             .send = fsend,
                             .sendv = fsendv,
                             .sendmsg = send_message,
                             .inject = finject,
                             .senddata = fsenddata,
                             .injectdata = finjectdata};
