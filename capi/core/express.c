/*
 * express.c: injects and applies small messages in C.
 *
 * The rules are those of runtime/proxy (post.go: message and send, complete.go:
 * receive and apply), for the common case only: nothing parked, nothing out of
 * order, no answer asked for, nothing wrong.
 */
#include "express.h"

#include "amo.h"

#include <string.h>

#include "_cgo_export.h"

/* Numbers of runtime/proxy/am.go and fabric/fabric.go. */
enum { KIND_AMO = 1, KIND_STORE, KIND_PUT, KIND_PUT_SIGNAL };
enum { COMPLETION_RECV = 2 };

/* The header of every message: proxy.header. */
struct header {
    uint8_t kind, op, width, fetch;
    uint32_t from, seq, token;
    int64_t offset;
    uint64_t operand, extra;
};
_Static_assert(sizeof(struct header) == 40, "layout of proxy.header");

static int inject(struct shmemi_express *x, const struct shmemi_native *n, uint32_t pe,
                  const struct header *what, const void *payload, size_t size)
{
    struct shmemi_express_peer *p = &x->peers[pe];
    size_t bytes = sizeof *what + size;
    uint64_t unanswered = p->asked - p->acked;
    if (unanswered >= x->calm && (!p->flushing || unanswered >= x->window))
        return SHMEMI_NOT_EXPRESS;
    /* A PE that is not in the dirty list has to get there, which is Go's. */
    if (!p->reachable || !p->dirty || p->parked || (p->writes && x->unordered) ||
        bytes > x->max_inject || n->inject == NULL)
        return SHMEMI_NOT_EXPRESS;
    struct header *h = (struct header *)x->scratch;
    *h = *what;
    h->from = x->me;
    h->seq = p->sent + 1;
    memcpy(h + 1, payload, size);
    if (n->inject(n->self, pe, h, bytes) != 0)
        return SHMEMI_NOT_EXPRESS; /* nothing was posted: Go finds out why */
    p->sent++;
    if (p->epoch != x->epoch) {
        p->epoch = x->epoch;
        p->asked_then = p->asked;
    }
    p->asked++;
    x->messages++;
    x->message_size += bytes;
    return SHMEMI_DONE;
}

int shmemi_express_put(struct shmemi_express *x, const struct shmemi_native *n, uint32_t pe,
                       int64_t offset, const void *source, size_t size)
{
    struct header h = {.kind = KIND_PUT, .offset = offset};
    if (size == 0 || size > 8 || (size & (size - 1)) != 0)
        return inject(x, n, pe, &h, source, size);
    h.kind = KIND_STORE;
    h.width = (uint8_t)size;
    memcpy(&h.operand, source, size);
    return inject(x, n, pe, &h, NULL, 0);
}

int shmemi_express_amo(struct shmemi_express *x, const struct shmemi_native *n, uint32_t pe,
                       int64_t offset, int op, int width, uint64_t operand)
{
    struct header h = {.kind = KIND_AMO,
                       .op = (uint8_t)op,
                       .width = (uint8_t)width,
                       .offset = offset,
                       .operand = operand};
    if (op >= SHMEMI_AMO_SWAP)
        return SHMEMI_NOT_EXPRESS;
    return inject(x, n, pe, &h, NULL, 0);
}

int shmemi_express_put_signal(struct shmemi_express *x, const struct shmemi_native *n, uint32_t pe,
                              int64_t offset, const void *source, size_t size,
                              int64_t signal_offset, uint64_t signal, int op)
{
    struct header h = {.kind = KIND_PUT_SIGNAL,
                       .op = (uint8_t)op,
                       .width = 8,
                       .offset = offset,
                       .operand = signal,
                       .extra = (uint64_t)signal_offset};
    return inject(x, n, pe, &h, source, size);
}

/* n bytes at an offset, or NULL: not in this PE's heap. */
static void *target(const struct shmemi_express *x, int64_t offset, size_t n)
{
    uint64_t o = (uint64_t)offset + x->internal; /* wraps below the segment, and then fails */
    return o > x->size || n > x->size - o ? NULL : x->segment + o;
}

/* What an atomic operation changes, or NULL: not a valid one. */
static void *word(const struct shmemi_express *x, int64_t offset, int width, int op)
{
    if ((width != 4 && width != 8) || op < SHMEMI_AMO_SET || op > SHMEMI_AMO_FETCH_XOR)
        return NULL;
    void *at = target(x, offset, (size_t)width);
    return (uintptr_t)at % (size_t)width == 0 ? at : NULL;
}

static void change(void *at, int width, int op, uint64_t operand, uint64_t compare)
{
    if (width == 4)
        shmemi_amo_at32(op, at, (uint32_t)operand, (uint32_t)compare);
    else
        shmemi_amo_at64(op, at, operand, compare);
}

/* No reader sees a part of an aligned element. */
static void store(void *at, int width, uint64_t value)
{
    switch (width) {
    case 1:
        __atomic_store_n((uint8_t *)at, (uint8_t)value, __ATOMIC_RELEASE);
        break;
    case 2:
        __atomic_store_n((uint16_t *)at, (uint16_t)value, __ATOMIC_RELEASE);
        break;
    case 4:
        __atomic_store_n((uint32_t *)at, (uint32_t)value, __ATOMIC_RELEASE);
        break;
    default:
        __atomic_store_n((uint64_t *)at, value, __ATOMIC_RELEASE);
    }
}

/* False: Go looks at the message, and nothing was changed. */
static bool apply(const struct shmemi_express *x, const struct header *h, size_t payload)
{
    void *at, *signal;
    switch (h->kind) {
    case KIND_AMO:
        at = h->fetch ? NULL : word(x, h->offset, h->width, h->op);
        if (at == NULL)
            return false;
        change(at, h->width, h->op, h->operand, h->extra);
        return true;
    case KIND_STORE:
        if (h->width == 0 || h->width > 8 || (h->width & (h->width - 1)) != 0)
            return false;
        at = target(x, h->offset, h->width);
        if (at == NULL || (uintptr_t)at % h->width != 0)
            return false;
        store(at, h->width, h->operand);
        return true;
    case KIND_PUT:
        at = target(x, h->offset, payload);
        if (at == NULL)
            return false;
        memcpy(at, h + 1, payload);
        return true;
    case KIND_PUT_SIGNAL:
        at = target(x, h->offset, payload);
        signal = word(x, (int64_t)h->extra, 8, h->op);
        if (at == NULL || signal == NULL)
            return false;
        memcpy(at, h + 1, payload);
        change(signal, 8, h->op, h->operand, 0);
        return true;
    }
    return false;
}

int shmemi_express_receive(struct shmemi_express *x, const struct shmemi_native *n,
                           const struct shmemi_completion *c)
{
    if (c->kind != COMPLETION_RECV || c->err != 0 || c->token >= x->receives ||
        c->len < sizeof(struct header) || c->len > x->max_message || n->recv == NULL)
        return SHMEMI_NOT_EXPRESS;
    char *buffer = x->buffers + (size_t)c->token * x->max_message;
    const struct header *h = (const struct header *)buffer;
    if (h->from >= x->n_pes)
        return SHMEMI_NOT_EXPRESS;
    struct shmemi_express_peer *p = &x->peers[h->from];
    if (h->seq != p->received + 1 || p->early || !apply(x, h, c->len - sizeof *h))
        return SHMEMI_NOT_EXPRESS;
    p->received++;
    if (n->recv(n->self, buffer, x->max_message, x->desc, c->token) != 0)
        shmemgoUnposted(c->token);
    return SHMEMI_DONE;
}
