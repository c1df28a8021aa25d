/*
 * info.c: fi_getinfo: which offers fit what is asked for, and what is granted of them.
 */
#define _GNU_SOURCE
#include "cuda.h"
#include "offer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PRIMARY                                                                                    \
    (FI_MSG | FI_RMA | FI_TAGGED | FI_ATOMIC | FI_MULTICAST | FI_NAMED_RX_CTX | FI_DIRECTED_RECV | \
     FI_VARIABLE_MSG | FI_HMEM | FI_COLLECTIVE | FI_READ | FI_WRITE | FI_RECV | FI_SEND |          \
     FI_REMOTE_READ | FI_REMOTE_WRITE)
/* A name stands for the layers over it, too, whatever its case. */
static bool named(const char *asked, const char *name)
{
    size_t n = asked != NULL ? strlen(asked) : 0;
    return asked == NULL || (strncasecmp(asked, name, n) == 0 && (name[n] == 0 || name[n] == ';'));
}

static bool same(const char *asked, const char *name)
{
    return asked == NULL || strcmp(asked, name) == 0;
}

/* The hints have to promise what the provider wants of registrations. */
static bool registers(int asked, int wanted)
{
    if (asked & FI_MR_BASIC)
        asked |= FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_LOCAL;
    return (wanted & ~asked) == 0;
}

static bool order_fits(const struct settings *s, enum kind kind, uint64_t asked, uint64_t offered)
{
    if ((kind == KIND_EFA && !rule(s, kind, R1a)) || (kind == KIND_DIRECT && !rule(s, kind, R1d)))
        return true;
    return (asked & ~offered) == 0;
}

static bool names_fit(const struct fi_info *o, const struct fi_info *h)
{
    const struct fi_fabric_attr *f = h->fabric_attr;
    const struct fi_domain_attr *d = h->domain_attr;
    if (f != NULL &&
        (!named(f->prov_name, o->fabric_attr->prov_name) || !same(f->name, o->fabric_attr->name)))
        return false;
    return d == NULL || same(d->name, o->domain_attr->name);
}

static bool sizes_fit(const struct fi_info *o, const struct fi_info *h)
{
    const struct fi_tx_attr *t = h->tx_attr;
    const struct fi_rx_attr *r = h->rx_attr;
    if (t != NULL && (t->inject_size > o->tx_attr->inject_size || t->size > o->tx_attr->size ||
                      t->iov_limit > o->tx_attr->iov_limit || t->op_flags & ~o->tx_attr->op_flags))
        return false;
    return r == NULL || (r->size <= o->rx_attr->size && r->iov_limit <= o->rx_attr->iov_limit);
}

/* Writes of peers with data need receives of their own kind (R11). */
static bool moves(const struct settings *s, enum kind kind, const struct fi_info *h)
{
    if (kind != KIND_DIRECT || s->unsolicited || !(h->caps & FI_RMA))
        return true;
    return !rule(s, kind, R11h) && !(rule(s, kind, R11i) && !(h->mode & FI_RX_CQ_DATA));
}

/* Whether the offer has all that is asked for. */
static bool fits(const struct settings *s, enum kind kind, const struct fi_info *o,
                 const struct fi_info *h)
{
    const struct fi_domain_attr *d = h->domain_attr;
    const struct fi_ep_attr *e = h->ep_attr;
    if (h->caps & ~o->caps || (o->mode & ~h->mode) != 0 || !names_fit(o, h) || !sizes_fit(o, h) ||
        !moves(s, kind, h))
        return false;
    if (h->addr_format != FI_FORMAT_UNSPEC && h->addr_format != o->addr_format)
        return false;
    if (d != NULL && (d->cq_data_size > o->domain_attr->cq_data_size ||
                      !registers(d->mr_mode, o->domain_attr->mr_mode)))
        return false;
    if (e != NULL && ((e->type != FI_EP_UNSPEC && e->type != FI_EP_RDM) ||
                      e->max_msg_size > o->ep_attr->max_msg_size))
        return false;
    return (h->tx_attr == NULL ||
            order_fits(s, kind, h->tx_attr->msg_order, o->tx_attr->msg_order)) &&
           (h->rx_attr == NULL ||
            order_fits(s, kind, h->rx_attr->msg_order, o->rx_attr->msg_order));
}

static int alter_hmem(const struct settings *s, enum kind kind, struct fi_info *o,
                      const struct fi_info *h)
{
    if (h == NULL || !(h->caps & FI_HMEM)) {
        o->caps &= ~(uint64_t)FI_HMEM;
        return 0;
    }
    if (kind == KIND_EFA && rule(s, kind, R17b) && !cuda_there(s))
        return -FI_ENODATA;
    if (h->domain_attr != NULL && !(h->domain_attr->mr_mode & FI_MR_HMEM) && rule(s, kind, R17a))
        return -FI_ENODATA;
    o->domain_attr->mr_mode |= FI_MR_HMEM;
    return 0;
}

static void alter_caps(struct fi_info *o, const struct fi_info *h)
{
    const uint64_t messages = FI_SEND | FI_RECV;
    const uint64_t moves = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    if (h->caps != 0)
        o->caps = (h->caps & PRIMARY) | (o->caps & ~(uint64_t)PRIMARY);
    if (o->caps & FI_MSG && !(o->caps & messages))
        o->caps |= messages;
    if (o->caps & FI_RMA && !(o->caps & moves))
        o->caps |= moves;
    o->tx_attr->caps &= o->caps;
    o->rx_attr->caps &= o->caps;
}

/* Sizes are as asked for; of the order, what is asked for and offered (R1). */
static void alter_queues(const struct settings *s, enum kind kind, struct fi_info *o,
                         const struct fi_info *h)
{
    const bool both = kind == KIND_EFA && rule(s, kind, R1c);
    if (h->tx_attr != NULL) {
        o->tx_attr->op_flags = h->tx_attr->op_flags;
        if (h->tx_attr->size != 0)
            o->tx_attr->size = h->tx_attr->size;
        if (h->tx_attr->inject_size != 0)
            o->tx_attr->inject_size = h->tx_attr->inject_size;
        if (both)
            o->tx_attr->msg_order &= h->tx_attr->msg_order;
    } else {
        o->tx_attr->op_flags = FI_COMPLETION;
    }
    if (h->rx_attr != NULL) {
        if (h->rx_attr->size != 0)
            o->rx_attr->size = h->rx_attr->size;
        if (both)
            o->rx_attr->msg_order &= h->rx_attr->msg_order;
    }
}

/* Makes of an offer what is granted; an error is one of the whole answer. */
static int alter(const struct settings *s, enum kind kind, struct fi_info *o,
                 const struct fi_info *h)
{
    int ret = alter_hmem(s, kind, o, h);
    if (ret != 0 || h == NULL)
        return ret;
    alter_caps(o, h);
    /* A program that asks for other hosts alone gets no shm (R8). */
    if (kind == KIND_EFA && h->caps & FI_REMOTE_COMM && !(h->caps & FI_LOCAL_COMM))
        o->caps &= ~(uint64_t)FI_LOCAL_COMM;
    alter_queues(s, kind, o, h);
    if (h->domain_attr != NULL) {
        if (kind == KIND_EFA)
            o->domain_attr->mr_mode |= h->domain_attr->mr_mode & FI_MR_LOCAL;
        if (h->domain_attr->threading != FI_THREAD_UNSPEC)
            o->domain_attr->threading = h->domain_attr->threading;
    }
    if (kind == KIND_DIRECT && !(h->caps & FI_RMA))
        o->ep_attr->max_msg_size = EFA_MTU;
    /* The application takes data in its own receives (R11). */
    if (rule(s, kind, R11j))
        o->mode |= h->mode & FI_RX_CQ_DATA;
    return 0;
}

/* The kinds of endpoint, in the order in which their infos come (R2). */
static int kinds(const struct settings *s, enum kind list[2])
{
    if (s->provider != EFA) {
        list[0] = s->provider == CXI ? KIND_CXI : KIND_VERBS;
        return 1;
    }
    list[0] = list[1] = KIND_EFA;
    if (s->release < RELEASE(2, 1))
        return 1;
    list[!rule(s, KIND_EFA, R2a)] = KIND_DIRECT;
    return 2;
}

static int collect(const struct settings *s, uint32_t version, uint64_t flags,
                   const struct fi_info *hints, struct fi_info **list)
{
    enum kind order[2];
    int n = kinds(s, order);
    struct fi_info **end = list;
    for (int k = 0; k < n; k++) {
        for (uint32_t nic = 0; nic < s->nics; nic++) {
            struct fi_info *o = offer(s, order[k], nic);
            if (o == NULL)
                return -FI_ENOMEM;
            if (order[k] != KIND_EFA && !cuda_there(s))
                o->caps &= ~(uint64_t)FI_HMEM;
            if (hints != NULL && !fits(s, order[k], o, hints)) {
                fi_freeinfo(o);
                continue;
            }
            o->fabric_attr->api_version = version;
            int ret = flags & FI_PROV_ATTR_ONLY ? 0 : alter(s, order[k], o, hints);
            if (ret != 0) {
                fi_freeinfo(o);
                if (rule(s, order[k], G18))
                    return ret;
                continue;
            }
            *end = o;
            end = &o->next;
        }
    }
    return *list != NULL ? 0 : -FI_ENODATA;
}

int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
               const struct fi_info *hints, struct fi_info **info)
{
    static bool asked;
    struct settings s;
    (void)node, (void)service;
    settings_read(&s);
    if (FI_VERSION_LT(fi_version(), version))
        return -FI_ENOSYS;
    if (!asked && cuda_there(&s) && rule(&s, KIND_EFA, R22b))
        cuda_touch(&s);
    asked = true;
    *info = NULL;
    int ret = collect(&s, version, flags, hints, info);
    if (ret != 0) {
        fi_freeinfo(*info);
        *info = NULL;
    }
    return ret;
}
