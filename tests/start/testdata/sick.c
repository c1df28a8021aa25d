/*
 * sick.c: the example plugin, one of whose functions fails: SICK is its name, without
 * shmemx_bootstrap_, and SICK_AFTER the number of calls that succeed before. abort fails by
 * returning.
 */
#define shmemx_bootstrap_rank well_rank
#define shmemx_bootstrap_size well_size
#define shmemx_bootstrap_allgather well_allgather
#define shmemx_bootstrap_barrier well_barrier
#define shmemx_bootstrap_abort well_abort
#include "../../../examples/plugins/bootstrap/plugin.c"
#undef shmemx_bootstrap_rank
#undef shmemx_bootstrap_size
#undef shmemx_bootstrap_allgather
#undef shmemx_bootstrap_barrier
#undef shmemx_bootstrap_abort

int shmemx_bootstrap_rank(void);
int shmemx_bootstrap_size(void);
int shmemx_bootstrap_allgather(const void *mine, void *all, size_t nbytes, int timeout_ms);
int shmemx_bootstrap_barrier(int timeout_ms);
void shmemx_bootstrap_abort(int status, const char *reason);

static int sick(const char *name)
{
    static int calls;
    const char *which = getenv("SICK");
    const char *after = getenv("SICK_AFTER");
    return which != NULL && strcmp(which, name) == 0 && calls++ >= (after ? atoi(after) : 0);
}

int shmemx_bootstrap_rank(void)
{
    return sick("rank") ? -3 : well_rank();
}

int shmemx_bootstrap_size(void)
{
    return sick("size") ? 0 : well_size();
}

int shmemx_bootstrap_allgather(const void *mine, void *all, size_t nbytes, int timeout_ms)
{
    return sick("allgather") ? -7 : well_allgather(mine, all, nbytes, timeout_ms);
}

int shmemx_bootstrap_barrier(int timeout_ms)
{
    return sick("barrier") ? -8 : well_barrier(timeout_ms);
}

void shmemx_bootstrap_abort(int status, const char *reason)
{
    fprintf(stderr, "plugin: abort %d: %s\n", status, reason);
    if (!sick("abort"))
        well_abort(status, reason);
}
