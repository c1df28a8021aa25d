/*
 * figures.c: efa's sizes, as fi_getopt returns them.
 */
#define _GNU_SOURCE
#include "stub.h"

/* Options that are newer than the headers. */
enum { MAX_MESSAGE = 12, MAX_RMA = 14, INJECT_MESSAGE = 16, INJECT_RMA = 18 };

/* Reports whether writes may be injected: on efa-direct only with wide entries of the send queue
 * (rules.tsv: G5). */
bool injects_writes(const struct ep *ep)
{
    return ep->domain->kind != KIND_DIRECT ||
           ep->info->tx_attr->inject_size > (size_t)rule_value(G5c);
}

/* Returns the value in the row of a rule (rules.tsv), 0 where the rule does not hold. */
static int64_t figure(const struct settings *s, enum kind kind, enum rule_id id)
{
    return rule(s, kind, id) ? rule_value(id) : 0;
}

/* Returns the size that an option of fi_getopt names, in value; an error for other options. Rows of
 * rules.tsv have the options of messages and RMA (G4d), with the largest RMA of efa-direct (G4f),
 * and that of injected writes (G5e), which is G5d where efa-direct does not inject them. */
int ep_figure(const struct ep *ep, int name, size_t *value)
{
    const struct settings *s = &ep->domain->fabric->set;
    const enum kind kind = ep->domain->kind;
    const bool direct = kind == KIND_DIRECT;
    if (s->provider != EFA || s->release < RELEASE(2, 0))
        return -FI_ENOPROTOOPT;
    switch (name) {
    case MAX_MESSAGE:
        *value = direct ? mtu(s, kind) : ep->info->ep_attr->max_msg_size;
        return without(s, kind, G4d) ? -FI_ENOPROTOOPT : 0;
    case MAX_RMA:
        *value = direct ? (size_t)figure(s, kind, G4f) : ep->info->ep_attr->max_msg_size;
        return without(s, kind, G4d) ? -FI_ENOPROTOOPT : 0;
    case INJECT_MESSAGE:
        *value = ep->info->tx_attr->inject_size;
        return 0;
    case INJECT_RMA:
        *value = ep->info->tx_attr->inject_size;
        if (!injects_writes(ep) && rule(s, kind, G5d))
            *value = (size_t)rule_value(G5d);
        return without(s, kind, G5e) ? -FI_ENOPROTOOPT : 0;
    }
    return -FI_ENOPROTOOPT;
}
