/*
 * sync.c: barriers and syncs.
 */
#include "sync.h"

#include "barrier.h"
#include "below.h"
#include "error.h"
#include "failure.h"
#include "front.h"
#include "collective_arguments.h"
#include "team_ids.h"
#include "team.h"

/* Under full checks, ends the job if the members of the team have made different calls. A sync has
 * no arrays, and no further argument to compare. */
static void compare_calls(struct shmemi_team *t, const char *call)
{
    if (SHMEMI_LIKELY(shmemi_state.checks != SHMEMI_CHECKS_FULL) ||
        !shmemi_collective_begin(t, call))
        return;
    shmemi_coll_check_arguments(t, NULL, NULL, 0, /* what */ "", /* other */ 0, call);
    shmemi_collective_end();
}

/* Implements shmem_sync_all: returns when all PEs have called it. It completes no operations. */
void shmemi_sync_all(const char *call)
{
    if (SHMEMI_UNLIKELY(shmemi_state.n_pes == 0))
        shmemi_refuse_uninitialised(call);
    compare_calls(&shmemi_world, call);
    shmemi_sync_world(call);
}

/* Implements shmem_team_sync: 0, or non-zero if the team is invalid or a PE is lost. */
int shmemi_team_sync(shmem_team_t team, const char *call)
{
    struct shmemi_team *t = shmemi_team_of(team, call);
    if (t == NULL || !shmemi_collective_begin(t, call))
        return -1;
    shmemi_coll_check_arguments(t, NULL, NULL, 0, /* what */ "", /* other */ 0, call);
    shmemi_sync_members(t, call);
    return shmemi_collective_end() ? 0 : -1;
}

/* Implements shmem_barrier_all: completes this PE's operations on the default context, and then
 * syncs all PEs. */
void shmemi_barrier_all(const char *call)
{
    shmemi_quiet(SHMEM_CTX_DEFAULT, call);
    shmemi_sync_all(call);
}

/* Completes this PE's operations on the default context, and then syncs a team. Returns what
 * shmemi_team_sync returns. */
int shmemi_team_barrier(shmem_team_t team, const char *call)
{
    shmemi_quiet(SHMEM_CTX_DEFAULT, call);
    return shmemi_team_sync(team, call);
}
