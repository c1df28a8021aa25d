/*
 * fits.c: whether an offer has all that the hints of a program require. Names such as R2e are rows
 * of rules.tsv, of which a test may switch off each (without).
 */
#define _GNU_SOURCE
#include "offer.h"

#include <string.h>
#include <strings.h>

/* Reports whether the provider's name in hints names a provider or a layer over it, in any case. */
static bool named(const char *asked, const char *name)
{
    size_t n = asked != NULL ? strlen(asked) : 0;
    return asked == NULL || (strncasecmp(asked, name, n) == 0 && (name[n] == 0 || name[n] == ';'));
}

/* Reports whether a hint is not set, or has this name. */
static bool same(const char *asked, const char *name)
{
    return asked == NULL || strcmp(asked, name) == 0;
}

/* FI_MR_BASIC, whose name is a warning in the headers of libfabric 2. */
enum { MR_BASIC = 1 << 0 };

/* Reports whether the hints' modes of registration (asked) include all that the provider demands
 * (wanted). FI_MR_BASIC, of API versions before 1.5, stands for FI_MR_VIRT_ADDR, FI_MR_ALLOCATED
 * and FI_MR_PROV_KEY, and no other mode may be beside it. It does not stand for FI_MR_LOCAL, which
 * efa-direct demands as well (rule G3e). verbs demands it, too, but of ofi_rxm, not of the program.
 */
static bool modes_fit(const struct settings *s, enum kind kind, int asked, int wanted)
{
    if (asked & MR_BASIC) {
        if (asked != MR_BASIC)
            return false;
        asked = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
        if (!rule(s, kind, G3e))
            asked |= FI_MR_LOCAL;
    }
    return (wanted & ~asked) == 0;
}

/* Reports whether an offer has the message order that the hints request. If rule R1a (efa) or R1d
 * (efa-direct) is off, any order fits. */
static bool order_fits(const struct settings *s, enum kind kind, uint64_t asked, uint64_t offered)
{
    if ((kind == KIND_EFA && !rule(s, kind, R1a)) || (kind == KIND_DIRECT && !rule(s, kind, R1d)))
        return true;
    return (asked & ~offered) == 0;
}

/* Reports whether an offer has the names in the hints. If rule R2e is off, the name of the fabric
 * does not count. */
static bool names_fit(const struct settings *s, enum kind kind, const struct fi_info *o,
                      const struct fi_info *h)
{
    const struct fi_fabric_attr *f = h->fabric_attr;
    const struct fi_domain_attr *d = h->domain_attr;
    if (f != NULL && !named(f->prov_name, o->fabric_attr->prov_name))
        return false;
    if (f != NULL && !same(f->name, o->fabric_attr->name) && !without(s, kind, R2e))
        return false;
    return d == NULL || same(d->name, o->domain_attr->name);
}

/* Reports whether hints get a send queue with wide entries, which have room for more injected bytes
 * (the setting wide): they request more than normal entries have room for (G5c), and at most what
 * wide ones have (G5h). G5f: only versions of libfabric from 2.6 on know them. */
bool wide(const struct settings *s, enum kind kind, const struct fi_tx_attr *t)
{
    const size_t limit = without(s, kind, G5h) ? 128 : (size_t)rule_value(G5h);
    return t != NULL && rule(s, kind, G5f) && setting("wide", 0) != 0 &&
           t->inject_size > (size_t)rule_value(G5c) && t->inject_size <= limit;
}

/* Reports whether an offer has the sizes in the hints: the injected bytes, the depth of the queues
 * (any depth if rule G8c is off), and the lengths of vectors. */
static bool sizes_fit(const struct settings *s, enum kind kind, const struct fi_info *o,
                      const struct fi_info *h)
{
    const struct fi_tx_attr *t = h->tx_attr;
    const struct fi_rx_attr *r = h->rx_attr;
    const bool any = without(s, kind, G8c);
    if (t != NULL && ((t->inject_size > o->tx_attr->inject_size && !wide(s, kind, t)) ||
                      (t->size > o->tx_attr->size && !any) ||
                      t->iov_limit > o->tx_attr->iov_limit || t->op_flags & ~o->tx_attr->op_flags))
        return false;
    return r == NULL ||
           ((r->size <= o->rx_attr->size || any) && r->iov_limit <= o->rx_attr->iov_limit);
}

/* Reports whether an offer has the kind of progress that hints name. Only FI_PROGRESS_AUTO is a
 * demand. */
static bool progresses(enum fi_progress asked, enum fi_progress offered)
{
    return asked != FI_PROGRESS_AUTO || offered == FI_PROGRESS_AUTO;
}

/* Reports whether an offer has the attributes of the domain in the hints. If rule G3c is off, any
 * modes of registration fit. */
static bool domain_fits(const struct settings *s, enum kind kind, const struct fi_domain_attr *o,
                        const struct fi_domain_attr *h)
{
    return h == NULL || (h->cq_data_size <= o->cq_data_size &&
                         (modes_fit(s, kind, h->mr_mode, o->mr_mode) || without(s, kind, G3c)) &&
                         progresses(h->control_progress, o->control_progress) &&
                         progresses(h->data_progress, o->data_progress));
}

/* Returns the capabilities of the hints that a provider lacks. It does not count those whose rule
 * is switched off: FI_RMA_EVENT (G1c), FI_FENCE (G1d), and the four of efa-direct's rule G1f. */
static uint64_t lacks(const struct settings *s, enum kind kind, const struct fi_info *o,
                      const struct fi_info *h)
{
    uint64_t lacking = h->caps & ~o->caps;
    if (without(s, kind, G1c))
        lacking &= ~(uint64_t)FI_RMA_EVENT;
    if (without(s, kind, G1d))
        lacking &= ~(uint64_t)FI_FENCE;
    if (without(s, kind, G1f))
        lacking &= ~(uint64_t)(FI_TAGGED | FI_ATOMIC | FI_DIRECTED_RECV | FI_MULTI_RECV);
    return lacking;
}

/* Reports whether the addresses in the hints have the size of this provider's addresses (rule
 * G13d). */
static bool addresses_fit(const struct settings *s, enum kind kind, const struct fi_info *h)
{
    const size_t n = address_size(kind);
    return !rule(s, kind, G13d) || ((h->src_addr == NULL || h->src_addrlen == n) &&
                                    (h->dest_addr == NULL || h->dest_addrlen == n));
}

/* Reports whether efa-direct offers RMA to these hints. On a device without unsolicited receives,
 * where immediate data uses up a receive, it offers none (R11h) or, in later versions, only to
 * hints with FI_RX_CQ_DATA in their mode (R11i). */
static bool offers_rma(const struct settings *s, enum kind kind, const struct fi_info *h)
{
    if (kind != KIND_DIRECT || s->unsolicited || !(h->caps & FI_RMA))
        return true;
    return !rule(s, kind, R11h) && !(rule(s, kind, R11i) && !(h->mode & FI_RX_CQ_DATA));
}

/* Reports whether the offer o has all that the hints h require, so that fi_getinfo returns it. The
 * hints have to accept the offer's mode, unless rule G2c is off. */
bool fits(const struct settings *s, enum kind kind, const struct fi_info *o,
          const struct fi_info *h)
{
    const struct fi_ep_attr *e = h->ep_attr;
    if (lacks(s, kind, o, h) || ((o->mode & ~h->mode) != 0 && !without(s, kind, G2c)) ||
        !names_fit(s, kind, o, h) || !sizes_fit(s, kind, o, h) || !offers_rma(s, kind, h) ||
        !addresses_fit(s, kind, h) || !domain_fits(s, kind, o->domain_attr, h->domain_attr))
        return false;
    if (h->addr_format != FI_FORMAT_UNSPEC && h->addr_format != o->addr_format)
        return false;
    if (e != NULL && ((e->type != FI_EP_UNSPEC && e->type != FI_EP_RDM) ||
                      e->max_msg_size > o->ep_attr->max_msg_size))
        return false;
    return (h->tx_attr == NULL ||
            order_fits(s, kind, h->tx_attr->msg_order, o->tx_attr->msg_order)) &&
           (h->rx_attr == NULL ||
            order_fits(s, kind, h->rx_attr->msg_order, o->rx_attr->msg_order));
}
