/*
 * emulate.c: reads and writes that efa's device does not carry out: the provider sends the target a
 * request, and the target's processor moves the bytes when it polls, and replies.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <stdlib.h>
#include <string.h>

/* Reports whether the device carries out reads and writes. On the first devices, programs of API
 * versions below 1.18 have to set a variable for that. */
static bool device_rdma(const struct domain *d)
{
    const char *set = getenv("FI_EFA_USE_DEVICE_RDMA");
    if (set != NULL)
        return strcmp(set, "1") == 0;
    return d->api >= FI_VERSION(1, 18) ||
           (d->fabric->set.part != 0xefa0 && d->fabric->set.part != 0xefa1);
}

/* Reports whether only one of two endpoints needs a receive for immediate data (rules.tsv: R11). */
bool unlike(const struct ep *ep, struct peer *peer)
{
    return peer->replied && peer_map(peer) && peer->map->w->unsolicited != ep->map->w->unsolicited;
}

/* Reports whether the target's processor carries out a read or a write, and not the device: the
 * device has no RDMA, or the write has immediate data and only one of the two endpoints needs a
 * receive for that (rules.tsv: R10e, R11g). */
bool emulated(const struct ep *ep, const struct op *op)
{
    const struct settings *s = &ep->domain->fabric->set;
    const enum kind kind = ep->domain->kind;
    if (rule(s, kind, R10e) && !device_rdma(ep->domain))
        return true;
    return op->has_data && rule(s, kind, R11g) && unlike(ep, op->peer);
}

/* Called at the initiator of a read or write that software carries out: sends the target the
 * request for it, whose width is the number of buffers and whose op is 1 for a read. Returns the
 * result of wire_put. */
int emulate(struct ep *ep, struct op *op)
{
    const struct record r = {.kind = RECORD_RMA,
                             .flags = op->has_data ? RECORD_HAS_DATA : 0,
                             .from = ep->map->id,
                             .token = op->token,
                             .len = op->len,
                             .at = op->remote,
                             .key = op->key,
                             .data = op->data,
                             .op = op->kind == OP_READ,
                             .width = (uint16_t)op->iov_count};
    return wire_put(op->peer->map, &r, op->iov, op->iov_count * sizeof *op->iov, 0);
}

/* Called at the target of an emulated read or write, in its poll: copies the bytes between its
 * region and the buffers of the peer, whose addresses follow the record r. Returns a status for the
 * reply. */
int emulated_move(struct ep *ep, const struct record *r)
{
    struct peer *p = ep_peer(ep, r->from);
    struct iovec iov[4]; /* post_rma of rma.c accepts no more buffers (iov_limit) */
    struct wire_region *to;
    int ret = 0;
    if (p == NULL || !peer_map(p) || !wire_alive(p->map))
        return ep->domain->fabric->set.lost_status;
    if (r->len == 0)
        return STATUS_OK;
    to = find_region(ep->map, r->at, r->key, r->len, r->op ? FI_REMOTE_READ : FI_REMOTE_WRITE);
    if (to == NULL)
        return STATUS_BAD_ADDRESS;
    memcpy(iov, r + 1, r->width * sizeof *iov);
    char *memory = (char *)(uintptr_t)(to->memory + (r->at - to->base));
    for (unsigned i = 0; i < r->width && ret == 0; i++) {
        const uint64_t theirs = (uintptr_t)iov[i].iov_base;
        ret = r->op ? wire_write(p->map, theirs, memory, iov[i].iov_len)
                    : wire_read(p->map, theirs, memory, iov[i].iov_len);
        memory += iov[i].iov_len;
    }
    wire_release_region(to);
    return ret == 0 ? STATUS_OK : ep->domain->fabric->set.lost_status;
}
