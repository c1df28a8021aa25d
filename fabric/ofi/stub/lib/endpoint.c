/*
 * endpoint.c: opens and closes endpoints, and sets their options. Names such as R20a are rows of
 * rules.tsv: rule reports whether one holds for this provider and version, and without whether a
 * test has switched it off.
 */
#define _GNU_SOURCE
#include "cuda.h"
#include "stub.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Options that are newer than the headers. */
enum {
    OPT_CUDA_API_PERMITTED = 10,
    OPT_SHARED_MEMORY_PERMITTED = 11,
    OPT_MAX_MSG_SIZE = 12,
    OPT_MAX_RMA_SIZE = 14,
    OPT_EFA_WRITE_IN_ORDER_ALIGNED_128_BYTES = -(0xefa << 16) + 6
};

/* Sets option 10 or 11 of an efa endpoint (FI_OPT_CUDA_API_PERMITTED,
 * FI_OPT_SHARED_MEMORY_PERMITTED), or returns an error by a rule: efa-direct accepts both without
 * effect (R20f). efa lets a program take away the permission for CUDA (R20a) and for shared memory
 * (R20d), and knows neither where that rule is switched off (`without`). It refuses CUDA's where
 * there is no CUDA (R20c), to take CUDA's away where GPUs are not reached by peer-to-peer (R20b),
 * and to permit shared memory against FI_EFA_ENABLE_SHM_TRANSFER=0 (R20e). */
static int efa_option(struct ep *ep, int name, bool permitted)
{
    const struct settings *s = &ep->domain->fabric->set;
    const char *shm = getenv("FI_EFA_ENABLE_SHM_TRANSFER");
    if (ep->domain->kind == KIND_DIRECT)
        return rule(s, KIND_DIRECT, R20f) ? 0 : -FI_ENOPROTOOPT;
    if (!permitted && without(s, KIND_EFA, name == OPT_SHARED_MEMORY_PERMITTED ? R20d : R20a))
        return -FI_ENOPROTOOPT;
    if (name == OPT_SHARED_MEMORY_PERMITTED) {
        if (permitted && shm != NULL && *shm == '0' && rule(s, KIND_EFA, R20e))
            return -FI_EINVAL;
        ep->shm_permitted = permitted;
        return 0;
    }
    if (!cuda_found(s) && rule(s, KIND_EFA, R20c))
        return -FI_EINVAL;
    if (!permitted && !s->p2p && rule(s, KIND_EFA, R20b))
        return -FI_EOPNOTSUPP;
    ep->cuda_permitted = permitted;
    return 0;
}

/* Implements fi_setopt. By rules of rules.tsv efa refuses levels and options that it does not know
 * (R20g), permissions that are no bool (R20h), and sizes above what it offers (R20j). */
static int set_option(fid_t fid, int level, int name, const void *value, size_t len)
{
    struct ep *ep = (struct ep *)fid;
    const struct settings *s = &ep->domain->fabric->set;
    const bool refuses = s->provider != EFA || rule(s, ep->domain->kind, R20g);
    if (level != FI_OPT_ENDPOINT)
        return refuses ? -FI_ENOPROTOOPT : 0;
    if (s->provider == EFA &&
        (name == OPT_CUDA_API_PERMITTED || name == OPT_SHARED_MEMORY_PERMITTED)) {
        if (len != sizeof(bool) && rule(s, ep->domain->kind, R20h))
            return -FI_EINVAL;
        const int ret = efa_option(ep, name, *(const bool *)value);
        count_line("option %d of %d, %s, %s: %d\n", name, (int)getpid(),
                   *(const bool *)value ? "true" : "false", ep->enabled ? "too late" : "in time",
                   ret);
        return ret;
    }
    /* man fi_efa: EOPNOTSUPP where the endpoint cannot do it. */
    if (s->provider == EFA && name == OPT_EFA_WRITE_IN_ORDER_ALIGNED_128_BYTES) {
        if (len != sizeof(bool))
            return -FI_EINVAL;
        if (*(const bool *)value && !s->in_order)
            return -FI_EOPNOTSUPP;
        ep->in_order = *(const bool *)value;
        return 0;
    }
    if (s->provider == EFA && (name == OPT_MAX_MSG_SIZE || name == OPT_MAX_RMA_SIZE)) {
        const size_t limit = name == OPT_MAX_MSG_SIZE || ep->domain->kind == KIND_EFA
                                 ? ep->info->ep_attr->max_msg_size
                                 : (size_t)rule_value(G4f);
        if (len != sizeof(size_t))
            return -FI_EINVAL;
        return *(const size_t *)value > limit && rule(s, ep->domain->kind, R20j) ? -FI_EINVAL : 0;
    }
    if (name == FI_OPT_FI_HMEM_P2P || name == FI_OPT_MIN_MULTI_RECV)
        return 0;
    return refuses ? -FI_ENOPROTOOPT : 0;
}

/* Implements fi_getopt. */
static int get_option(fid_t fid, int level, int name, void *value, size_t *len)
{
    struct ep *ep = (struct ep *)fid;
    if (level != FI_OPT_ENDPOINT || *len < sizeof(bool))
        return -FI_ENOPROTOOPT;
    if (*len >= sizeof(size_t) && ep_figure(ep, name, value) == 0) {
        *len = sizeof(size_t);
        return 0;
    }
    if (name == OPT_CUDA_API_PERMITTED)
        *(bool *)value = ep->cuda_permitted;
    else if (name == OPT_SHARED_MEMORY_PERMITTED)
        *(bool *)value = ep->shm_permitted;
    else
        return -FI_ENOPROTOOPT;
    *len = sizeof(bool);
    return 0;
}

/* Implements fi_cancel, which no provider supports: rule R16g says which error it returns. */
static ssize_t cancel(fid_t fid, void *context)
{
    struct ep *ep = (struct ep *)fid;
    (void)context;
    return rule(&ep->domain->fabric->set, ep->domain->kind, R16g) ? -FI_ENOSYS : -FI_ENOENT;
}

/* Implements fi_getname: copies as much of the endpoint's address as fits, and stores its whole
 * length. Too little space is an error (rule G13c). */
static int get_name(fid_t fid, void *addr, size_t *len)
{
    struct ep *ep = (struct ep *)fid;
    char whole[MAX_ADDRESS];
    const size_t n = address_size(ep->domain->kind), room = *len;
    if (ep->map == NULL)
        return -FI_EOPBADSTATE;
    address_make(ep->domain->kind, ep->domain->nic, ep->map->id, whole);
    memcpy(addr, whole, room < n ? room : n);
    *len = n;
    return room < n && !without(&ep->domain->fabric->set, ep->domain->kind, G13c) ? -FI_ETOOSMALL
                                                                                  : 0;
}

/* Implements fi_ep_bind. By rule G12b an address vector of efa has only one endpoint. */
static int ep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
    struct ep *ep = (struct ep *)fid;
    switch (other->fclass) {
    case FI_CLASS_CQ:
        if (flags & FI_TRANSMIT)
            ep->tx = (struct cq *)other;
        if (flags & FI_RECV)
            ep->rx = (struct cq *)other;
        return 0;
    case FI_CLASS_AV:
        if (((struct av *)other)->bound && rule(&ep->domain->fabric->set, ep->domain->kind, G12b))
            return -FI_ENOSYS;
        ((struct av *)other)->bound = true;
        ep->av = (struct av *)other;
        return 0;
    case FI_CLASS_EQ:
        ep->eq = (struct eq *)other;
        return 0;
    }
    return -FI_ENOSYS;
}

/* Enables an endpoint: makes its file, so that peers can reach it. */
static int enable(struct ep *ep)
{
    const struct settings *s = &ep->domain->fabric->set;
    static uint64_t endpoints;
    /* G19: an endpoint needs a queue for each direction, the same one or two. If a test has
     * switched that off, the queue of one direction does for both. */
    if (without(s, ep->domain->kind, G19)) {
        ep->tx = ep->tx != NULL ? ep->tx : ep->rx;
        ep->rx = ep->rx != NULL ? ep->rx : ep->tx;
    }
    if (ep->tx == NULL || ep->rx == NULL)
        return -FI_ENOCQ;
    if (ep->av == NULL)
        return -FI_ENOAV;
    struct mapping *m = wire_create(ep->rx->size, (int)ep->domain->kind, ep->rx->id);
    if (m == NULL)
        return -errno;
    m->w->unsolicited = s->unsolicited && !(ep->info->mode & FI_RX_CQ_DATA);
    pthread_mutex_lock(&ep->domain->lock);
    ep->map = m;
    ep->ordinal = __atomic_fetch_add(&endpoints, 1, __ATOMIC_RELAXED);
    mr_publish(ep->domain, ep);
    for (size_t i = 0; i < ep->av->count; i++)
        if (ep->av->peers[i] != NULL)
            wire_add_known(m->w, ep->av->peers[i]->id);
    shm_enable(ep);
    ep->enabled = true;
    pthread_mutex_unlock(&ep->domain->lock);
    return 0;
}

/* Implements fi_control of an endpoint: FI_ENABLE alone. */
static int ep_control(struct fid *fid, int command, void *arg)
{
    (void)arg;
    return command == FI_ENABLE ? enable((struct ep *)fid) : -FI_ENOSYS;
}

/* Carries out the injected operations of an endpoint that is closed: for their caller they are
 * complete. The caller of flush holds the domain's lock. */
static void flush(struct ep *ep)
{
    for (int i = 0; i < 50; i++) {
        bool left = false;
        for (size_t k = 0; k < ep->op_count; k++)
            left = left || (ep->ops[k]->state != OP_FREE && ep->ops[k]->inject);
        if (!left)
            return;
        rnr_check(ep->domain);
        ep_carry(ep, true);
        pthread_mutex_unlock(&ep->domain->lock);
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
        pthread_mutex_lock(&ep->domain->lock);
    }
}

/* Puts the completion of an operation that the end of its endpoint has flushed into a queue. */
static void report(struct cq *cq, void *context, uint64_t flags, int err)
{
    const struct completion c = {
        .context = context, .flags = flags, .err = err, .status = STATUS_FLUSHED};
    cq_push(cq, &c);
}

/* Completes, with an error, the operations and receives that the device of a closed endpoint held
 * (the setting flush). Those that the provider efa keeps itself, outside of the heap, have no
 * completion. */
static void report_posted(struct ep *ep)
{
    const struct settings *s = &ep->domain->fabric->set;
    const int err = error_of(ep, STATUS_FLUSHED);
    const bool direct = ep->domain->kind == KIND_DIRECT;
    for (size_t i = 0; s->flush && i < ep->op_count; i++) {
        const struct op *op = ep->ops[i];
        const bool device = direct || op->at != 0;
        if (op->state != OP_FREE && device && !op->inject && !op->internal)
            report(ep->tx, op->context, op->flags, err);
    }
    for (; s->flush && direct && ep->rx_head != ep->rx_tail; ep->rx_head++)
        report(ep->rx, ep->receives[ep->rx_head % ep->rx_size].context, FI_RECV | FI_MSG, err);
}

/* Frees the operations of an endpoint, its peers outside of the address vector, and early messages.
 */
static void free_ops(struct ep *ep)
{
    for (size_t i = 0; i < ep->op_count; i++) {
        free(ep->ops[i]->copy);
        free(ep->ops[i]);
    }
    free(ep->ops);
    free(ep->heap);
    while (ep->strangers != NULL) {
        struct peer *p = ep->strangers;
        ep->strangers = p->next;
        if (p->map != NULL)
            wire_close(p->map);
        free(p);
    }
    while (ep->early != NULL) {
        struct early *e = ep->early;
        ep->early = e->next;
        free(e);
    }
}

/* Empties the lists of operations of the vector's peers, whose entries belong to this endpoint, and
 * forgets its handshakes with them. */
static void forget_peers(struct ep *ep)
{
    for (size_t i = 0; ep->av != NULL && i < ep->av->count; i++) {
        struct peer *p = ep->av->peers[i];
        if (p == NULL)
            continue;
        p->first[0] = p->first[1] = p->last[0] = p->last[1] = NULL;
        p->queued = p->queued_last = NULL;
        p->greeted = p->hello = p->replied = false;
    }
}

/* Closes an endpoint. */
static int ep_close(struct fid *fid)
{
    struct ep *ep = (struct ep *)fid;
    struct domain *d = ep->domain;
    pthread_mutex_lock(&d->lock);
    if (ep->map != NULL) {
        flush(ep);
        report_posted(ep);
        struct wire *w = ep->map->w;
        count_line("ep %llu of %d: cq %llu of %llu, lost %llu, send queue %zu of %zu\n",
                   (unsigned long long)ep->ordinal, (int)w->pid,
                   (unsigned long long)atomic_load(&w->cq_high), (unsigned long long)w->cq_size,
                   (unsigned long long)atomic_load(&w->cq_lost), ep->high, ep->depth);
    }
    struct ep **at = &d->eps;
    while (*at != ep)
        at = &(*at)->next;
    *at = ep->next;
    d->users--;
    forget_peers(ep);
    rnr_forget(ep, NULL);
    free_ops(ep);
    /* Entries that are left in the queue no longer take room in the device's queue. */
    for (struct cq *cq = ep->tx; cq != NULL; cq = cq == ep->tx && ep->rx != ep->tx ? ep->rx : NULL)
        for (size_t i = cq->head; i != cq->tail; i++)
            if (ep->map != NULL && cq->entries[i % cq->capacity].counted == ep->map->w)
                cq->entries[i % cq->capacity].counted = NULL;
    if (ep->map != NULL)
        wire_remove(ep->map);
    pthread_mutex_unlock(&d->lock);
    fi_freeinfo(ep->info);
    free(ep->receives);
    free(ep);
    return 0;
}

static struct fi_ops fid_ops = {
    .size = sizeof fid_ops, .close = ep_close, .bind = ep_bind, .control = ep_control};
static struct fi_ops_ep ops = {
    .size = sizeof ops, .cancel = cancel, .getopt = get_option, .setopt = set_option};
static struct fi_ops_cm cm_ops = {.size = sizeof cm_ops, .getname = get_name};

/* Implements fi_endpoint. The rules R16b and R16c bound the depths of the queues, and R18b and R18c
 * say which of efa's options are on at first. */
int ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **fid, void *context)
{
    struct ep *ep = calloc(1, sizeof *ep);
    const struct domain *d = (struct domain *)domain;
    const struct settings *s = &d->fabric->set;
    if (ep == NULL)
        return -FI_ENOMEM;
    ep->domain = (struct domain *)domain;
    ep->depth = without(s, d->kind, R16b) ? SIZE_MAX : info->tx_attr->size;
    if (rule(s, d->kind, R16b) && ep->depth > (size_t)rule_value(R16b))
        ep->depth = (size_t)rule_value(R16b);
    ep->rx_size = info->rx_attr->size;
    if (rule(s, d->kind, R16c) && ep->rx_size > (size_t)rule_value(R16c))
        ep->rx_size = (size_t)rule_value(R16c);
    ep->info = fi_dupinfo(info);
    ep->receives = calloc(ep->rx_size, sizeof *ep->receives);
    if (ep->info == NULL || (ep->receives == NULL && ep->rx_size > 0)) {
        fi_freeinfo(ep->info);
        free(ep->receives);
        free(ep);
        return -FI_ENOMEM;
    }
    ep->early_end = &ep->early;
    ep->cuda_permitted = !without(s, d->kind, R18b) && d->api >= FI_VERSION(1, 18);
    ep->shm_permitted = !without(s, d->kind, R18c);
    ep->shm = shm_of(d);
    ep->fid.fid = (struct fid){.fclass = FI_CLASS_EP, .context = context, .ops = &fid_ops};
    ep->fid.ops = &ops;
    ep->fid.cm = &cm_ops;
    ep->fid.msg = &msg_ops;
    ep->fid.rma = &rma_ops;
    ep->fid.atomic = &atomic_ops;
    pthread_mutex_lock(&ep->domain->lock);
    ep->next = ep->domain->eps;
    ep->domain->eps = ep;
    ep->domain->users++;
    pthread_mutex_unlock(&ep->domain->lock);
    *fid = &ep->fid;
    return 0;
}
