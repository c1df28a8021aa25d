/* teams.c: teams, their contexts and collectives. Open MPI 5 declares them and implements none
 * (5.0.7), so that libshmem's results are compared with the expected ones. */
#include "program.h"

static long in[8], out[32], sum;
static long data[8];
static int bits_in, bits_out;
static long sync_words[SHMEM_BARRIER_SYNC_SIZE];

static void show(const char *name, shmem_team_t team)
{
    int rank = shmem_team_my_pe(team), size = shmem_team_n_pes(team);
    say("%s: %d of %d, in the world %d", name, rank, size,
        rank < 0 ? -1 : shmem_team_translate_pe(team, 0, SHMEM_TEAM_WORLD));
}

int main(void)
{
    begin();
    int right = (me + 1) % n;
    for (int i = 0; i < 8; i++)
        in[i] = 100 * me + i;
    say("handles: world %d shared %d, alike %d", SHMEM_TEAM_WORLD != SHMEM_TEAM_INVALID,
        SHMEM_TEAM_SHARED != SHMEM_TEAM_INVALID, SHMEM_TEAM_WORLD == SHMEM_TEAM_SHARED);
    show("world", SHMEM_TEAM_WORLD);
    shmem_team_t even = SHMEM_TEAM_INVALID, none = SHMEM_TEAM_WORLD;
    shmem_team_config_t config = {.num_contexts = 1};
    int rc = shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, &config,
                                      SHMEM_TEAM_NUM_CONTEXTS, &even);
    say("split: %d, member %d", rc == 0 || me % 2, even != SHMEM_TEAM_INVALID);
    say("nobody: %d", shmem_team_my_pe(SHMEM_TEAM_INVALID));
    (void)none;
    if (even != SHMEM_TEAM_INVALID) {
        show("even", even);
        shmem_long_sum_reduce(even, &sum, in, 1);
        say("sum %ld", sum);
        shmem_team_sync(even);
        shmem_long_fcollect(even, out, in, 2);
        say("fcollect %ld %ld", out[0], out[2 * shmem_team_n_pes(even) - 1]);
        shmem_team_sync(even);
        shmem_long_broadcast(even, out, in + 4, 2, 1 % shmem_team_n_pes(even));
        say("broadcast %ld", out[0]);
        shmem_team_sync(even);
        bits_in = 1 << me;
        shmem_int_or_reduce(even, &bits_out, &bits_in, 1);
        say("or %#x", bits_out);
        shmem_ctx_t ctx;
        rc = shmem_team_create_ctx(even, SHMEM_CTX_SERIALIZED, &ctx);
        int size = shmem_team_n_pes(even), rank = shmem_team_my_pe(even);
        if (rc == 0) {
            shmem_ctx_long_p(ctx, &data[7], 70 + me, (rank + 1) % size);
            shmem_ctx_quiet(ctx);
            shmem_ctx_destroy(ctx);
        }
        shmem_team_sync(even);
        say("context of the team: %d, %ld", rc, data[7]);
        shmem_team_destroy(even);
    }
    shmem_barrier_all();
    sync_words[0] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    if (me < n - 1)
        shmem_sync_deprecated(0, 0, n - 1, sync_words);
    void *hinted = shmem_malloc_with_hints(64, SHMEM_MALLOC_SIGNAL_REMOTE);
    say("hints %d", hinted != NULL);
    shmem_free(hinted);
    shmem_finalize();
    return 0;
}
