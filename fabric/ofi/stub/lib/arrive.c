/*
 * arrive.c: handles the records that peers have put into an endpoint's ring, when its owner polls.
 * Names such as R15p are rows of rules.tsv: rule reports whether one holds for this provider and
 * version, and without whether a test has switched it off.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <stdlib.h>
#include <string.h>

/* Removes the first posted receive buffer and stores it in *r. Returns false if none is posted. */
static bool next_receive(struct ep *ep, struct receive *r)
{
    if (ep->rx_head == ep->rx_tail)
        return false;
    *r = ep->receives[ep->rx_head++ % ep->rx_size];
    return true;
}

/* Returns the source address of a completion of endpoint id, if the program has requested
 * FI_SOURCE. */
static fi_addr_t address_of(struct ep *ep, uint64_t id)
{
    struct peer *p = ep->info->caps & FI_SOURCE ? av_find(ep->av, id) : NULL;
    return p != NULL ? p->addr : FI_ADDR_NOTAVAIL;
}

/* Sends the peer that posted an operation its status, and the old value of an atomic operation
 * (data). */
void reply(struct ep *ep, const struct record *r, int status, uint64_t data)
{
    struct peer *p = ep_peer(ep, r->from);
    if (p != NULL)
        op_control(
            ep, p,
            &(struct record){.kind = RECORD_ACK, .token = r->token, .err = status, .data = data});
}

/* Copies a message into the buffer of a receive and completes it. counted: the endpoint in whose
 * device queue the completion has an entry; NULL: in none. */
static void deliver(struct ep *ep, const struct record *r, const void *bytes,
                    const struct receive *to, struct wire *counted)
{
    struct completion c = {.context = to->context,
                           .flags = FI_RECV | FI_MSG,
                           .len = r->len,
                           .source = address_of(ep, r->from),
                           .counted = counted};
    const size_t n = r->len < to->len ? r->len : to->len;
    if (r->flags & RECORD_ELSEWHERE) {
        struct peer *p = ep_peer(ep, r->from);
        if (p == NULL || !peer_map(p) || !wire_alive(p->map) ||
            wire_read(p->map, r->at, to->buf, n) != 0) {
            c.status = ep->domain->fabric->set.lost_status;
            c.err = error_of(ep, c.status);
        }
    } else {
        memcpy(to->buf, bytes, n);
    }
    if (r->len > to->len) /* R15p: efa's error of a message longer than its receive */
        c.err = rule(&ep->domain->fabric->set, ep->domain->kind, R15p) ? FI_EMSGSIZE : FI_ETRUNC;
    if (r->flags & RECORD_HAS_DATA) {
        c.flags |= FI_REMOTE_CQ_DATA;
        c.data = r->data;
    }
    cq_push(ep->rx, &c);
    if (r->flags & RECORD_WANTS_ACK)
        reply(ep, r, STATUS_OK, 0);
}

/* Stores a message of efa that arrived before its receive was posted, at the end of the endpoint's
 * list. Bytes that are still in the sender's memory (RECORD_ELSEWHERE) are not copied yet. */
static void store_early(struct ep *ep, const struct record *r)
{
    const size_t n = r->flags & RECORD_ELSEWHERE ? 0 : r->len;
    struct early *e = malloc(sizeof *e + n);
    if (e == NULL)
        abort();
    e->next = NULL;
    e->record = *r;
    e->n = n;
    memcpy(e->bytes, r + 1, n);
    *ep->early_end = e;
    ep->early_end = &e->next;
}

/* Removes the first message that has arrived before a receive for it. */
static void early_drop(struct ep *ep)
{
    struct early *e = ep->early;
    ep->early = e->next;
    if (ep->early == NULL)
        ep->early_end = &ep->early;
    free(e);
}

/* Delivers the first stored message, which arrived before its receive, if a receive is posted now.
 * Returns false if there is no such message or no receive. */
bool early_match(struct ep *ep)
{
    struct receive to;
    struct early *e = ep->early;
    if (e == NULL || !next_receive(ep, &to))
        return false;
    deliver(ep, &e->record, e->bytes, &to, NULL);
    early_drop(ep);
    return true;
}

/* Handles a message: efa stores it in buffers of its own, the other providers need a receive. */
static void message(struct ep *ep, const struct record *r)
{
    struct receive to;
    if (ep->domain->kind == KIND_EFA) {
        struct peer *p = av_find(ep->av, r->from);
        if (p != NULL && !p->greeted)
            hello_reply(ep, p);
        store_early(ep, r);
        while (early_match(ep))
            ;
        /* R16e: messages that find no receive are kept. */
        if (ep->early != NULL && without(&ep->domain->fabric->set, KIND_EFA, R16e))
            early_drop(ep);
        return;
    }
    if (!next_receive(ep, &to))
        abort(); /* its sender has reserved one (credits) */
    deliver(ep, r, r + 1, &to, ep->map->w);
}

/* Counts a write with immediate data that has arrived at this process, and returns whether the
 * device loses the data: it does for the write whose number is the setting data_fails_at. */
static bool count_data_write(void)
{
    static long arrivals;
    const long at = setting("data_fails_at", 0);
    return at > 0 && __atomic_add_fetch(&arrivals, 1, __ATOMIC_RELAXED) == at;
}

/*
 * Reports lost immediate data as the provider does: by a completion with an error (rules.tsv: R9d,
 * R9e), or by an event that names no operation (R9c). Without these rules there is no report.
 */
static void report_failed(struct ep *ep, struct completion *c)
{
    const struct settings *s = &ep->domain->fabric->set;
    const enum kind kind = ep->domain->kind;
    c->err = error_of(ep, STATUS_SICK);
    c->status = reported_status(ep, STATUS_SICK);
    if (rule(s, kind, R9d) || rule(s, kind, R9e)) {
        cq_push(ep->rx, c);
        return;
    }
    if (c->counted != NULL)
        wire_free_entries(c->counted, 1);
    if (rule(s, kind, R9c))
        eq_error(ep, c->err, c->status);
}

/* Completes a peer's write with immediate data at its target; counted is as for deliver. Rules of
 * rules.tsv say what the completion has: the flags of a remote write (R11b), the sender's address
 * (R11e), the length of the write (R11l), and as context NULL (R11a, R11d) or that of a receive
 * (R11c). */
static void data(struct ep *ep, const struct record *r, struct wire *counted)
{
    const struct settings *s = &ep->domain->fabric->set;
    const enum kind kind = ep->domain->kind;
    struct completion c = {.flags = FI_REMOTE_CQ_DATA | FI_RMA | FI_REMOTE_WRITE,
                           .len = without(s, kind, R11l) ? 0 : r->len,
                           .data = r->data,
                           .source = address_of(ep, r->from),
                           .counted = counted};
    struct receive used;
    if (s->provider == EFA)
        c.flags = rule(s, kind, R11b) ? (uint64_t)rule_value(R11b) : FI_REMOTE_CQ_DATA;
    if (s->provider == EFA && !rule(s, kind, R11e))
        c.source = FI_ADDR_NOTAVAIL;
    /* The write uses up a receive of the program; on the fabric efa one of the provider. */
    if (!ep->map->w->unsolicited && (rule(s, kind, R11c) || without(s, kind, R11d)) &&
        next_receive(ep, &used))
        c.context = used.context;
    else if (s->provider == EFA && !rule(s, kind, R11a))
        c.context = ep;
    if (count_data_write())
        report_failed(ep, &c);
    else
        cq_push(ep->rx, &c);
}

/* Carries out a peer's read or write that its device does not (emulate.c), and replies. */
static void rma(struct ep *ep, const struct record *r)
{
    const int status = emulated_move(ep, r);
    if (status == STATUS_OK && r->flags & RECORD_HAS_DATA)
        data(ep, r, NULL);
    reply(ep, r, status, 0);
}

/* Carries out an atomic operation of a peer of efa, whose NIC leaves that to the target's
 * processor, and replies. A negative status says that the operation could not be done now, because
 * another process has the lock: it tries again. */
static void apply_for_peer(struct ep *ep, const struct record *r)
{
    uint64_t old = 0;
    int status;
    do
        status = apply(ep->map, r->at, r->key, (enum fi_op)r->op, r->width,
                       (const uint64_t *)(const void *)(r + 1), &old);
    while (status < 0);
    reply(ep, r, status, old);
}

/* Handles a target's reply to an operation of this endpoint: the operation is complete, and due at
 * once. A reply to an operation that is over is ignored. */
static void handle_reply(struct ep *ep, const struct record *r)
{
    struct op *op = op_find(ep, r->token);
    if (op == NULL || op->state != OP_REQUESTED)
        return;
    if (op->fetches && r->err == STATUS_OK)
        memcpy(op->result, &r->data, op->width);
    op->status = r->err;
    op->state = OP_REPLIED;
    op_wait(ep, op, 0);
}

/* Handles the records that peers have put into an endpoint's ring: at most MAX_RECORDS, so that a
 * poll ends even while peers send. */
void arrive(struct ep *ep)
{
    enum { MAX_RECORDS = 1024 };
    const struct record *r;
    for (int n = 0; n < MAX_RECORDS && (r = wire_peek(ep->map->w)) != NULL; n++) {
        switch (r->kind) {
        case RECORD_MESSAGE:
            message(ep, r);
            break;
        case RECORD_DATA:
            data(ep, r, ep->map->w);
            break;
        case RECORD_HELLO:
            hello_reply(ep, ep_peer(ep, r->from));
            break;
        case RECORD_HANDSHAKE: {
            struct peer *p = av_find(ep->av, r->from);
            if (p != NULL)
                hello_replied(ep, p);
            break;
        }
        case RECORD_ATOMIC:
            apply_for_peer(ep, r);
            break;
        case RECORD_RMA:
            rma(ep, r);
            break;
        case RECORD_ACK:
            handle_reply(ep, r);
            break;
        }
        wire_next(ep->map->w);
    }
}
