/*
 * atomic.c: posting of atomic operations on one word of 4 or 8 bytes.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <string.h>

/* Returns the bytes of an element of an atomic operation; 0 for types for which this stub has none.
 */
static unsigned width_of(enum fi_datatype type)
{
    switch (type) {
    case FI_INT32:
    case FI_UINT32:
        return 4;
    case FI_INT64:
    case FI_UINT64:
        return 8;
    default:
        return 0;
    }
}

/* Posts an atomic operation. compare is NULL for all but compare-and-swap, and result for
 * operations that do not fetch. */
static ssize_t post_atomic(struct fid_ep *fid, const struct fi_msg_atomic *m,
                           const struct fi_ioc *compare, const struct fi_ioc *result,
                           uint64_t flags)
{
    struct ep *ep = (struct ep *)fid;
    const unsigned width = width_of(m->datatype);
    if (width == 0 || m->rma_iov_count != 1)
        return -FI_EINVAL;
    pthread_mutex_lock(&ep->domain->lock);
    struct peer *peer = av_peer(ep->av, m->addr);
    int ret = ep_accepts(ep, peer, /* rma */ true, /* inject */ false);
    struct op *op = ret == 0 ? op_new(ep, OP_ATOMIC, peer) : NULL;
    if (op != NULL) {
        gpu_posted(ep, peer, m->desc);
        op->context = m->context;
        op->flags = FI_ATOMIC | (result != NULL ? FI_READ : FI_WRITE);
        op->op = m->op;
        op->width = width;
        if (m->op != FI_ATOMIC_READ)
            memcpy(&op->operands[0], m->msg_iov->addr, width);
        if (compare != NULL)
            memcpy(&op->operands[1], compare->addr, width);
        op->fetches = result != NULL;
        op->result = result != NULL ? result->addr : NULL;
        op->len = width;
        op->remote = m->rma_iov->addr;
        op->key = m->rma_iov->key;
        op->fence = (flags & FI_FENCE) != 0;
        scribble(ep, op);
        if (!hello_try_queue(ep, op))
            op_post(ep, op);
    }
    pthread_mutex_unlock(&ep->domain->lock);
    return ret;
}

/* Implements fi_atomicmsg. */
static ssize_t writemsg(struct fid_ep *e, const struct fi_msg_atomic *m, uint64_t flags)
{
    return post_atomic(e, m, NULL, NULL, flags);
}

/* Implements fi_fetch_atomicmsg. */
static ssize_t readwritemsg(struct fid_ep *e, const struct fi_msg_atomic *m, struct fi_ioc *result,
                            void **desc, size_t count, uint64_t flags)
{
    (void)desc, (void)count;
    return post_atomic(e, m, NULL, result, flags);
}

/* Implements fi_compare_atomicmsg. */
static ssize_t compwritemsg(struct fid_ep *e, const struct fi_msg_atomic *m,
                            const struct fi_ioc *compare, void **compare_desc, size_t compare_count,
                            struct fi_ioc *result, void **desc, size_t count, uint64_t flags)
{
    (void)compare_desc, (void)compare_count, (void)desc, (void)count;
    return post_atomic(e, m, compare, result, flags);
}

/* Returns 0 if an endpoint has an atomic operation: a NIC of InfiniBand has two, both on words of 8
 * bytes, and efa-direct has none. */
static int has(struct fid_ep *e, enum fi_datatype type, enum fi_op op, size_t *count, bool fetches)
{
    const enum kind kind = ((struct ep *)e)->domain->kind;
    const unsigned width = width_of(type);
    bool known = op == FI_SUM || op == FI_BAND || op == FI_BOR || op == FI_BXOR ||
                 op == FI_ATOMIC_WRITE || op == FI_CSWAP || op == FI_ATOMIC_READ;
    if (kind == KIND_VERBS)
        known = width == 8 && fetches && (op == FI_SUM || op == FI_CSWAP);
    if (kind == KIND_DIRECT || width == 0 || !known)
        return -FI_EOPNOTSUPP;
    *count = 1;
    return 0;
}

/* Implements fi_atomicvalid. */
static int writevalid(struct fid_ep *e, enum fi_datatype type, enum fi_op op, size_t *count)
{
    return op == FI_CSWAP || op == FI_ATOMIC_READ ? -FI_EOPNOTSUPP : has(e, type, op, count, false);
}

/* Implements fi_fetch_atomicvalid. */
static int readwritevalid(struct fid_ep *e, enum fi_datatype type, enum fi_op op, size_t *count)
{
    return op == FI_CSWAP ? -FI_EOPNOTSUPP : has(e, type, op, count, true);
}

/* Implements fi_compare_atomicvalid. */
static int compwritevalid(struct fid_ep *e, enum fi_datatype type, enum fi_op op, size_t *count)
{
    return op != FI_CSWAP ? -FI_EOPNOTSUPP : has(e, type, op, count, true);
}

struct fi_ops_atomic atomic_ops = {.size = sizeof atomic_ops,
                                   .writemsg = writemsg,
                                   .readwritemsg = readwritemsg,
                                   .compwritemsg = compwritemsg,
                                   .writevalid = writevalid,
                                   .readwritevalid = readwritevalid,
                                   .compwritevalid = compwritevalid};
