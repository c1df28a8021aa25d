/* slow.c: a plugin that keeps no limit: it waits for the file that SLOW_GO names. */
#include "../../../../include/shmemx_bootstrap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int shmemx_bootstrap_rank(void)
{
    return 0;
}

int shmemx_bootstrap_size(void)
{
    return 2;
}

int shmemx_bootstrap_allgather(const void *mine, void *all, size_t nbytes, int timeout_ms)
{
    (void)timeout_ms;
    while (access(getenv("SLOW_GO"), F_OK) != 0)
        usleep(1000);
    memcpy(all, mine, nbytes);
    memcpy((char *)all + nbytes, mine, nbytes);
    return 0;
}

int shmemx_bootstrap_barrier(int timeout_ms)
{
    (void)timeout_ms;
    return 0;
}

void shmemx_bootstrap_abort(int status, const char *reason)
{
    (void)status, (void)reason;
}
