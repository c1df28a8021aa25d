/*
 * hello.c: efa's handshake with a peer before it writes to it (R10). It asks once, the peer's poll
 * answers, and until then operations wait, no more than 16 of an endpoint.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <stdlib.h>

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

/* A peer whose handshake has to come first. shm has none. */
static bool stranger(const struct ep *ep, const struct peer *peer)
{
    const struct settings *s = &ep->domain->fabric->set;
    const enum kind kind = ep->domain->kind;
    return (rule(s, kind, R10b) || without(s, kind, R10f)) && !peer->known &&
           peer->id != ep->map->id && !shm_reaches(ep, peer);
}

static void ask(struct ep *ep, struct peer *peer)
{
    if (peer->hello)
        return;
    peer->hello = true;
    op_control(ep, peer, &(struct record){.kind = RECORD_HELLO});
}

/* Whether an operation may be posted now: 0 or a negative error. */
int ep_accepts(struct ep *ep, struct peer *peer, bool rma, bool inject)
{
    const struct settings *s = &ep->domain->fabric->set;
    if (!ep->enabled)
        return -FI_EOPBADSTATE;
    if (peer == NULL)
        return -FI_EINVAL;
    if (refused(ep))
        return -FI_EAGAIN;
    if (ep->active >= ep->depth && (s->provider != EFA || rule(s, ep->domain->kind, R16a)))
        return -FI_EAGAIN;
    if (rma && peer->backoff && rule(s, ep->domain->kind, R10g))
        return -FI_EAGAIN;
    if (!rma || !stranger(ep, peer))
        return 0;
    ask(ep, peer);
    if (inject && rule(s, KIND_EFA, R10d))
        return -FI_EAGAIN;
    if (ep->before_handshake >= (size_t)rule_value(R10c) && rule(s, KIND_EFA, R10c))
        return -FI_EAGAIN;
    return 0;
}

/* Keeps an operation until the handshake, where it has to wait for it. */
bool hello_waits(struct ep *ep, struct op *op)
{
    struct peer *p = op->peer;
    if (!stranger(ep, p))
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

void hello_came(struct ep *ep, struct peer *peer)
{
    peer->known = true;
    while (peer->queued != NULL) {
        struct op *op = peer->queued;
        peer->queued = op->next;
        op->next = NULL;
        ep->before_handshake--;
        op_post(ep, op);
    }
    peer->queued_last = NULL;
}

void hello_answer(struct ep *ep, struct peer *peer)
{
    if (peer == NULL)
        return;
    peer->greeted = true;
    op_control(ep, peer, &(struct record){.kind = RECORD_HANDSHAKE});
}
