/*
 * hello.c: efa's handshake with a peer before the first read or write there (rules.tsv: R10). The
 * endpoint sends one request, and a poll of the peer replies. Until the reply operations wait, at
 * most 16 of an endpoint.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <stdlib.h>

/* Returns the peer with an endpoint's id: from the address vector, or from the list of strangers,
 * to which it is added. A stranger has sent something and is not in the vector. */
struct peer *ep_peer(struct ep *ep, uint64_t id)
{
    struct peer *p = av_find(ep->av, id);
    for (struct peer *s = ep->strangers; p == NULL && s != NULL; s = s->next)
        if (s->id == id)
            p = s;
    if (p == NULL && (p = calloc(1, sizeof *p)) != NULL) {
        p->id = id;
        p->addr = FI_ADDR_NOTAVAIL;
        p->next = ep->strangers;
        ep->strangers = p;
    }
    return p;
}

/* Reports whether reads, writes and atomic operations on a peer have to wait for its handshake.
 * efa has one (R10b), efa-direct has none (R10f), and peers that shm reaches need none. */
static bool needs_handshake(const struct ep *ep, const struct peer *peer)
{
    const struct settings *s = &ep->domain->fabric->set;
    const enum kind kind = ep->domain->kind;
    return (rule(s, kind, R10b) || without(s, kind, R10f)) && !peer->replied &&
           peer->id != ep->map->id && !shm_reaches(ep, peer);
}

/* Sends a peer the request for a handshake, once. */
static void send_hello(struct ep *ep, struct peer *peer)
{
    if (peer->hello)
        return;
    peer->hello = true;
    op_control(ep, peer, &(struct record){.kind = RECORD_HELLO});
}

/* Returns 0 if an operation may be posted now, or a negative error. By the rules, it is -FI_EAGAIN
 * if the send queue is full (R16a), for a read or write to a peer that had no receive (R10g), and
 * before the peer's handshake for an injected write (R10d) or if too many operations wait for one
 * (R10c). */
int ep_accepts(struct ep *ep, struct peer *peer, bool rma, bool inject)
{
    const struct settings *s = &ep->domain->fabric->set;
    if (!ep->enabled)
        return -FI_EOPBADSTATE;
    if (peer == NULL)
        return -FI_EINVAL;
    if (draw_refusal(ep))
        return -FI_EAGAIN;
    if (ep->active >= ep->depth && (s->provider != EFA || rule(s, ep->domain->kind, R16a)))
        return -FI_EAGAIN;
    if (rma && peer->backoff && rule(s, ep->domain->kind, R10g))
        return -FI_EAGAIN;
    if (!rma || !needs_handshake(ep, peer))
        return 0;
    send_hello(ep, peer);
    if (inject && rule(s, KIND_EFA, R10d))
        return -FI_EAGAIN;
    if (ep->before_handshake >= (size_t)rule_value(R10c) && rule(s, KIND_EFA, R10c))
        return -FI_EAGAIN;
    return 0;
}

/* Queues an operation that has to wait for the handshake with its peer. Returns false, and does
 * nothing, for an operation that need not wait. */
bool hello_try_queue(struct ep *ep, struct op *op)
{
    struct peer *p = op->peer;
    if (!needs_handshake(ep, p))
        return false;
    ep->before_handshake++;
    op->next = NULL;
    if (p->queued == NULL)
        p->queued = op;
    else
        p->queued_last->next = op;
    p->queued_last = op;
    return true;
}

/* Called when the reply of a peer's handshake has arrived: posts the operations that have
 * waited. */
void hello_replied(struct ep *ep, struct peer *peer)
{
    peer->replied = true;
    while (peer->queued != NULL) {
        struct op *op = peer->queued;
        peer->queued = op->next;
        op->next = NULL;
        ep->before_handshake--;
        op_post(ep, op);
    }
    peer->queued_last = NULL;
}

/* Sends a peer the reply of the handshake. */
void hello_reply(struct ep *ep, struct peer *peer)
{
    if (peer == NULL)
        return;
    peer->greeted = true;
    op_control(ep, peer, &(struct record){.kind = RECORD_HANDSHAKE});
}
