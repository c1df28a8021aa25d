/*
 * chosen.c: programs that choose their GPU after init, for example by the PE's number.
 */
#include "archive.h"
#include "archive_memory.h"
#include "below.h"
#include "error.h"
#include "exchange.h"
#include "lifecycle.h"
#include "team_ids.h"
#include "team.h"

#include <stdlib.h>

/* The number of the last job (shmemi_join_count) in which the GPU of each PE was fixed. */
static uint32_t settled;

/* Reports whether the library chose this PE's GPU, and the program may still choose another. */
bool shmemi_gpu_pending(void)
{
    const struct shmemi_state *s = &shmemi_state;
    return s->gpu && settled != shmemi_join_count() && !s->core->gpu_chosen();
}

/* Leaves the job and joins it again, so that the heap is on the GPU that the thread uses now. The
 * count of inits is 1 meanwhile, so that the finalize ends the job, and is restored: the program
 * does not notice. */
static void join_again(const char *call)
{
    struct shmemi_state *s = &shmemi_state;
    int count = s->init_count, level = s->thread_level;
    bool archive = shmemi_archive_wanted();
    s->init_count = 1;
    shmemi_finalize(call);
    if (shmemi_init_thread(level, &level, call) != 0)
        exit(EXIT_FAILURE);       /* init has printed the error */
    shmemi_archive_keep(archive); /* which finalize has reset */
    s->init_count = count;
}

/* Fixes the GPU of each PE, once in a job; all PEs call it together. Makes all PEs leave the job
 * and join it again if a thread of any PE has changed its GPU since init. Ends the program if it
 * has teams, or has named its job itself: a new job would lose them. Then serves device code of
 * NVIDIA's archive, which needs the GPU to be fixed. */
void shmemi_settle_gpu(const char *call)
{
    static const struct shmemi_reducer least = {shmemi_min_i64, sizeof(int64_t)};
    const struct shmemi_state *s = &shmemi_state;
    if (s->n_pes == 0)
        shmemi_refuse_uninitialised(call);
    if (settled == shmemi_join_count())
        return;
    bool moved = s->gpu && s->core->gpu_moved();
    int64_t mine = moved ? -1 : 0, all; /* all: below 0 if a thread of any PE has changed its GPU */
    shmemi_exchange(&shmemi_world, &all, &mine, 1, &least, call);
    if (all < 0) {
        if (moved && shmemi_teams_made())
            shmemi_abort(call, "call cudaSetDevice before the first call that makes a team",
                         "this thread chose another GPU than init, and the heap cannot follow it "
                         "once the program has made teams");
        if (moved && shmemi_joined_by_program())
            shmemi_abort(call, "call cudaSetDevice before shmemx_init_attr",
                         "this thread chose another GPU than shmemx_init_attr, and the heap cannot "
                         "follow it in a job that was joined by that call");
        join_again(call);
    }
    settled = shmemi_join_count();
    shmemi_archive_settled(call);
}

/* Called by all PEs at the end of the first init. possible: this process may load code of NVIDIA's
 * device archive. If that is so on any PE, the job serves such code. If then all programs have
 * chosen their GPUs, init fixes the GPUs before it returns: kernels of the archive find the job's
 * state only afterwards, and may run right after init. */
void shmemi_archive_begin(bool possible, const char *call)
{
    static const struct shmemi_reducer least = {shmemi_min_i64, sizeof(int64_t)};
    /* The minimum of all PEs. [0]: below 0 if some PE may load such code. [1]: above 0 if no PE's
     * GPU is pending. */
    int64_t mine[2] = {possible ? -1 : 0, shmemi_gpu_pending() ? 0 : 1}, all[2];
    shmemi_archive_clear();
    shmemi_exchange(&shmemi_world, all, mine, 2, &least, call);
    shmemi_archive_keep(all[0] < 0);
    if (all[0] < 0 && all[1] > 0)
        shmemi_settle_gpu(call);
}
