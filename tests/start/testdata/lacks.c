/* lacks.c: an incomplete plugin. */
#include <shmemx_bootstrap.h>

int shmemx_bootstrap_rank(void)
{
    return 0;
}

int shmemx_bootstrap_size(void)
{
    return 1;
}

int shmemx_bootstrap_allgather(const void *mine, void *all, size_t nbytes, int timeout_ms)
{
    (void)mine, (void)all, (void)nbytes;
    return timeout_ms < 0;
}
