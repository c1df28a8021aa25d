/*
 * check_team.h: teams for the tests, and the contributions of their PEs.
 */
#ifndef CHECK_TEAM_H
#define CHECK_TEAM_H

#include "check.h"

/* Any symmetric word; set by the program. */
static uint64_t *check_word;

/* The i-th element of a PE of the world in a round. */
static inline uint64_t element(int pe, size_t i, uint64_t round)
{
    return check_mix((uint64_t)pe << 40 ^ round << 24 ^ i);
}

static inline void fill(uint64_t *at, size_t n, uint64_t round)
{
    for (size_t i = 0; i < n; i++)
        at[i] = element(check.me, i, round);
}

static inline int world_pe(shmem_team_t team, int pe)
{
    return shmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD);
}

/* Do all functions of the team report the PEs start, start + stride, ...? */
static inline void check_members(shmem_team_t team, int start, int stride, int size,
                                 const char *what)
{
    int at = stride == 0 ? 0 : (check.me - start) / stride;
    bool in = at >= 0 && at < size && start + at * stride == check.me;
    if (!in) {
        CHECK(team == SHMEM_TEAM_INVALID, "%s: not a member, and has handle %d", what, (int)team);
        CHECK(shmem_team_my_pe(team) == -1 && shmem_team_n_pes(team) == -1, "%s: -1 expected",
              what);
        return;
    }
    CHECK(shmem_team_my_pe(team) == at, "%s: number %d, should be %d", what, shmem_team_my_pe(team),
          at);
    CHECK(shmem_team_n_pes(team) == size, "%s: %d PEs, should be %d", what, shmem_team_n_pes(team),
          size);
    for (int pe = -1; pe <= size; pe++) {
        int want = pe < 0 || pe >= size ? -1 : start + pe * stride;
        CHECK(world_pe(team, pe) == want, "%s: %d is PE %d, should be %d", what, pe,
              world_pe(team, pe), want);
        int back = shmem_team_translate_pe(SHMEM_TEAM_WORLD, want, team);
        CHECK(want < 0 || back == pe, "%s: PE %d is %d, should be %d", what, want, back, pe);
        CHECK(shmem_team_ptr(team, check_word, pe) ==
                  (want < 0 ? NULL : shmem_ptr(check_word, want)),
              "%s: pointer to %d", what, pe);
    }
    for (int pe = 0; pe < check.n; pe++) {
        int r = stride == 0 ? (pe == start ? 0 : -1) : (pe - start) / stride;
        bool member = r >= 0 && r < size && start + r * stride == pe;
        int got = shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, team);
        CHECK(got == (member ? r : -1), "%s: PE %d is %d, should be %d", what, pe, got,
              member ? r : -1);
    }
}

static inline shmem_team_t strided(shmem_team_t parent, int start, int stride, int size)
{
    shmem_team_t team = 4711;
    int rc = shmem_team_split_strided(parent, start, stride, size, NULL, 0, &team);
    CHECK(rc == 0, "%d PEs from %d by %d: returned %d", size, start, stride, rc);
    return team;
}

enum { KINDS = 6 };

/* Teams that overlap; each PE is in several of them, and the last are disjoint. */
static inline void make_teams(shmem_team_t *out)
{
    int n = check.n;
    out[0] = strided(SHMEM_TEAM_WORLD, n - 1, -1, n);
    out[1] = strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2);
    out[2] = strided(SHMEM_TEAM_WORLD, n / 3, 1, n - n / 3);
    out[3] = strided(SHMEM_TEAM_WORLD, 0, 1, n > 1 ? n - 1 : 1);
    shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &out[4], NULL, 0, &out[5]);
}

#endif
