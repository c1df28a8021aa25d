/*
 * teams.c: four PEs in teams, and contexts of one: what numbers a trace has for them. Two teams of
 * the same members, and an active set of them, are three things.
 */
#define SHMEM_ALLOW_DEPRECATED
#include <shmem.h>
#include <stdio.h>

static long word, sync_words[SHMEM_BARRIER_SYNC_SIZE];

/* Both halves, in both of which each PE calls; team is the PE's own. */
static void split(int me, shmem_team_t *team)
{
    shmem_team_t other;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, 2, NULL, 0, me % 2 == 0 ? team : &other);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, 2, NULL, 0, me % 2 == 1 ? team : &other);
}

int main(void)
{
    shmem_team_t odd_or_even, again;
    shmem_ctx_t ctx;
    shmem_init();
    int me = shmem_my_pe();
    split(me, &odd_or_even);
    split(me, &again);
    shmem_team_sync(SHMEM_TEAM_WORLD);
    shmem_team_sync(odd_or_even);
    shmem_team_sync(again);
    shmem_barrier(me % 2, 1, 2, sync_words);
    shmem_barrier_all();
    /* PE 1 of the team is PE 2 or 3 of the job. */
    if (shmem_team_create_ctx(odd_or_even, 0, &ctx) == 0) {
        shmem_ctx_long_p(ctx, &word, 7, 1);
        shmem_ctx_quiet(ctx);
        shmem_ctx_destroy(ctx);
    }
    shmem_team_destroy(again);
    shmem_team_destroy(odd_or_even);
    shmem_finalize();
    return 0;
}
