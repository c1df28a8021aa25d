/*
 * group.c: opens the core for libshmem_rma.so, the plugin of NCCL, which needs no job. A group is
 * the set of processes of one NCCL communicator.
 */
#include "lifecycle.h"
#include "rma.h"

#pragma GCC visibility push(default)
const struct shmemi_rma *shmemi_rma_core(char *error, size_t size);
#pragma GCC visibility pop

/* Returns the core's functions for groups. NULL: error has the reason. */
const struct shmemi_rma *shmemi_rma_core(char *error, size_t size)
{
    const struct shmemi_core *core = shmemi_load_core(error, size);
    return core == NULL ? NULL : core->rma;
}
