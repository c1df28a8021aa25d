/* Semantics 1: each PE passes the triple of its own team, and one call makes several teams. */
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
    int *in = nvshmem_malloc(sizeof *in), *out = nvshmem_malloc(2 * sizeof *out);

    /* Halves, each known only to its own PEs. */
    int half = n / 2, first = me < half ? 0 : half;
    nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
    check(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, first, 1, half, NULL, 0, &team) == 0,
          "halves");
    check(nvshmem_team_n_pes(team) == half && nvshmem_team_my_pe(team) == me - first, "my half");
    for (int i = 0; i < half; i++)
        check(nvshmem_team_translate_pe(team, i, NVSHMEM_TEAM_WORLD) == first + i,
              "the members of my half");
    *in = me;
    check(nvshmem_int_fcollect(team, out, in, 1) == 0, "a collective of my half");
    check(out[0] == first && out[half - 1] == first + half - 1, "what my half has collected");

    /* Teams of the teams: each PE by itself. */
    nvshmem_team_t alone = NVSHMEM_TEAM_INVALID;
    check(nvshmem_team_split_strided(team, me - first, 1, 1, NULL, 0, &alone) == 0, "teams of one");
    check(nvshmem_team_n_pes(alone) == 1, "a team of one");
    nvshmem_team_destroy(alone);
    nvshmem_team_destroy(team);

    /* Only odd PEs make a team; the others have no usable numbers, but still take part. */
    nvshmem_team_t odd = NVSHMEM_TEAM_WORLD;
    int rc =
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, me % 2 ? 1 : -1, 2, half, NULL, 0, &odd);
    check((rc == 0) == (me % 2) && (odd != NVSHMEM_TEAM_INVALID) == (me % 2), "odd PEs");
    if (me % 2)
        check(nvshmem_team_my_pe(odd) == me / 2, "my number among the odd");
    if (odd != NVSHMEM_TEAM_INVALID)
        nvshmem_team_destroy(odd);

    /* The triple of a team without me. */
    nvshmem_team_t other = NVSHMEM_TEAM_WORLD;
    check(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &other) == 0,
          "the first alone");
    check((other != NVSHMEM_TEAM_INVALID) == (me == 0), "only the first PE is in it");
    if (other != NVSHMEM_TEAM_INVALID)
        nvshmem_team_destroy(other);
    nvshmem_finalize();
    if (!failed)
        printf("PE %d passed\n", me);
    return failed;
}
