/*
 * extra.c: features of few operations and few providers: immediate data, fences and atomic
 * operations. queue.c has what every operation needs.
 */
#define _GNU_SOURCE
#include "endpoint.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 32 }; /* entries that one read of the completion queue takes */

/* Posts a message by fi_sendmsg, with flags of libfabric such as FI_FENCE; fi_send takes none. */
int shmemi_ofi_send_with(struct shmemi_ofi *o, uint32_t pe, const void *buf, size_t len,
                         uintptr_t desc, uint32_t token, uint64_t flags)
{
    int ret = shmemi_ofi_check(o, pe, token);
    if (ret != 0)
        return ret;
    void *local = (void *)desc;
    struct iovec iov = {.iov_base = (void *)buf, .iov_len = len};
    struct fi_msg msg = {
        .msg_iov = &iov,
        .desc = &local,
        .iov_count = 1,
        .addr = shmemi_ofi_addr(o, pe),
        .context = shmemi_ofi_context(o, token, SHMEMI_COMPLETION_SEND),
    };
    return (int)fi_sendmsg(shmemi_ofi_ep(o, pe), &msg, flags | o->send_flags);
}

/* Posts a write by fi_writemsg, with flags of libfabric: FI_FENCE, FI_REMOTE_CQ_DATA for data, and
 * FI_INJECT, with which the bytes are copied and there is no completion. Over connections that this
 * package makes, the immediate data also has this PE's number, since the provider does not report
 * the source. */
int shmemi_ofi_write_with(struct shmemi_ofi *o, uint32_t pe, const void *buf, size_t len,
                          uintptr_t desc, uint64_t remote, uint64_t key, uint32_t token,
                          uint32_t data, uint64_t flags)
{
    int inject = (flags & FI_INJECT) != 0;
    uint64_t whole = data;
    if (o->links != NULL)
        whole |= (uint64_t)o->links->me << 32;
    int ret = shmemi_ofi_check(o, pe, inject ? 0 : token);
    if (ret != 0)
        return ret;
    if (inject)
        return (int)fi_inject_writedata(shmemi_ofi_ep(o, pe), buf, len, whole,
                                        shmemi_ofi_addr(o, pe), remote, key);
    void *local = (void *)desc;
    struct iovec iov = {.iov_base = (void *)buf, .iov_len = len};
    struct fi_rma_iov rma = {.addr = remote, .len = len, .key = key};
    struct fi_msg_rma msg = {
        .msg_iov = &iov,
        .desc = &local,
        .iov_count = 1,
        .addr = shmemi_ofi_addr(o, pe),
        .rma_iov = &rma,
        .rma_iov_count = 1,
        .context = shmemi_ofi_context(o, token, SHMEMI_COMPLETION_WRITE),
        .data = whole,
    };
    return (int)fi_writemsg(shmemi_ofi_ep(o, pe), &msg, flags | o->write_flags);
}

/* Posts a read by fi_readmsg, with flags of libfabric such as FI_FENCE; fi_read takes none. */
int shmemi_ofi_read_with(struct shmemi_ofi *o, uint32_t pe, void *buf, size_t len, uintptr_t desc,
                         uint64_t remote, uint64_t key, uint32_t token, uint64_t flags)
{
    int ret = shmemi_ofi_check(o, pe, token);
    if (ret != 0)
        return ret;
    void *local = (void *)desc;
    struct iovec iov = {.iov_base = buf, .iov_len = len};
    struct fi_rma_iov rma = {.addr = remote, .len = len, .key = key};
    struct fi_msg_rma msg = {
        .msg_iov = &iov,
        .desc = &local,
        .iov_count = 1,
        .addr = shmemi_ofi_addr(o, pe),
        .rma_iov = &rma,
        .rma_iov_count = 1,
        .context = shmemi_ofi_context(o, token, SHMEMI_COMPLETION_READ),
    };
    return (int)fi_readmsg(shmemi_ofi_ep(o, pe), &msg, flags | FI_COMPLETION);
}

/* Compares two senders by their addresses, for qsort. */
static int by_address(const void *a, const void *b)
{
    const struct shmemi_ofi_source *x = a, *y = b;
    return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Sorts the PEs by their addresses in the address vector, so that pe_of finds the source of a
 * message by binary search. It is called again when a PE has joined. Does nothing if the provider
 * does not report sources. */
int shmemi_ofi_learn_sources(struct shmemi_ofi *o)
{
    if (!o->source)
        return 0;
    if (o->sources == NULL && (o->sources = calloc(o->npeers, sizeof(*o->sources))) == NULL)
        return -FI_ENOMEM;
    o->nsources = 0;
    for (uint32_t pe = 0; pe < o->npeers; pe++)
        if (o->peers[pe] != FI_ADDR_NOTAVAIL)
            o->sources[o->nsources++] =
                (struct shmemi_ofi_source){.addr = shmemi_ofi_addr(o, pe), .pe = (int32_t)pe};
    qsort(o->sources, o->nsources, sizeof(*o->sources), by_address);
    return 0;
}

/* Returns the PE of an address in the address vector, or -1. */
static int32_t pe_of(const struct shmemi_ofi *o, fi_addr_t addr)
{
    struct shmemi_ofi_source key = {.addr = addr}, *found = NULL;
    if (o->nsources > 0 && addr != FI_ADDR_NOTAVAIL)
        found = bsearch(&key, o->sources, o->nsources, sizeof(key), by_address);
    return found != NULL ? found->pe : -1;
}

/*
 * Reports whether an entry of the queue is for a peer's write with immediate data. Such an entry
 * names no operation of this endpoint, or the receive buffer that the write has used up. Only
 * writes carry data here, but a provider may return a write's own flags to its sender.
 */
static int is_data(const struct shmemi_ofi *o, const struct fi_cq_data_entry *e, uint32_t token)
{
    if (!(e->flags & FI_REMOTE_CQ_DATA))
        return 0;
    return (e->flags & FI_REMOTE_WRITE) || token == NO_TOKEN ||
           shmemi_ofi_kind(o, token) == SHMEMI_COMPLETION_RECV;
}

/* Polls a completion queue that may have completions of immediate data. Returns their number, or a
 * negative error if the queue cannot be read. */
int shmemi_ofi_poll_data(struct shmemi_ofi *o, struct shmemi_completion *c, int max)
{
    struct fi_cq_data_entry e[BATCH];
    fi_addr_t from[BATCH];
    int n = 0;
    const int takes_data = o->links == NULL || o->links->takes_data;
    struct shmemi_ofi_polls polls = {.strangers = o->strangers};
    while (n < max) {
        size_t want = max - n < BATCH ? (size_t)(max - n) : BATCH;
        ssize_t ret =
            o->nsources > 0 ? fi_cq_readfrom(o->cq, e, want, from) : fi_cq_read(o->cq, e, want);
        if (ret == -FI_EAVAIL) {
            if ((ret = shmemi_ofi_read_error(o, &c[n])) < 0)
                return (int)ret;
            n += (int)ret;
        } else {
            for (ssize_t i = 0; i < ret; i++) {
                uint32_t t = shmemi_ofi_token(o, e[i].op_context);
                const int data = is_data(o, &e[i], t);
                if (t == NO_TOKEN && shmemi_ofi_region_tested(o, e[i].op_context, 0))
                    continue;
                /* A word of the handshake, or the completion of one that was sent. */
                if (o->links != NULL && (data ? shmemi_ofi_store_word(o, e[i].data)
                                              : e[i].op_context == &o->links->word_sent))
                    continue;
                /* Of another job, or data that the caller does not want. */
                if ((t == NO_TOKEN && !data) || (data && !takes_data)) {
                    o->strangers++;
                    continue;
                }
                struct shmemi_completion *to = &c[n++];
                *to = (struct shmemi_completion){.token = t, .len = e[i].len};
                if (data) {
                    /* A token that is not of a receive buffer says nothing about the data. */
                    if (t != NO_TOKEN && shmemi_ofi_kind(o, t) != SHMEMI_COMPLETION_RECV)
                        to->token = NO_TOKEN;
                    to->kind = SHMEMI_COMPLETION_DATA;
                    to->data = (uint32_t)e[i].data;
                    /* fabric.Completion.From reads the PE from len. */
                    to->len = (uint32_t)(o->nsources > 0 ? pe_of(o, from[i]) : -1);
                    /* Over this package's connections the upper half of the data is the writer. */
                    if (o->links != NULL && e[i].data >> 32 < o->npeers)
                        to->len = e[i].data >> 32;
                } else {
                    to->kind = shmemi_ofi_kind(o, t);
                }
            }
        }
        if (ret < 0 && ret != -FI_EAGAIN)
            return n > 0 ? n : (int)ret;
        if (ret == -FI_EAGAIN && o->links != NULL)
            o->links->drained++;
        if (!shmemi_ofi_polls_again(o, &polls, ret == (ssize_t)want))
            break;
    }
    return n;
}

/* Allocates the operands of atomic operations, one for each token, and registers them if the
 * provider requires that (FI_MR_LOCAL): the provider may read an operand until the operation
 * completes. */
int shmemi_ofi_open_atomics(struct shmemi_ofi *o)
{
    o->failed = "calloc";
    if ((o->operands = calloc(o->tokens, sizeof(*o->operands))) == NULL)
        return -FI_ENOMEM;
    if (!(o->info->domain_attr->mr_mode & FI_MR_LOCAL))
        return 0;
    size_t size = o->tokens * sizeof(*o->operands);
    int ret = shmemi_ofi_register(o, o->operands, size, &o->operands_mr);
    if (ret == 0)
        o->operands_desc = fi_mr_desc(o->operands_mr);
    else
        o->operands_mr = NULL;
    return ret;
}

/* The operation of libfabric, and the kind of call, for each fabric.Op (1 is fabric.OpSet). */
static const struct {
    enum fi_op op;
    enum { WRITE, READ_WRITE, COMPARE } how;
} operations[] = {
    [1] = {FI_ATOMIC_WRITE, WRITE}, [2] = {FI_SUM, WRITE},
    [3] = {FI_BAND, WRITE},         [4] = {FI_BOR, WRITE},
    [5] = {FI_BXOR, WRITE},         [6] = {FI_ATOMIC_WRITE, READ_WRITE},
    [7] = {FI_CSWAP, COMPARE},      [8] = {FI_ATOMIC_READ, READ_WRITE},
    [9] = {FI_SUM, READ_WRITE},     [10] = {FI_BAND, READ_WRITE},
    [11] = {FI_BOR, READ_WRITE},    [12] = {FI_BXOR, READ_WRITE},
};

/* Returns libfabric's type of a word of 4 or 8 bytes. */
static enum fi_datatype word_type(int width)
{
    return width == 4 ? FI_UINT32 : FI_UINT64;
}

/* Reports whether the endpoint has an atomic operation: op as fabric.Op, width 4 or 8. */
int shmemi_ofi_has_atomic(struct shmemi_ofi *o, int op, int width)
{
    size_t count = 0;
    enum fi_op name = operations[op].op;
    int ret = -FI_ENOSYS;
    switch (operations[op].how) {
    case WRITE:
        ret = fi_atomicvalid(o->ep, word_type(width), name, &count);
        break;
    case READ_WRITE:
        ret = fi_fetch_atomicvalid(o->ep, word_type(width), name, &count);
        break;
    case COMPARE:
        ret = fi_compare_atomicvalid(o->ep, word_type(width), name, &count);
        break;
    }
    return ret == 0 && count > 0;
}

/* Posts an atomic operation; result is for operations that fetch. */
int shmemi_ofi_atomic(struct shmemi_ofi *o, uint32_t pe, int op, int width, uint64_t operand,
                      uint64_t compare, void *result, uintptr_t desc, uint64_t remote, uint64_t key,
                      uint32_t token, uint64_t flags)
{
    int ret = shmemi_ofi_check(o, pe, token);
    if (ret != 0)
        return ret;
    /* A word of 4 bytes is in the first 4 bytes of its operand. */
    struct shmemi_ofi_operand *at = &o->operands[token];
    memcpy(&at->operand, &operand, (size_t)width);
    memcpy(&at->compare, &compare, (size_t)width);
    void *local = (void *)desc;
    struct fi_ioc from = {.addr = &at->operand, .count = 1};
    struct fi_ioc with = {.addr = &at->compare, .count = 1};
    struct fi_ioc to = {.addr = result, .count = 1};
    struct fi_rma_ioc rma = {.addr = remote, .count = 1, .key = key};
    struct fi_msg_atomic msg = {
        .msg_iov = &from,
        .desc = &o->operands_desc,
        .iov_count = 1,
        .addr = shmemi_ofi_addr(o, pe),
        .rma_iov = &rma,
        .rma_iov_count = 1,
        .datatype = word_type(width),
        .op = operations[op].op,
        .context = shmemi_ofi_context(o, token, SHMEMI_COMPLETION_ATOMIC),
    };
    flags |= FI_COMPLETION;
    switch (operations[op].how) {
    case WRITE:
        return (int)fi_atomicmsg(shmemi_ofi_ep(o, pe), &msg, flags);
    case READ_WRITE:
        return (int)fi_fetch_atomicmsg(shmemi_ofi_ep(o, pe), &msg, &to, &local, 1, flags);
    case COMPARE:
        return (int)fi_compare_atomicmsg(shmemi_ofi_ep(o, pe), &msg, &with, &o->operands_desc, 1,
                                         &to, &local, 1, flags);
    }
    return -FI_EINVAL;
}
