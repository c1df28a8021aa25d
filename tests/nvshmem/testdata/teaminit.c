/* Teams of any PEs, made by a unique ID: in any order, several at once, by only the PEs of one. */
#include <nvshmem.h>
#include <nvshmemx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed, me, n;

static void check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "PE %d: %s\n", me, what);
        failed = 1;
    }
}

/* The data of a PE, on all of them. */
static uint64_t from_pe(int pe, uint64_t value)
{
    uint64_t *box = nvshmem_malloc(sizeof *box);
    *box = value;
    nvshmem_barrier_all();
    uint64_t got = nvshmem_uint64_g(box, pe);
    nvshmem_barrier_all();
    nvshmem_free(box);
    return got;
}

static nvshmem_team_t made(uint64_t id, int size, int rank)
{
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    nvshmem_team_t team = 4711;
    config.uniqueid = id;
    int rc = nvshmemx_team_init(&team, &config, NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, size, rank);
    check(rc == 0 && team >= NVSHMEM_TEAMS_MIN, "a team by an id");
    return team;
}

/* pes: of a team, by rank; this PE is among them. */
static void try(nvshmem_team_t team, const int *pes, int size)
{
    check(nvshmem_team_n_pes(team) == size, "how many are in it");
    for (int rank = 0; rank < size; rank++) {
        check(nvshmem_team_translate_pe(team, rank, NVSHMEM_TEAM_WORLD) == pes[rank],
              "the PE of a rank");
        check(nvshmem_team_translate_pe(NVSHMEM_TEAM_WORLD, pes[rank], team) == rank, "and back");
        check(pes[rank] != me || nvshmem_team_my_pe(team) == rank, "my number");
    }
    check(nvshmem_team_sync(team) == 0, "a sync");
}

/* The same with collectives, which need symmetric memory from before. */
static void collect(nvshmem_team_t team, const int *pes, int size, long *from, long *all)
{
    long sum = 0;
    for (int rank = 0; rank < size; rank++)
        sum += 100 + pes[rank];
    for (int round = 0; round < 20; round++) {
        *from = 100 + me;
        check(nvshmem_long_fcollect(team, all, from, 1) == 0, "fcollect");
        for (int rank = 0; rank < size; rank++)
            check(all[rank] == 100 + pes[rank], "what was collected");
        check(nvshmem_barrier(team) == 0, "a barrier");
        check(nvshmem_long_sum_reduce(team, all, from, 1) == 0 && all[0] == sum, "a sum");
        check(nvshmem_barrier(team) == 0, "another barrier");
    }
}

static void refusals(uint64_t id)
{
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    nvshmem_team_t team = 4711;
    long mask = NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID;
    check(nvshmemx_team_init(&team, &config, mask, 1, 0) == NVSHMEMX_ERROR_INVALID_VALUE &&
              team == NVSHMEM_TEAM_INVALID,
          "without an id");
    config.uniqueid = id;
    check(nvshmemx_team_init(&team, &config, 0, 1, 0) != 0, "without the mask");
    check(nvshmemx_team_init(&team, NULL, mask, 1, 0) != 0, "without a configuration");
    check(nvshmemx_team_init(&team, &config, mask, n + 1, 0) != 0, "too many PEs");
    check(nvshmemx_team_init(&team, &config, mask, 1, 1) != 0, "a number that is too large");
    check(nvshmemx_team_init(NULL, &config, mask, 1, 0) != 0, "nowhere to answer");
    check(nvshmemx_team_get_uniqueid(NULL) != 0, "nowhere for the id");
    config.version = (3 << 16) + (int)sizeof config;
    check(nvshmemx_team_init(&team, &config, mask, 1, 0) != 0, "a later version");
    config.version = 0x5a5a5a5a;
    check(nvshmemx_team_init(&team, &config, mask, 1, 0) == 0, "no version at all");
    nvshmem_team_destroy(team);
}

int main(int argc, char **argv)
{
    nvshmem_init();
    me = nvshmem_my_pe();
    n = nvshmem_n_pes();
    long *from = nvshmem_malloc(sizeof *from), *all = nvshmem_malloc((size_t)n * sizeof *all);
    int *pes = malloc((size_t)n * sizeof *pes);
    uint64_t id = 0;
    check(nvshmemx_team_get_uniqueid(&id) == 0, "an id");
    if (argc > 1 && strcmp(argv[1], "same") == 0) { /* two PEs have one number */
        nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
        nvshmem_team_t team = 4711;
        config.uniqueid = from_pe(0, id);
        check(nvshmemx_team_init(&team, &config, NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, n,
                                 me < 2 ? me : 1) == NVSHMEMX_ERROR_INVALID_VALUE &&
                  team == NVSHMEM_TEAM_INVALID,
              "one number twice");
        nvshmem_barrier_all();
        team = made(config.uniqueid, n, me); /* the same id, used as it should be */
        nvshmem_team_destroy(team);
        nvshmem_finalize();
        if (!failed)
            printf("PE %d passed\n", me);
        return failed;
    }
    if (argc > 1 && strcmp(argv[1], "refusals") == 0) {
        refusals(id);
        nvshmem_finalize();
        if (!failed)
            printf("PE %d passed\n", me);
        return failed;
    }

    /* All, backwards, by an id of the last PE. */
    for (int rank = 0; rank < n; rank++)
        pes[rank] = n - 1 - rank;
    uint64_t last = from_pe(n - 1, id);
    nvshmem_team_t team = made(last, n, n - 1 - me);
    try(team, pes, n);
    collect(team, pes, n, from, all);
    /* A split of it, and one more by the same id, in another order. */
    nvshmem_team_t half, again;
    check(nvshmem_team_split_strided(team, 0, 1, (n + 1) / 2, NULL, 0, &half) == 0, "a split");
    for (int rank = 0; rank < n; rank++)
        pes[rank] = (rank + 1) % n;
    again = made(last, n, (me + n - 1) % n);
    collect(again, pes, n, from, all);

    /* Each third, at once, by ids that PE 0 has made; of the first one it is a member. */
    uint64_t ids[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++) {
        if (me == 0)
            check(nvshmemx_team_get_uniqueid(&ids[i]) == 0, "ids");
        ids[i] = from_pe(0, ids[i]);
    }
    check(ids[0] != ids[1] && ids[1] != ids[2], "another id each time");
    for (int rounds = 0; rounds < 5; rounds++) {
        int size = 0, mine = -1;
        for (int pe = n - 1; pe >= 0; pe--) {
            if (pe % 3 != me % 3)
                continue;
            if (pe == me)
                mine = size;
            pes[size++] = pe;
        }
        nvshmem_team_t third = made(ids[me % 3], size, mine);
        try(third, pes, size);
        collect(third, pes, size, from, all);
        if (rounds % 2)
            nvshmem_team_destroy(third);
    }

    /* By its PEs alone: the others do not take part. */
    if (me < 2 && n > 1) {
        pes[0] = 1;
        pes[1] = 0;
        nvshmem_team_t two = made(last, 2, 1 - me);
        collect(two, pes, 2, from, all);
        nvshmem_team_destroy(two);
    }
    nvshmem_team_destroy(half);
    nvshmem_team_destroy(again);
    nvshmem_team_destroy(team);
    nvshmem_barrier_all();
    nvshmem_finalize();
    if (!failed)
        printf("PE %d passed\n", me);
    return failed;
}
