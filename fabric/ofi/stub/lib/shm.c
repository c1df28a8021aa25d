/*
 * shm.c: efa's own transport within a host, by another provider of libfabric, and its use of CUDA.
 * Without the setting host=one all peers count as on other hosts, so that shm reaches none.
 */
#define _GNU_SOURCE
#include "cuda.h"
#include "stub.h"

#include <stdlib.h>
#include <string.h>

/* Reports whether a domain's endpoints are opened with efa's shared memory for peers on the same
 * host: not with FI_EFA_ENABLE_SHM_TRANSFER=0, and not without FI_LOCAL_COMM (rule R8i). */
bool shm_of(const struct domain *d)
{
    const char *s = getenv("FI_EFA_ENABLE_SHM_TRANSFER");
    if (d->kind != KIND_EFA)
        return false;
    if (rule(&d->fabric->set, d->kind, R8i) && !(d->info->caps & FI_LOCAL_COMM))
        return false;
    return s == NULL || strcmp(s, "0") != 0;
}

/* Called by fi_enable: closes an endpoint's shared memory if an option has forbidden it (R20i), or
 * if CUDA's functions are forbidden and FI_HMEM was requested (R18e). */
void shm_enable(struct ep *ep)
{
    const struct settings *s = &ep->domain->fabric->set;
    if (!ep->shm_permitted && rule(s, ep->domain->kind, R20i))
        ep->shm = false;
    if (ep->info->caps & FI_HMEM && !ep->cuda_permitted && rule(s, ep->domain->kind, R18e))
        ep->shm = false;
}

/* Reports whether a peer that is inserted now gets an address in shm, efa's transport within a
 * host, as well. */
bool shm_inserts(const struct av *av)
{
    for (const struct ep *ep = av->domain->eps; ep != NULL; ep = ep->next)
        if (ep->av == av && !ep->shm)
            return false;
    return av->domain->fabric->set.one_host && shm_of(av->domain);
}

/* Reports whether messages to a peer go through efa's shm, because both are on one host. */
bool shm_reaches(const struct ep *ep, const struct peer *peer)
{
    return ep->shm && peer->shm;
}

/* Ends the process where efa's fi_inject_write would crash (rule R24b): it finds the peer's address
 * in shm, but does not check that shm is still open. */
void shm_check_inject(const struct ep *ep, const struct peer *peer)
{
    if (peer != NULL && peer->shm && !ep->shm &&
        rule(&ep->domain->fabric->set, ep->domain->kind, R24b))
        die(R24b, "injected write to a peer of this host, whose shm fi_enable has closed");
}

/*
 * Does what the provider does with GPU memory when an operation is posted. Which operations the
 * real provider copies with CUDA depends on sizes and on the device. The stub calls CUDA in each of
 * them, unless rules of rules.tsv exclude it: R18a for efa once CUDA is not permitted, and R18d for
 * efa-direct. Over shm the real provider may crash: the stub ends the process (R24c).
 */
void gpu_posted(struct ep *ep, const struct peer *peer, void *const *desc)
{
    const struct settings *s = &ep->domain->fabric->set;
    const enum kind kind = ep->domain->kind;
    const struct region *r = desc != NULL ? desc[0] : NULL;
    if (r == NULL || !r->gpu)
        return;
    if (peer != NULL && shm_reaches(ep, peer) && rule(s, kind, R24c))
        die(R24c, "memory of a GPU for a peer of this host, by shm");
    if ((kind == KIND_EFA && (ep->cuda_permitted || without(s, kind, R18a))) ||
        without(s, kind, R18d))
        cuda_copy(s);
}
