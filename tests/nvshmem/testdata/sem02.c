/* Semantics 2: the predefined teams, and their uses. */
#include <nvshmem.h>

#include <stdio.h>

static int failed;

static void check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "PE %d: %s\n", nvshmem_my_pe(), what);
        failed = 1;
    }
}

int main(void)
{
    nvshmem_init();
    int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    nvshmem_team_t node = NVSHMEMX_TEAM_NODE, lane = NVSHMEMX_TEAM_SAME_MYPE_NODE;
    int mine = nvshmem_team_my_pe(node);
    check(mine >= 0 && mine == nvshmem_team_my_pe(NVSHMEM_TEAM_SHARED), "my number on the node");
    check(nvshmem_team_n_pes(node) == nvshmem_team_n_pes(NVSHMEM_TEAM_SHARED),
          "the PEs of the node");

    /* Places: each PE publishes its number on its node, and the number of PEs there. */
    long *from = nvshmem_malloc(2 * sizeof *from),
         *all = nvshmem_malloc(2 * (size_t)n * sizeof *all);
    from[0] = mine;
    from[1] = nvshmem_team_n_pes(node);
    check(nvshmem_long_fcollect(NVSHMEM_TEAM_WORLD, all, from, 2) == 0, "to tell the others");
    int same = 0;
    for (int pe = 0; pe < n; pe++) {
        if (all[2 * pe] != mine)
            continue;
        check(nvshmem_team_translate_pe(lane, same, NVSHMEM_TEAM_WORLD) == pe,
              "the PE with my number");
        if (pe == me)
            check(nvshmem_team_my_pe(lane) == same, "my number among them");
        same++;
    }
    check(nvshmem_team_n_pes(lane) == same, "how many have my number");

    /* Collectives on both, at once with those of the world. */
    for (int round = 0; round < 20; round++) {
        from[0] = me;
        check(nvshmem_long_sum_reduce(lane, all, from, 1) == 0, "a sum of a lane");
        long sum = 0;
        for (int i = 0; i < same; i++)
            sum += nvshmem_team_translate_pe(lane, i, NVSHMEM_TEAM_WORLD);
        check(all[0] == sum, "the sum of a lane");
        from[0] = mine + 1;
        check(nvshmem_long_max_reduce(node, all, from, 1) == 0 && all[0] == from[1], "a node");
        check(nvshmem_barrier(node) == 0 && nvshmem_barrier(lane) == 0, "barriers");
    }

    /* A split of a predefined team; its handle differs from theirs. */
    nvshmem_team_t part;
    check(nvshmem_team_split_strided(node, mine, 1, 1, NULL, 0, &part) == 0, "a split");
    check(part >= NVSHMEM_TEAMS_MIN, "a handle of its own");
    nvshmem_team_destroy(part);
    nvshmem_finalize();

    nvshmem_init();
    check(nvshmem_team_my_pe(node) == mine, "the same after another init");
    nvshmem_finalize();
    if (!failed)
        printf("PE %d passed\n", me);
    return failed;
}
