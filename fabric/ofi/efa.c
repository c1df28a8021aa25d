/*
 * efa.c: what the provider efa is told before its endpoint is used, and would do otherwise:
 * call CUDA in the midst of a transfer, and move bytes within a host by its own shared memory,
 * which of GPUs may end in a crash. It knows no other provider.
 */
#include "endpoint.h"

#include <stdbool.h>
#include <string.h>

/* Later than the headers that this is built with. */
enum { CUDA_API_PERMITTED = 10, SHARED_MEMORY_PERMITTED = 11 };

static int is_efa(const struct fi_info *info)
{
    return strcmp(info->fabric_attr->prov_name, "efa") == 0;
}

/*
 * Shared memory is decided on when the domain is opened: by then the option for it, which is the
 * endpoint's, comes too late, and completion queues have no descriptor beside it (2.5 and later).
 */
void shmemi_ofi_before_domain(struct fi_info *info)
{
    if (is_efa(info))
        info->caps = (info->caps & ~FI_LOCAL_COMM) | FI_REMOTE_COMM;
}

/*
 * Of the first option EOPNOTSUPP says that the NIC does not reach the memory of GPUs, EINVAL that
 * CUDA is not in use, and of both ENOPROTOOPT that this version has none.
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
}
