/*
 * op.c: the operations under way, in a heap by the time at which each is due.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <stdlib.h>
#include <string.h>

#define US 1000 /* nanoseconds */

/* Orders the heap of operations: by due time, and those of one time by their order of posting. */
static bool before(const struct op *a, const struct op *b)
{
    return a->due != b->due ? a->due < b->due : a->number < b->number;
}

/* Stores an operation as entry i of the heap. up and down restore the heap's order from there. */
static void put(struct ep *ep, size_t i, struct op *op)
{
    ep->heap[i] = op;
    op->at = i + 1;
}

/* Moves an entry of the heap up to its place. */
static void up(struct ep *ep, size_t i)
{
    struct op *op = ep->heap[i];
    for (; i > 0 && before(op, ep->heap[(i - 1) / 2]); i = (i - 1) / 2)
        put(ep, i, ep->heap[(i - 1) / 2]);
    put(ep, i, op);
}

/* Moves entry i of the heap of operations, which is sorted by due time, down to its place. */
static void down(struct ep *ep, size_t i)
{
    struct op *op = ep->heap[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child + 1 < ep->heap_len && before(ep->heap[child + 1], ep->heap[child]))
            child++;
        if (child >= ep->heap_len || !before(ep->heap[child], op))
            break;
        put(ep, i, ep->heap[child]);
        i = child;
    }
    put(ep, i, op);
}

/* Adds an operation to the heap, from which ep_carry takes the operations that are due. */
static void push(struct ep *ep, struct op *op)
{
    if (ep->heap_len == ep->heap_capacity) {
        ep->heap_capacity = ep->heap_capacity > 0 ? 2 * ep->heap_capacity : 64;
        ep->heap = realloc(ep->heap, ep->heap_capacity * sizeof(struct op *));
        if (ep->heap == NULL)
            abort();
    }
    put(ep, ep->heap_len++, op);
    up(ep, ep->heap_len - 1);
}

/* Removes an operation from the heap, if it is there. */
static void remove_from_heap(struct ep *ep, struct op *op)
{
    if (op->at == 0)
        return;
    size_t i = op->at - 1;
    struct op *last = ep->heap[--ep->heap_len];
    op->at = 0;
    if (last == op)
        return;
    put(ep, i, last);
    up(ep, i);
    down(ep, last->at - 1);
}

/* Returns when the endpoint's next operation is due; UINT64_MAX: never. */
uint64_t ep_due(const struct ep *ep)
{
    return ep->heap_len > 0 ? ep->heap[0]->due : UINT64_MAX;
}

/* Returns a new operation, in a free record if there is one. The lower half of its token is the
 * number of the record, the upper half how often the record was used: so a late reply to an
 * operation does not match the next operation in the record. */
struct op *op_new(struct ep *ep, enum op_kind kind, struct peer *peer)
{
    struct op *op = ep->free_ops;
    if (op != NULL) {
        ep->free_ops = op->next;
    } else {
        if (ep->op_count == ep->op_capacity) {
            ep->op_capacity = ep->op_capacity > 0 ? 2 * ep->op_capacity : 64;
            ep->ops = realloc(ep->ops, ep->op_capacity * sizeof(struct op *));
        }
        op = calloc(1, sizeof *op);
        if (ep->ops == NULL || op == NULL)
            abort();
        op->token = ep->op_count;
        ep->ops[ep->op_count++] = op;
    }
    uint64_t token = op->token + (UINT64_C(1) << 32);
    memset(op, 0, sizeof *op);
    op->token = token;
    op->kind = kind;
    op->state = OP_WAITING;
    op->ep = ep;
    op->peer = peer;
    op->order = -1;
    op->internal = kind == OP_CONTROL;
    if (!op->internal && ++ep->active > ep->high)
        ep->high = ep->active;
    return op;
}

/* Returns the operation with a token, or NULL if it is over. The upper half of the token
 * distinguishes a new use of a record from an old one. */
struct op *op_find(struct ep *ep, uint64_t token)
{
    uint32_t i = (uint32_t)token;
    struct op *op = i < ep->op_count ? ep->ops[i] : NULL;
    return op != NULL && op->token == token && op->state != OP_FREE ? op : NULL;
}

/* Copies the bytes of an operation, because its caller may reuse their buffers. */
int op_copy(struct op *op)
{
    char *to = op->copy = malloc(op->len > 0 ? op->len : 1);
    if (to == NULL)
        return -FI_ENOMEM;
    for (size_t i = 0; i < op->iov_count; i++) {
        memcpy(to, op->iov[i].iov_base, op->iov[i].iov_len);
        to += op->iov[i].iov_len;
    }
    op->iov[0] = (struct iovec){op->copy, op->len};
    op->iov_count = 1;
    return 0;
}

/* Returns the part of immediate data that the device carries: as many bytes as rule R11k says. */
uint64_t op_data(const struct ep *ep, uint64_t data)
{
    if (!rule(&ep->domain->fabric->set, ep->domain->kind, R11k))
        return data;
    return data & (UINT64_MAX >> (64 - 8 * rule_value(R11k)));
}

/*
 * Returns the class of an operation, 0 or 1, whose operations on one peer keep their order, or -1
 * for none. verbs has one class for all, cxi one for messages and one for the rest, efa one for
 * messages where the endpoint was opened with that order.
 */
static int order_of(const struct ep *ep, const struct op *op)
{
    const uint64_t order = ep->info->tx_attr->msg_order;
    switch (ep->domain->kind) {
    case KIND_VERBS:
        return 0;
    case KIND_CXI:
        return op->kind == OP_SEND ? 0 : 1;
    case KIND_EFA:
        return op->kind == OP_SEND && order & FI_ORDER_SAS ? 0 : -1;
    default:
        return -1;
    }
}

/* Draws how long after its posting an operation is carried out: for half of them 0, for 1 in 128 up
 * to 300 us, for the others up to 5 us (efa: 20 us). It is always 0 for the provider's own
 * messages, and for efa if a test has switched off rule R12a of rules.tsv (messages and writes in
 * any order), so that they keep their order. */
static uint64_t delay(const struct ep *ep, const struct op *op)
{
    const struct settings *s = &ep->domain->fabric->set;
    const uint64_t d = dice(ep, op->number, FOR_DELAY), max_us = s->provider == EFA ? 20 : 5;
    if (op->internal || d % 2 == 0 || (s->provider == EFA && !rule(s, ep->domain->kind, R12a)))
        return 0;
    return (d >> 8) % ((d >> 1) % 64 == 0 ? 300 * US : max_us * US);
}

/* Posts an operation, after the earlier ones of its class on the same peer. Only the first of a
 * class is in the heap, so the others cannot overtake it. */
void op_post(struct ep *ep, struct op *op)
{
    op->number = ep->numbers++;
    op->due = now_ns() + delay(ep, op);
    op->order = op->internal ? -1 : order_of(ep, op);
    if (op->order >= 0) {
        struct op **first = &op->peer->first[op->order], **last = &op->peer->last[op->order];
        bool alone = *first == NULL;
        if (alone)
            *first = op;
        else
            (*last)->next = op;
        *last = op;
        if (!alone)
            return;
    }
    push(ep, op);
    nic_kick();
}

/* Posts a message of the provider itself, such as a handshake or a reply. */
void op_control(struct ep *ep, struct peer *peer, const struct record *r)
{
    struct op *op = op_new(ep, OP_CONTROL, peer);
    op->record = *r;
    op->record.from = ep->map->id;
    op_post(ep, op);
}

/* Makes an operation due in ns nanoseconds. */
void op_wait(struct ep *ep, struct op *op, uint64_t ns)
{
    op->due = now_ns() + ns;
    remove_from_heap(ep, op);
    push(ep, op);
}

/* Frees an operation that is over. The next one of its class on the same peer enters the heap. */
void op_drop(struct ep *ep, struct op *op)
{
    remove_from_heap(ep, op);
    if (op->order >= 0) {
        struct op *next = op->peer->first[op->order] = op->next;
        if (next == NULL)
            op->peer->last[op->order] = NULL;
        else
            push(ep, next);
    }
    free(op->copy);
    op->copy = NULL;
    if (op->kind == OP_SEND)
        op->peer->backoff = false;
    if (!op->internal)
        ep->active--;
    op->state = OP_FREE;
    op->next = ep->free_ops;
    ep->free_ops = op;
}

/* Carries out the operations of an endpoint that are due, at most MAX_DUE, so that a poll ends; if
 * all is true, also those that are not due yet. */
void ep_carry(struct ep *ep, bool all)
{
    enum { MAX_DUE = 256 };
    if (ep->heap_len == 0)
        return;
    const uint64_t now = now_ns();
    for (int n = 0; n < MAX_DUE && ep->heap_len > 0 && (all || ep->heap[0]->due <= now); n++) {
        struct op *op = ep->heap[0];
        remove_from_heap(ep, op);
        carry(ep, op);
    }
}
