/*
 * domain.c: one NIC as a program has opened it.
 */
#define _GNU_SOURCE
#include "cuda.h"
#include "stub.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

/* Implements fi_close for a domain; it fails while endpoints, queues, vectors or regions use the
 * domain. */
static int domain_close(struct fid *fid)
{
    struct domain *d = (struct domain *)fid;
    pthread_mutex_lock(&d->lock);
    int users = d->users;
    pthread_mutex_unlock(&d->lock);
    if (users > 0)
        return -FI_EBUSY;
    nic_remove(d);
    fi_freeinfo(d->info);
    pthread_mutex_destroy(&d->lock);
    free(d);
    return 0;
}

/* Implements fi_domain_bind, which no provider of this stub has. */
static int domain_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
    (void)fid, (void)other, (void)flags;
    return -FI_ENOSYS;
}

static struct fi_ops fid_ops = {.size = sizeof fid_ops, .close = domain_close, .bind = domain_bind};
static struct fi_ops_domain ops = {
    .size = sizeof ops, .av_open = av_open, .cq_open = cq_open, .endpoint = ep_open};

/* Implements fi_domain. By rules of rules.tsv efa-direct needs FI_MR_LOCAL (G3d), efa up to 2.4
 * ends the process if the environment switches shm off (R24a), and efa up to 1.22 allocates memory
 * of the GPU (R22a). */
int domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
                void *context)
{
    struct domain *d = calloc(1, sizeof *d);
    const char *shm = getenv("FI_EFA_ENABLE_SHM_TRANSFER");
    if (d == NULL)
        return -FI_ENOMEM;
    d->fabric = (struct fabric *)fabric;
    d->kind = kind_of(&d->fabric->set, info->fabric_attr->name);
    if (!(info->domain_attr->mr_mode & FI_MR_LOCAL) && rule(&d->fabric->set, d->kind, G3d)) {
        free(d);
        return -FI_ENODATA;
    }
    d->info = fi_dupinfo(info);
    d->api = info->fabric_attr->api_version;
    d->nic = info->nic != NULL ? info->nic->bus_attr->attr.pci.bus_id : 0;
    if (shm != NULL && *shm == '0' && rule(&d->fabric->set, d->kind, R24a))
        die(R24a, "FI_EFA_ENABLE_SHM_TRANSFER=0");
    pthread_mutex_init(&d->lock, NULL);
    d->fid.fid = (struct fid){.fclass = FI_CLASS_DOMAIN, .context = context, .ops = &fid_ops};
    d->fid.ops = &ops;
    d->fid.mr = &mr_ops;
    /* Peers write this process's memory, which Yama may allow to parents only. */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    if (rule(&d->fabric->set, d->kind, R22a))
        cuda_touch(&d->fabric->set);
    nic_fork_guard(d);
    nic_add(d);
    *domain = &d->fid;
    return 0;
}
