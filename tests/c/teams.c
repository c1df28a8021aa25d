/*
 * teams.c: the members of teams, and every collective on teams that overlap, are made and
 * destroyed, and are used one after the other without a barrier.
 */
#include "check_team.h"

#include <shmemx.h>

#include <pthread.h>
#include <sched.h>

enum {
    PREDEFINED,
    STRIDED,
    INVALID,
    TWO_D,
    CONFIG,
    MOVES,
    SUMS,
    SYNC,
    AHEAD,
    MANY,
    REUSE,
    THREADED
};
enum { TESTS = THREADED + 1, SOME = 300, LONG = 20000, ROUNDS = 20 };

static uint64_t *source, *dest; /* n * LONG each */
static uint64_t *phase;

static void test_predefined(void)
{
    check_start(PREDEFINED, "predefined teams");
    check_members(SHMEM_TEAM_WORLD, 0, 1, check.n, "world");
    int near = 0;
    for (int pe = 0; pe < check.n; pe++) {
        bool here = shmem_ptr(source, pe) != NULL;
        int at = shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED);
        CHECK(at == (here ? near : -1), "shared: PE %d is %d", pe, at);
        near += here;
    }
    CHECK(shmem_team_n_pes(SHMEM_TEAM_SHARED) == near, "shared: %d PEs, should be %d",
          shmem_team_n_pes(SHMEM_TEAM_SHARED), near);
    CHECK(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD) == -1 &&
              shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_INVALID) == -1 &&
              shmem_team_ptr(SHMEM_TEAM_INVALID, source, 0) == NULL &&
              shmem_team_sync(SHMEM_TEAM_INVALID) != 0,
          "the invalid team is a team");
    shmem_team_destroy(SHMEM_TEAM_INVALID);
}

static void test_strided(void)
{
    check_start(STRIDED, "shmem_team_split_strided");
    int n = check.n;
    for (int start = 0; start < n; start++)
        for (int stride = -3; stride <= 3; stride++) {
            int most = stride > 0   ? (n - 1 - start) / stride + 1
                       : stride < 0 ? start / -stride + 1
                                    : 1;
            for (int size = 1; size <= most; size += size == 1 && most > 2 ? most - 2 : 1) {
                shmem_team_t team = strided(SHMEM_TEAM_WORLD, start, stride, size);
                check_members(team, start, stride, size, "of the world");
                shmem_team_destroy(team);
            }
        }
    /* A team of a team of a team, the last one in reverse order. */
    shmem_team_t a = strided(SHMEM_TEAM_WORLD, n - 1, -1, n), b = SHMEM_TEAM_INVALID;
    shmem_team_t c = SHMEM_TEAM_INVALID;
    int size_b = (n + 1) / 2;
    b = strided(a, 0, 2, size_b);
    check_members(b, n - 1, -2, size_b, "of a team");
    if (b != SHMEM_TEAM_INVALID) {
        c = strided(b, size_b - 1, -1, size_b);
        check_members(c, n - 1 - 2 * (size_b - 1), 2, size_b, "of a team of a team");
    }
    shmem_team_destroy(a); /* parents first */
    shmem_team_destroy(b);
    check_members(c, n - 1 - 2 * (size_b - 1), 2, size_b, "without its parents");
    if (c != SHMEM_TEAM_INVALID)
        shmem_team_sync(c);
    shmem_team_destroy(c);
}

static void test_invalid(void)
{
    check_start(INVALID, "splits that cannot be");
    const struct {
        int start, stride, size;
    } bad[] = {{0, 1, 0},        {0, 1, -1},        {-1, 1, 1},         {check.n, 1, 1},
               {0, 1, 1 << 30},  {0, 1 << 30, 5},   {0, 0, 2},          {0, -1, 2},
               {1, -1, 1 << 20}, {0, INT32_MIN, 2}, {check.n - 1, 1, 2}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        shmem_team_t team = 4711;
        int rc = shmem_team_split_strided(SHMEM_TEAM_WORLD, bad[i].start, bad[i].stride,
                                          bad[i].size, NULL, 0, &team);
        CHECK(rc != 0 && team == SHMEM_TEAM_INVALID, "%d PEs from %d by %d: returned %d, team %d",
              bad[i].size, bad[i].start, bad[i].stride, rc, (int)team);
    }
    shmem_team_t x = 1, y = 1;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &x) != 0, "of none");
    CHECK(x == SHMEM_TEAM_INVALID, "of none: team %d", (int)x);
    CHECK(shmem_team_split_2d(SHMEM_TEAM_INVALID, 1, NULL, 0, &x, NULL, 0, &y) != 0, "of none");
    CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, 0, NULL, 0, &x, NULL, 0, &y) != 0, "rows of 0");
    CHECK(x == SHMEM_TEAM_INVALID && y == SHMEM_TEAM_INVALID, "teams %d and %d", (int)x, (int)y);
}

static void test_2d(void)
{
    check_start(TWO_D, "shmem_team_split_2d");
    for (int wide = 1; wide <= check.n + 1; wide++) {
        shmem_team_t x, y;
        int rc = shmem_team_split_2d(SHMEM_TEAM_WORLD, wide, NULL, 0, &x, NULL, 0, &y);
        CHECK(rc == 0, "rows of %d: returned %d", wide, rc);
        int width = wide < check.n ? wide : check.n;
        int column = check.me % width, row = check.me / width * width;
        check_members(x, row, 1, check.n - row < width ? check.n - row : width, "row");
        check_members(y, column, width, (check.n - column + width - 1) / width, "column");
        shmem_team_sync(y);
        shmem_team_sync(x);
        shmem_team_destroy(x);
        shmem_team_destroy(y);
    }
}

static void test_config(void)
{
    check_start(CONFIG, "shmem_team_get_config");
    shmem_team_config_t config = {.num_contexts = 7}, got = {.num_contexts = 99};
    shmem_team_t a, b;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, check.n, &config, SHMEM_TEAM_NUM_CONTEXTS, &a);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, check.n, &config, 0, &b);
    CHECK(shmem_team_get_config(a, 0, &got) == 0 && got.num_contexts == 99, "asked for nothing");
    CHECK(shmem_team_get_config(a, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0 && got.num_contexts == 7,
          "%d contexts, should be 7", got.num_contexts);
    CHECK(shmem_team_get_config(b, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0 && got.num_contexts == 0,
          "%d contexts, should be 0", got.num_contexts);
    CHECK(shmem_team_get_config(SHMEM_TEAM_INVALID, 0, &got) != 0, "of none");
    shmem_team_destroy(a);
    shmem_team_destroy(b);
}

/* Compares n elements of dest with those of a member from the first-th on. */
static void compare(const uint64_t *at, int pe, size_t first, size_t n, uint64_t round,
                    const char *what)
{
    for (size_t i = 0; i < n; i++)
        if (at[i] != element(pe, first + i, round)) {
            check_fail("%s: element %zu of PE %d is 0x%jx, should be 0x%jx", what, i, pe,
                       (uintmax_t)at[i], (uintmax_t)element(pe, first + i, round));
            return;
        }
}

/* The number of a member's elements in collect. */
static size_t share(int pe, size_t n)
{
    return pe % 3 == 1 ? 0 : n < 5 ? n : n - (size_t)pe % 5;
}

/* dest has the result of collect, `all` elements; once one member has too little room for them,
 * and once all have room. */
static void collect_room(shmem_team_t team, size_t n, uint64_t round, size_t all)
{
    int pes = shmem_team_n_pes(team), me = shmem_team_my_pe(team), last = pes - 1;
    size_t given = share(me, n) * sizeof *dest, bytes = all * sizeof *dest, needed = 0, least = 0;
    uint64_t *behind = dest + all, kept = *behind;
    if (bytes > 0) {
        memset(dest, 0xFF, bytes);
        shmem_team_sync(team);
        size_t room = me == last ? bytes - 1 : bytes + sizeof *dest;
        int rc = shmemx_collectmem_room(team, dest, source, given, room, &needed, &least);
        CHECK(rc == 1 && needed == bytes && least == bytes - 1,
              "collect without room is %d, needs %zu, has %zu", rc, needed, least);
        for (size_t i = 0; i < all; i++)
            CHECK(dest[i] == UINT64_MAX, "element %zu was written by a collect without room", i);
    }
    int rc = shmemx_collectmem_room(team, dest, source, given, bytes, &needed, &least);
    CHECK(rc == 0 && needed == bytes && least == bytes, "collect with room is %d", rc);
    const uint64_t *at = dest;
    for (int pe = 0; pe < pes; at += share(pe++, n))
        compare(at, world_pe(team, pe), 0, share(pe, n), round, "collect with room");
    CHECK(*behind == kept, "collect wrote behind dest");
    shmem_team_sync(team);
}

/* Every data movement once, n elements from each; every PE of the team is in the same round. */
static void move(shmem_team_t team, size_t n, uint64_t round)
{
    int pes = shmem_team_n_pes(team), me = shmem_team_my_pe(team);
    fill(source, n * (size_t)pes, round);
    shmem_team_sync(team);
    int root = (int)(round % (uint64_t)pes);
    CHECK(shmem_uint64_broadcast(team, dest, source, n, root) == 0, "broadcast");
    compare(dest, world_pe(team, root), 0, n, round, "broadcast");
    shmem_team_sync(team);
    CHECK(shmem_uint64_fcollect(team, dest, source, n) == 0, "fcollect");
    for (int pe = 0; pe < pes; pe++)
        compare(dest + (size_t)pe * n, world_pe(team, pe), 0, n, round, "fcollect");
    shmem_team_sync(team);
    CHECK(shmem_uint64_collect(team, dest, source, share(me, n)) == 0, "collect");
    const uint64_t *at = dest;
    for (int pe = 0; pe < pes; at += share(pe++, n))
        compare(at, world_pe(team, pe), 0, share(pe, n), round, "collect");
    shmem_team_sync(team);
    collect_room(team, n, round, (size_t)(at - dest));
    CHECK(shmem_uint64_alltoall(team, dest, source, n) == 0, "alltoall");
    for (int pe = 0; pe < pes; pe++)
        compare(dest + (size_t)pe * n, world_pe(team, pe), (size_t)me * n, n, round, "alltoall");
    shmem_team_sync(team);
    size_t half = n / 2;
    CHECK(shmem_uint64_alltoalls(team, dest, source, 1, 2, half) == 0, "alltoalls");
    for (int pe = 0; pe < pes; pe++)
        for (size_t i = 0; i < half; i++)
            compare(dest + (size_t)pe * half + i, world_pe(team, pe), ((size_t)me * half + i) * 2,
                    1, round, "alltoalls");
    shmem_team_sync(team);
}

/* Every sum once. */
static void sum(shmem_team_t team, size_t n, uint64_t round)
{
    int pes = shmem_team_n_pes(team), me = shmem_team_my_pe(team);
    fill(source, n, round);
    shmem_team_sync(team);
    for (int kind = 0; kind < 4; kind++) {
        static const char *const names[] = {"sum", "xor", "inscan", "exscan"};
        int rc = kind == 0   ? shmem_uint64_sum_reduce(team, dest, source, n)
                 : kind == 1 ? shmem_uint64_xor_reduce(team, dest, source, n)
                 : kind == 2 ? shmem_uint64_sum_inscan(team, dest, source, n)
                             : shmem_uint64_sum_exscan(team, dest, source, n);
        CHECK(rc == 0, "%s: returned %d", names[kind], rc);
        int end = kind < 2 ? pes : kind == 2 ? me + 1 : me;
        for (size_t i = 0; i < n; i++) {
            uint64_t want = 0;
            for (int pe = 0; pe < end; pe++) {
                uint64_t e = element(world_pe(team, pe), i, round);
                want = kind == 1 ? want ^ e : want + e;
            }
            if (dest[i] != want) {
                check_fail("%s of %zu: element %zu is 0x%jx, should be 0x%jx", names[kind], n, i,
                           (uintmax_t)dest[i], (uintmax_t)want);
                break;
            }
        }
        shmem_team_sync(team);
    }
}

static void on_teams(int test, const char *name, void (*work)(shmem_team_t, size_t, uint64_t))
{
    static const size_t lengths[] = {0, 1, 33, 100, 5000};
    shmem_team_t teams[KINDS];
    check_start((size_t)test, name);
    make_teams(teams);
    uint64_t round = 0;
    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
        work(SHMEM_TEAM_WORLD, lengths[l], ++round);
        work(SHMEM_TEAM_SHARED, lengths[l], ++round);
        for (int i = 0; i < KINDS; i++, round++)
            if (teams[i] != SHMEM_TEAM_INVALID)
                work(teams[i], lengths[l], round);
    }
    for (int i = KINDS - 1; i >= 0; i--)
        shmem_team_destroy(teams[i]);
}

/* No member leaves before all have arrived. */
static void test_sync(void)
{
    shmem_team_t teams[KINDS];
    check_start(SYNC, "shmem_team_sync");
    make_teams(teams);
    for (int i = 0; i < KINDS; i++) {
        shmem_barrier_all();
        *phase = 0;
        shmem_barrier_all();
        for (uint64_t round = 1; round <= ROUNDS && teams[i] != SHMEM_TEAM_INVALID; round++) {
            __atomic_store_n(phase, round, __ATOMIC_RELEASE);
            CHECK(shmem_sync(teams[i]) == 0, "team %d: shmem_sync failed", i);
            for (int pe = 0; pe < shmem_team_n_pes(teams[i]); pe++) {
                uint64_t there = shmem_uint64_atomic_fetch(phase, world_pe(teams[i], pe));
                CHECK(there == round, "team %d, round %ju: PE %d is in round %ju", i,
                      (uintmax_t)round, pe, (uintmax_t)there);
            }
            shmem_team_sync(teams[i]);
        }
    }
    shmem_barrier_all();
    for (int i = 0; i < KINDS; i++)
        shmem_team_destroy(teams[i]);
}

/* Consecutive scans: the first PE does not wait, the last is late. Then one in place, so large that
 * PEs finish at different times. */
static void scan_ahead(shmem_team_t team)
{
    int me = shmem_team_my_pe(team);
    fill(source, 3 * ROUNDS, 6);
    shmem_barrier_all();
    for (size_t i = 0; i < 3 * ROUNDS; i++) {
        for (int k = 0; me == check.n - 1 && k < 3; k++)
            sched_yield();
        shmem_uint64_sum_inscan(team, dest + i, source + i, 1);
    }
    for (size_t i = 0; i < 3 * ROUNDS; i++) {
        uint64_t want = 0;
        for (int pe = 0; pe <= me; pe++)
            want += element(world_pe(team, pe), i, 6);
        CHECK(dest[i] == want, "scan %zu: 0x%jx, should be 0x%jx", i, (uintmax_t)dest[i],
              (uintmax_t)want);
    }
    shmem_barrier_all();
    fill(dest, LONG, 7);
    shmem_barrier_all();
    shmem_uint64_sum_inscan(team, dest, dest, LONG);
    for (size_t i = 0; i < LONG; i++) {
        uint64_t want = 0;
        for (int pe = 0; pe <= me; pe++)
            want += element(world_pe(team, pe), i, 7);
        if (dest[i] != want) {
            check_fail("scan in place, element %zu: 0x%jx, should be 0x%jx", i, (uintmax_t)dest[i],
                       (uintmax_t)want);
            break;
        }
    }
    shmem_barrier_all();
}

/* One broadcast after the other, alternately on two teams, without a wait between them: the
 * roots run ahead of sleeping PEs. */
static void test_ahead(void)
{
    shmem_team_t teams[KINDS];
    check_start(AHEAD, "PEs that run ahead");
    make_teams(teams);
    scan_ahead(teams[0]);
    memset(dest, 0, ROUNDS * KINDS * sizeof *dest);
    fill(source, ROUNDS * KINDS, 5);
    shmem_barrier_all();
    for (size_t i = 0; i < ROUNDS * KINDS; i++) {
        shmem_team_t team = teams[i % KINDS];
        if (team == SHMEM_TEAM_INVALID)
            continue;
        if (check_mix(i * 64 + (uint64_t)check.me) % 8 == 0)
            sched_yield();
        int root = (int)(i / KINDS) % shmem_team_n_pes(team);
        if (i % 4 < 3)
            shmem_uint64_broadcast(team, dest + i, source + i, 1, root);
        else
            shmem_uint64_max_reduce(team, dest + i, source + i, 1);
    }
    for (size_t i = 0; i < ROUNDS * KINDS; i++) {
        shmem_team_t team = teams[i % KINDS];
        if (team == SHMEM_TEAM_INVALID)
            continue;
        int pes = shmem_team_n_pes(team);
        uint64_t want = element(world_pe(team, (int)(i / KINDS) % pes), i, 5);
        for (int pe = 0; i % 4 == 3 && pe < pes; pe++)
            want =
                element(world_pe(team, pe), i, 5) > want ? element(world_pe(team, pe), i, 5) : want;
        CHECK(dest[i] == want, "call %zu: 0x%jx, should be 0x%jx", i, (uintmax_t)dest[i],
              (uintmax_t)want);
    }
    shmem_barrier_all();
    for (int i = 0; i < KINDS; i++)
        shmem_team_destroy(teams[i]);
}

/* Hundreds at a time; then the most that are possible, and one more. */
static void test_many(void)
{
    static shmem_team_t teams[1000];
    check_start(MANY, "hundreds of teams");
    int made = 0;
    for (; made < 1000; made++) {
        int start = made % check.n;
        shmem_team_t team = 4711;
        if (shmem_team_split_strided(SHMEM_TEAM_WORLD, start, 1, check.n - start, NULL, 0, &team) !=
            0) {
            CHECK(team == SHMEM_TEAM_INVALID, "one too many is %d", (int)team);
            break;
        }
        teams[made] = team;
    }
    CHECK(made >= SOME && made < 1000, "%d teams could be made", made);
    fill(source, SOME, 9);
    shmem_barrier_all();
    for (int i = 0; i < made; i += i < 20 ? 1 : 13) {
        if (teams[i] == SHMEM_TEAM_INVALID)
            continue;
        size_t at = (size_t)i % SOME;
        shmem_uint64_broadcast(teams[i], dest + at, source + at, 1, 0);
        compare(dest + at, i % check.n, at, 1, 9, "on one of many");
        shmem_team_sync(teams[i]);
    }
    for (int i = 0; i < made; i++)
        shmem_team_destroy(teams[made - 1 - i]);
    shmem_barrier_all();
}

/* A team's slot is used again, by other PEs and in a different order. */
static void test_reuse(void)
{
    check_start(REUSE, "teams that follow each other");
    shmem_team_t last = SHMEM_TEAM_INVALID;
    for (int round = 0; round < 3 * ROUNDS; round++) {
        int start = round % check.n, down = round % 2;
        shmem_team_t team =
            strided(SHMEM_TEAM_WORLD, start, down ? -1 : 1, down ? start + 1 : check.n - start);
        CHECK(team == SHMEM_TEAM_INVALID || team != last, "the same handle %d again", (int)team);
        if (team == SHMEM_TEAM_INVALID)
            continue;
        last = team;
        size_t at = (size_t)round;
        source[at] = element(check.me, at, 3);
        shmem_uint64_broadcast(team, dest + at, source + at, 1, 0);
        compare(dest + at, start, at, 1, 3, "broadcast");
        shmem_uint64_sum_reduce(team, dest + at, source + at, 1);
        shmem_team_destroy(team);
    }
    shmem_barrier_all();
}

struct job {
    shmem_team_t team;
    size_t at;
    int bad;
};

static void *work(void *arg)
{
    struct job *j = arg;
    int pes = shmem_team_n_pes(j->team);
    for (uint64_t round = 0; round < 3 * ROUNDS; round++) {
        uint64_t want = 0;
        for (int pe = 0; pe < pes; pe++)
            want += element(world_pe(j->team, pe), j->at, round);
        source[j->at] = element(check.me, j->at, round);
        shmem_uint64_sum_reduce(j->team, dest + j->at, source + j->at, 1);
        j->bad += dest[j->at] != want;
        shmem_team_sync(j->team);
    }
    return NULL;
}

/* Each of two threads has a team of its own, of the same PEs; which thread comes first differs. */
static void test_threaded(void)
{
    check_start(THREADED, "a team for each thread");
    struct job jobs[2] = {{strided(SHMEM_TEAM_WORLD, 0, 1, check.n), 0, 0},
                          {strided(SHMEM_TEAM_WORLD, check.n - 1, -1, check.n), 64, 0}};
    pthread_t other;
    shmem_barrier_all();
    if (pthread_create(&other, NULL, work, &jobs[check.me % 2]) != 0)
        abort();
    work(&jobs[1 - check.me % 2]);
    pthread_join(other, NULL);
    CHECK(jobs[0].bad + jobs[1].bad == 0, "%d and %d wrong sums", jobs[0].bad, jobs[1].bad);
    shmem_barrier_all();
    shmem_team_destroy(jobs[1].team);
    shmem_team_destroy(jobs[0].team);
}

int main(void)
{
    int level;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
    check_open("teams", TESTS);
    size_t room = (size_t)(check.n < 4 ? 4 : check.n) * LONG;
    source = check_alloc(room * sizeof *source);
    dest = check_alloc(room * sizeof *dest);
    phase = check_word = check_alloc(sizeof *phase);
    test_predefined();
    test_strided();
    test_invalid();
    test_2d();
    test_config();
    on_teams(MOVES, "collectives that move, on teams", move);
    on_teams(SUMS, "reductions and scans on teams", sum);
    test_sync();
    test_ahead();
    test_many();
    test_reuse();
    test_threaded();
    int rc = check_close();
    shmem_finalize();
    return rc;
}
