/*
 * av.c: address vectors. A peer's file is mapped when it is first needed. Names such as G12e are
 * rows of rules.tsv, of which a test may switch off each (without).
 */
#define _GNU_SOURCE
#include "stub.h"

#include <stdlib.h>
#include <string.h>

/* The id of an address that leads to no endpoint. */
#define NOBODY ((UINT64_C(1) << 40) - 1)

/* Returns the entry of the hash table of peers (av->index) at which the search for an id begins
 * (Fibonacci hashing: bits of a product with 2^64 divided by the golden ratio). */
static size_t hash_start(const struct av *av, uint64_t id)
{
    return (size_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (av->index_capacity - 1);
}

/* Adds the peer at position i of the vector (av->peers) to the hash table, by its id. */
static void note_index(struct av *av, uint32_t i)
{
    size_t at = hash_start(av, av->peers[i]->id);
    while (av->index[at] != 0)
        at = (at + 1) & (av->index_capacity - 1);
    av->index[at] = i + 1;
}

/* Enlarges a full vector for more peers, and its hash table, which stays at most half full:
 * searches rely on a free entry. Returns 0 or an error. */
static int grow(struct av *av)
{
    if (av->count < av->capacity)
        return 0;
    size_t capacity = av->capacity > 0 ? 2 * av->capacity : 64;
    struct peer **peers = realloc(av->peers, capacity * sizeof(struct peer *));
    uint32_t *index = calloc(2 * capacity, sizeof *index);
    if (peers != NULL)
        av->peers = peers;
    if (peers == NULL || index == NULL) {
        free(index);
        return -FI_ENOMEM;
    }
    free(av->index);
    av->index = index;
    av->capacity = capacity;
    av->index_capacity = 2 * capacity;
    for (uint32_t i = 0; i < av->count; i++)
        if (av->peers[i] != NULL)
            note_index(av, i);
    return 0;
}

/* Returns the peer with an endpoint's id, or NULL. The index is a hash table with open addressing,
 * whose entries are positions in av->peers plus one. Those of removed peers stay, and the search
 * passes over them. */
struct peer *av_find(struct av *av, uint64_t id)
{
    if (av == NULL || av->index_capacity == 0)
        return NULL;
    for (size_t at = hash_start(av, id); av->index[at] != 0;
         at = (at + 1) & (av->index_capacity - 1)) {
        struct peer *p = av->peers[av->index[at] - 1];
        if (p != NULL && p->id == id)
            return p;
    }
    return NULL;
}

/* Returns the peer of an address that fi_av_insert has returned, or NULL. */
struct peer *av_peer(struct av *av, fi_addr_t addr)
{
    return av != NULL && addr < av->count ? av->peers[addr] : NULL;
}

/* Maps the file of a peer, if it is not mapped yet. Returns false if there is none. */
bool peer_map(struct peer *p)
{
    if (p->map == NULL)
        p->map = wire_open(p->id);
    return p->map != NULL;
}

/* Adds the endpoint `id` to the vector, if it is not there, and to the peers that each endpoint
 * with this vector knows. Stores the endpoint's position in the vector in *addr, unless addr is
 * NULL. */
static int add(struct av *av, uint64_t id, fi_addr_t *addr)
{
    struct peer *p = av_find(av, id);
    if (p == NULL) {
        if (grow(av) != 0 || (p = calloc(1, sizeof *p)) == NULL)
            return -FI_ENOMEM;
        p->id = id;
        p->addr = av->count;
        p->shm = shm_inserts(av);
        av->peers[av->count++] = p;
        note_index(av, (uint32_t)p->addr);
        for (struct ep *ep = av->domain->eps; ep != NULL; ep = ep->next)
            if (ep->av == av && ep->map != NULL)
                wire_add_known(ep->map->w, id);
    }
    if (addr != NULL)
        *addr = p->addr;
    return 0;
}

/* Implements fi_av_insert, and returns how many addresses were inserted. By rule G12e an address
 * that is no endpoint's is an error; without the rule it is an endpoint that never answers. */
static int insert(struct fid_av *fid, const void *addr, size_t count, fi_addr_t *fi_addr,
                  uint64_t flags, void *context)
{
    struct av *av = (struct av *)fid;
    const enum kind kind = av->domain->kind;
    int inserted = 0;
    (void)flags, (void)context;
    pthread_mutex_lock(&av->domain->lock);
    for (size_t i = 0; i < count; i++) {
        uint64_t id = address_id(kind, (const char *)addr + i * address_size(kind));
        if (id == 0 && without(&av->domain->fabric->set, kind, G12e))
            id = NOBODY;
        int ret = id != 0 ? add(av, id, fi_addr != NULL ? &fi_addr[i] : NULL) : -FI_EINVAL;
        if (ret == 0)
            inserted++;
        else if (fi_addr != NULL)
            fi_addr[i] = FI_ADDR_NOTAVAIL;
    }
    pthread_mutex_unlock(&av->domain->lock);
    return inserted;
}

/*
 * Ends the operations on a peer whose address is removed. Those of the device fail, because the
 * address handle is gone. Those that the provider efa still holds end without a completion.
 */
static void lose(struct ep *ep, const struct peer *p)
{
    rnr_forget(ep, p);
    for (size_t i = 0; i < ep->op_count; i++) {
        struct op *op = ep->ops[i];
        if (op->state == OP_FREE || op->peer != p)
            continue;
        if (ep->domain->kind == KIND_DIRECT && !op->internal)
            op_fail(ep, op, STATUS_NO_HANDLE);
        else
            op_drop(ep, op);
    }
}

/* Removes a peer from the vector, and its state from all endpoints that use the vector. */
static void forget(struct av *av, fi_addr_t addr)
{
    struct peer *p = av->peers[addr];
    for (struct ep *ep = av->domain->eps; ep != NULL; ep = ep->next)
        if (ep->av == av)
            lose(ep, p);
    if (p->map != NULL)
        wire_close(p->map);
    free(p);
    av->peers[addr] = NULL;
}

/* Implements fi_av_remove. A peer with operations under way or queued cannot be removed. */
static int av_remove(struct fid_av *fid, fi_addr_t *addr, size_t count, uint64_t flags)
{
    struct av *av = (struct av *)fid;
    int ret = 0;
    (void)flags;
    pthread_mutex_lock(&av->domain->lock);
    for (size_t i = 0; i < count; i++) {
        struct peer *p = av_peer(av, addr[i]);
        if (p == NULL || p->first[0] != NULL || p->first[1] != NULL || p->queued != NULL)
            ret = -FI_EINVAL;
        else
            forget(av, addr[i]);
    }
    pthread_mutex_unlock(&av->domain->lock);
    return ret;
}

/* Implements fi_av_lookup: copies as much of the address as fits, and stores its whole length. */
static int lookup(struct fid_av *fid, fi_addr_t fi_addr, void *addr, size_t *len)
{
    struct av *av = (struct av *)fid;
    char whole[MAX_ADDRESS];
    struct peer *p = av_peer(av, fi_addr);
    if (p == NULL)
        return -FI_EINVAL;
    size_t n = address_size(av->domain->kind);
    address_make(av->domain->kind, 0, p->id, whole);
    memcpy(addr, whole, *len < n ? *len : n);
    *len = n;
    return 0;
}

/* Implements fi_close for an address vector: frees it with its peers. */
static int av_close(struct fid *fid)
{
    struct av *av = (struct av *)fid;
    pthread_mutex_lock(&av->domain->lock);
    av->domain->users--;
    for (size_t i = 0; i < av->count; i++)
        if (av->peers[i] != NULL)
            forget(av, i);
    pthread_mutex_unlock(&av->domain->lock);
    free(av->peers);
    free(av->index);
    free(av);
    return 0;
}

static struct fi_ops fid_ops = {.size = sizeof fid_ops, .close = av_close};
static struct fi_ops_av ops = {
    .size = sizeof ops, .insert = insert, .remove = av_remove, .lookup = lookup};

/* Implements fi_av_open. By rule G12c flags and names are refused, and by rule G12d the count in
 * attr is raised to a least value. */
int av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **fid, void *context)
{
    const struct domain *d = (struct domain *)domain;
    const struct settings *s = &d->fabric->set;
    if ((attr->flags != 0 || attr->name != NULL) && rule(s, d->kind, G12c))
        return -FI_ENOSYS;
    if (rule(s, d->kind, G12d) && attr->count < (size_t)rule_value(G12d))
        attr->count = (size_t)rule_value(G12d);
    struct av *av = calloc(1, sizeof *av);
    if (av == NULL)
        return -FI_ENOMEM;
    av->domain = (struct domain *)domain;
    av->fid.fid = (struct fid){.fclass = FI_CLASS_AV, .context = context, .ops = &fid_ops};
    av->fid.ops = &ops;
    pthread_mutex_lock(&av->domain->lock);
    av->domain->users++;
    pthread_mutex_unlock(&av->domain->lock);
    *fid = &av->fid;
    return 0;
}
