/*
 * efa.c: options of the provider efa, set before its endpoint is used. Without these options efa
 * would call CUDA in the midst of a transfer, and move bytes within a host by its own shared
 * memory, which for GPU memory may end in a crash. The functions do nothing for other providers.
 */
#include "endpoint.h"

#include <stdbool.h>
#include <string.h>

/* Options (FI_OPT_*) that are newer than the headers that this is built with. */
enum { CUDA_API_PERMITTED = 10, SHARED_MEMORY_PERMITTED = 11 };

/* An option of efa alone: the sixth after the first one, FI_OPT_EFA_RNR_RETRY. */
enum { WRITE_IN_ORDER_ALIGNED_128_BYTES = -(0xefa << 16) + 6 };

/* Reports whether an offer is of the provider efa. */
static int is_efa(const struct fi_info *info)
{
    return strcmp(info->fabric_attr->prov_name, "efa") == 0;
}

/*
 * Keeps efa from using its own shared memory for peers on this host. The opening of the domain
 * decides on that: the endpoint's option for it is too late, and with shared memory completion
 * queues have no descriptor (2.5 and later).
 */
void shmemi_ofi_before_domain(struct fi_info *info)
{
    if (is_efa(info))
        info->caps = (info->caps & ~FI_LOCAL_COMM) | FI_REMOTE_COMM;
}

/*
 * Sets options of efa before its endpoint is enabled, and keeps the results for Go. EOPNOTSUPP for
 * the first option means that the NIC does not reach the memory of GPUs, EINVAL that CUDA is not in
 * use, and ENOPROTOOPT for either that this version lacks the option. The option for blocks is
 * refused where the NIC does not write the bytes of each aligned 128 in order and exactly once.
 */
void shmemi_ofi_before_enable(struct shmemi_ofi *o)
{
    const bool permitted = false;
    if (!is_efa(o->info))
        return;
    o->cuda_option =
        fi_setopt(&o->ep->fid, FI_OPT_ENDPOINT, CUDA_API_PERMITTED, &permitted, sizeof permitted);
    o->shm_option = fi_setopt(&o->ep->fid, FI_OPT_ENDPOINT, SHARED_MEMORY_PERMITTED, &permitted,
                              sizeof permitted);
    const bool in_order = true;
    if (o->wants_blocks && fi_setopt(&o->ep->fid, FI_OPT_ENDPOINT, WRITE_IN_ORDER_ALIGNED_128_BYTES,
                                     &in_order, sizeof in_order) == 0)
        o->block = 128;
}

/* Opens an event queue if the provider is efa. efa reports errors that belong to no operation in
 * the event queue of the endpoint; for an endpoint without one it ends the process instead. */
int shmemi_ofi_open_events(struct shmemi_ofi *o)
{
    struct fi_eq_attr attr = {.size = 64, .wait_obj = FI_WAIT_NONE};
    if (!is_efa(o->info))
        return 0;
    o->failed = "fi_eq_open";
    int ret = fi_eq_open(o->fabric, &attr, &o->eq, NULL);
    if (ret != 0)
        return ret;
    o->failed = "fi_ep_bind of the event queue";
    return fi_ep_bind(o->ep, &o->eq->fid, 0);
}

/*
 * Reports whether the event queue has an error that poll has not reported. The queue has no
 * descriptor, and seldom an entry: it is read before a wait and after an error in the completion
 * queue (now), and after every SELDOM polls that found nothing.
 */
int shmemi_ofi_events(struct shmemi_ofi *o, int now)
{
    enum { SELDOM = 1024 };
    if (o->eq == NULL || (!now && !o->trouble && ++o->idle % SELDOM != 0))
        return 0;
    uint32_t event;
    struct fi_eq_entry entry;
    while (fi_eq_read(o->eq, &event, &entry, sizeof entry, 0) == -FI_EAVAIL) {
        struct fi_eq_err_entry e = {0};
        char words[96] = "";
        if (fi_eq_readerr(o->eq, &e, 0) <= 0)
            break;
        o->trouble = e.err > 0 ? e.err : FI_EOTHER;
        const char *text =
            fi_eq_strerror(o->eq, e.prov_errno, e.err_data, words, sizeof(words) - 1);
        shmemi_ofi_note_error(o, NO_TOKEN, o->trouble, text, e.prov_errno);
    }
    return o->trouble != 0;
}

/* If the event queue has an error, which belongs to no operation, makes c a completion that reports
 * it, and returns 1. Otherwise returns 0. */
int shmemi_ofi_trouble(struct shmemi_ofi *o, struct shmemi_completion *c)
{
    if (!shmemi_ofi_events(o, /* now */ 0))
        return 0;
    /* len is the number of the PE that the provider has given up; UINT32_MAX: it names none. */
    *c = (struct shmemi_completion){
        .token = NO_TOKEN, .kind = SHMEMI_COMPLETION_TROUBLE, .len = UINT32_MAX, .err = o->trouble};
    o->trouble = 0;
    return 1;
}

/*
 * Returns the error to report for an operation. EINVAL would mean that the operation itself is at
 * fault, and so would fail by another NIC as well. With these prov_errno of efa a NIC is at
 * fault: this NIC or the peer's has lost its state of queue pairs, addresses or keys. The error is
 * then EIO.
 */
int shmemi_ofi_blame(const struct shmemi_ofi *o, int err, int prov_errno)
{
    enum { QP_INTERNAL_ERROR = 2, INVALID_AH = 4, BAD_ADDRESS = 7 };
    const int sick =
        prov_errno == QP_INTERNAL_ERROR || prov_errno == INVALID_AH || prov_errno == BAD_ADDRESS;
    return is_efa(o->info) && err == FI_EINVAL && sick ? FI_EIO : err;
}
