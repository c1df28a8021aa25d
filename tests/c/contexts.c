/*
 * contexts.c: contexts are made and destroyed, belong to teams, keep their order, and are used by
 * several threads at once. zz_*.c checks that each function with a context does the same as its
 * namesake; contexts_apart.c and runtime/proxy check that contexts do not wait for each other.
 */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

enum { MADE, TEAMS, MANY, AGAIN, FENCE, QUIET, SESSION, NOTHING, PCONTROL, OWN, ONE, TESTS };
enum { MOST = 1023, TURNS = 300, ROUNDS = 200, LARGE = 40000, THREADS = 4, OPS = 400 };

static uint64_t *words; /* symmetric: MOST + 1 */
static uint64_t *large; /* symmetric: LARGE */
static uint64_t source[LARGE];

static void clear(void)
{
    shmem_barrier_all();
    memset(words, 0, (MOST + 1) * sizeof *words);
    shmem_barrier_all();
}

static shmem_ctx_t make(long options)
{
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
    CHECK(shmem_ctx_create(options, &ctx) == 0 && ctx != SHMEM_CTX_INVALID &&
              ctx != SHMEM_CTX_DEFAULT,
          "options %#lx: not made, but %d", (unsigned long)options, (int)ctx);
    return ctx;
}

static void test_made(void)
{
    static const long options[] = {0, SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE, SHMEM_CTX_NOSTORE,
                                   SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE};
    shmem_ctx_t made[5];
    check_start(MADE, "shmem_ctx_create");
    clear();
    for (size_t i = 0; i < 5; i++) {
        made[i] = make(options[i]);
        for (size_t k = 0; k < i; k++)
            CHECK(made[k] != made[i], "two contexts are %d", (int)made[i]);
        shmem_ctx_uint64_p(made[i], &words[i], i + 1, check_right());
    }
    for (size_t i = 0; i < 5; i++)
        shmem_ctx_destroy(made[i]);
    shmem_sync_all();
    for (size_t i = 0; i < 5; i++)
        CHECK(words[i] == i + 1, "word %zu is %ju after the context was destroyed", i,
              (uintmax_t)words[i]);
}

static void test_teams(void)
{
    shmem_team_t back = SHMEM_TEAM_INVALID, team = SHMEM_TEAM_INVALID;
    check_start(TEAMS, "shmem_team_create_ctx");
    CHECK(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &team) == 0 && team == SHMEM_TEAM_WORLD,
          "the default context is of team %d", (int)team);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, check.n - 1, -1, check.n, NULL, 0, &back) == 0,
          "no team");
    for (int turn = 0; turn < 3; turn++) {
        shmem_ctx_t ctx = SHMEM_CTX_INVALID, world = make(0);
        CHECK(shmem_team_create_ctx(back, 0, &ctx) == 0, "no context of the team");
        CHECK(shmem_ctx_get_team(ctx, &team) == 0 && team == back, "is of team %d", (int)team);
        CHECK(shmem_ctx_get_team(world, &team) == 0 && team == SHMEM_TEAM_WORLD, "is of team %d",
              (int)team);
        clear();
        shmem_ctx_uint64_atomic_add(ctx, &words[check.me], 1, check_rank(check_right()));
        shmem_ctx_uint64_atomic_add(world, &words[check.me], 2, check_right());
        shmem_ctx_signal_set(ctx, &words[check.n + check.me], 7, check_rank(check_right()));
        shmem_ctx_fence(ctx);
        shmem_signal_set(ctx, &words[check.n + check.me], 40, check_rank(check_right()));
        shmem_ctx_fence(ctx);
        shmem_ctx_signal_add(ctx, &words[check.n + check.me], 1, check_rank(check_right()));
        shmem_signal_add(ctx, &words[check.n + check.me], 1, check_rank(check_right()));
        shmem_ctx_pe_quiet(ctx, check_rank(check_right()));
        shmem_ctx_pe_quiet(world, check_right());
        CHECK(shmem_ctx_uint64_g(ctx, &words[check.me], check_rank(check_right())) == 3,
              "a number of the team is another PE's");
        shmem_barrier_all();
        for (int pe = 0; pe < check.n; pe++) {
            bool left = pe == (check.me + check.n - 1) % check.n;
            CHECK(words[pe] == (left ? 3u : 0u), "PE %d has added %ju", pe, (uintmax_t)words[pe]);
            CHECK(words[check.n + pe] == (left ? 42u : 0u), "the signal of PE %d is %ju", pe,
                  (uintmax_t)words[check.n + pe]);
        }
        shmem_ctx_destroy(world);
        shmem_ctx_destroy(ctx);
    }
    /* A team's contexts complete their operations before the team is destroyed. */
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    clear();
    CHECK(shmem_team_create_ctx(back, SHMEM_CTX_SERIALIZED, &ctx) == 0, "no context of the team");
    shmem_ctx_uint64_p(ctx, words, 9, check_rank(check_right()));
    shmem_team_destroy(back);
    shmem_sync_all();
    CHECK(*words == 9, "is %ju after the team was destroyed", (uintmax_t)*words);
}

static void test_many(void)
{
    static shmem_ctx_t made[MOST];
    check_start(MANY, "as many contexts as there may be");
    clear();
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < MOST; i++)
            made[i] = make(0);
        shmem_ctx_t more = SHMEM_CTX_DEFAULT;
        CHECK(shmem_ctx_create(0, &more) != 0 && more == SHMEM_CTX_INVALID,
              "one more than %d was made, %d", MOST, (int)more);
        for (int i = 0; i < MOST; i += turn == 0 ? 1 : 97)
            shmem_ctx_uint64_atomic_inc(made[i], &words[i], check_right());
        for (int i = 0; i < MOST; i++)
            shmem_ctx_destroy(made[i]);
    }
    shmem_sync_all();
    for (int i = 0; i < MOST; i++)
        CHECK(words[i] == (i % 97 == 0 ? 2u : 1u), "context %d: %ju increments", i,
              (uintmax_t)words[i]);
}

/* Pages of this process that are in memory. */
static long resident(void)
{
    long all = 0, in = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%ld %ld", &all, &in) != 2)
        in = -1;
    if (f != NULL)
        fclose(f);
    return in;
}

static void test_again(void)
{
    check_start(AGAIN, "contexts that come and go");
    clear();
    long before = 0;
    for (int i = 0; i < TURNS; i++) {
        shmem_ctx_t ctx = make(i % 2 ? SHMEM_CTX_PRIVATE : 0);
        shmem_ctx_uint64_put_nbi(ctx, large, source, 600, check_right());
        shmem_ctx_uint64_atomic_add(ctx, words, 1, check_right());
        shmem_ctx_destroy(ctx);
        if (i == TURNS / 10)
            before = resident();
    }
    long more = resident() - before;
    CHECK(more < 512, "%d contexts leave %ld pages", TURNS, more);
    shmem_sync_all();
    CHECK(*words == TURNS, "%ju increments, should be %d", (uintmax_t)*words, TURNS);
}

/* Data, fence, flag; the other side reads the data when it sees the flag, and replies through
 * the default context. */
static void test_fence(void)
{
    check_start(FENCE, "shmem_ctx_fence");
    clear();
    shmem_ctx_t ctx = make(0);
    int left = (check.me + check.n - 1) % check.n;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        size_t n = round % 3 == 0 ? LARGE / 8 : 1 + round % 50;
        source[0] = source[n - 1] = round;
        shmem_ctx_uint64_put_nbi(ctx, large, source, n, check_right());
        shmem_ctx_fence(ctx);
        shmem_ctx_uint64_p(ctx, &words[0], round, check_right());
        shmem_uint64_wait_until(&words[0], SHMEM_CMP_GE, round);
        CHECK(large[0] == round && large[n - 1] == round,
              "round %ju: %zu words end with %ju when the flag is there", (uintmax_t)round, n,
              (uintmax_t)large[n - 1]);
        shmem_uint64_p(&words[1], round, left);
        shmem_uint64_wait_until(&words[1], SHMEM_CMP_GE, round);
        shmem_ctx_quiet(ctx);
    }
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
}

/* After the quiet of a context its puts and gets have completed, whatever other contexts do. */
static void test_quiet(void)
{
    check_start(QUIET, "shmem_ctx_quiet");
    shmem_ctx_t a = make(0), b = make(SHMEM_CTX_SERIALIZED);
    static uint64_t back[LARGE / 2];
    uint64_t old = 0;
    clear();
    for (uint64_t round = 1; round <= ROUNDS / 10; round++) {
        for (size_t i = 0; i < LARGE / 2; i++)
            source[i] = check_mix(round + i);
        shmem_ctx_uint64_put_nbi(a, large, source, LARGE / 2, check_right());
        shmem_ctx_uint64_put_nbi(b, large + LARGE / 2, source, 100, check_right());
        shmem_ctx_uint64_atomic_fetch_add_nbi(b, &old, words, 1, check_right());
        shmem_ctx_quiet(b);
        CHECK(old == round - 1, "round %ju: a nonblocking fetch brought %ju", (uintmax_t)round,
              (uintmax_t)old);
        memset(back, 0, sizeof back);
        shmem_uint64_get(back, large + LARGE / 2, 100, check_right());
        CHECK(memcmp(back, source, 100 * sizeof *back) == 0, "round %ju: a put is not there",
              (uintmax_t)round);
        shmem_ctx_quiet(a);
        shmem_ctx_uint64_get_nbi(b, back, large, LARGE / 2, check_right());
        shmem_ctx_quiet(b);
        CHECK(memcmp(back, source, sizeof back) == 0, "round %ju: a large put is not there",
              (uintmax_t)round);
    }
    shmem_ctx_destroy(b);
    shmem_ctx_destroy(a);
    shmem_barrier_all();
}

static void test_session(void)
{
    check_start(SESSION, "shmem_ctx_session_start");
    shmem_ctx_t made = make(0);
    const shmem_ctx_session_config_t config = {.total_ops = 1};
    const shmem_ctx_t contexts[] = {made, SHMEM_CTX_DEFAULT};
    for (int k = 0; k < 2; k++) {
        shmem_ctx_t ctx = contexts[k];
        clear();
        shmem_ctx_session_stop(ctx);
        shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
        shmem_ctx_session_start(ctx, ~0L, NULL, 0);
        for (int i = 0; i < MOST; i++) {
            shmem_ctx_uint64_p(ctx, &words[i], (uint64_t)i + 1, check_right());
            shmem_ctx_uint64_atomic_add(ctx, &words[i % 7], 0, check_right());
        }
        shmem_ctx_session_stop(ctx);
        shmem_ctx_session_stop(ctx);
        shmem_ctx_quiet(ctx);
        shmem_barrier_all();
        for (int i = 0; i < MOST; i++)
            CHECK(words[i] == (uint64_t)i + 1, "word %d is %ju", i, (uintmax_t)words[i]);
    }
    shmem_ctx_destroy(made);
}

static void test_nothing(void)
{
    check_start(NOTHING, "SHMEM_CTX_INVALID");
    shmem_team_t team = SHMEM_TEAM_WORLD;
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
    shmem_ctx_quiet(SHMEM_CTX_INVALID);
    shmem_ctx_fence(SHMEM_CTX_INVALID);
    shmem_ctx_pe_quiet(SHMEM_CTX_INVALID, 0);
    shmem_ctx_session_start(SHMEM_CTX_INVALID, 0, NULL, 0);
    shmem_ctx_session_stop(SHMEM_CTX_INVALID);
    CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &team) != 0 && team == SHMEM_TEAM_INVALID,
          "has team %d", (int)team);
    CHECK(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx) != 0 && ctx == SHMEM_CTX_INVALID,
          "context %d of no team", (int)ctx);
}

static void test_pcontrol(void)
{
    check_start(PCONTROL, "shmem_pcontrol");
    void (*function)(const int, ...) = shmem_pcontrol;
    CHECK(function != NULL, "is not there");
    shmem_pcontrol(0);
    shmem_pcontrol(2, "what a tool wants", 1.5);
}

/* ------------------------------------------------------------------ threads */

static shmem_ctx_t common;
static int bad[THREADS];

/* A context for each thread, as programs with threads have it. */
static void *alone(void *arg)
{
    int id = (int)(intptr_t)arg;
    uint64_t *mine = large + (size_t)id * 2000, *out = calloc(2000, sizeof *out), old;
    for (int i = 0; i < OPS / 20; i++) {
        shmem_ctx_t ctx = SHMEM_CTX_INVALID;
        bad[id] += shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) != 0;
        for (int k = 0; k < 20; k++) {
            size_t n = k % 5 == 0 ? 2000 : 3;
            out[n - 1] = (uint64_t)(i * 20 + k);
            shmem_ctx_uint64_put_nbi(ctx, mine, out, n, check_right());
            shmem_ctx_fence(ctx);
            shmem_ctx_uint64_atomic_inc(ctx, &words[id], check_right());
            shmem_ctx_quiet(ctx);
            shmem_ctx_uint64_get(ctx, &old, mine + n - 1, 1, check_right());
            bad[id] += old != out[n - 1];
        }
        shmem_ctx_destroy(ctx);
    }
    free(out);
    return NULL;
}

/* All on one. */
static void *together(void *arg)
{
    int id = (int)(intptr_t)arg;
    for (int i = 1; i <= OPS; i++) {
        shmem_ctx_uint64_atomic_inc(common, &words[THREADS], check_right());
        shmem_ctx_uint64_p(common, &words[THREADS + 1 + id], (uint64_t)i, check_right());
        if (i % 50 == 0) {
            shmem_ctx_quiet(common);
            bad[id] +=
                shmem_ctx_uint64_g(common, &words[THREADS + 1 + id], check_right()) != (uint64_t)i;
        }
    }
    return NULL;
}

static void run(void *(*work)(void *))
{
    pthread_t threads[THREADS];
    memset(bad, 0, sizeof bad);
    for (intptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
            shmem_global_exit(1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void test_threads(void)
{
    clear();
    check_start(OWN, "a context of each thread");
    run(alone);
    shmem_barrier_all();
    for (int i = 0; i < THREADS; i++)
        CHECK(bad[i] == 0 && words[i] == OPS, "thread %d: %d wrong, %ju increments", i, bad[i],
              (uintmax_t)words[i]);
    check_start(ONE, "threads on one context");
    common = make(0);
    run(together);
    shmem_ctx_destroy(common);
    shmem_barrier_all();
    CHECK(words[THREADS] == (uint64_t)THREADS * OPS, "%ju increments", (uintmax_t)words[THREADS]);
    for (int i = 0; i < THREADS; i++)
        CHECK(bad[i] == 0, "thread %d: %d wrong", i, bad[i]);
}

int main(void)
{
    int provided = -1;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0)
        return 1;
    check_open("contexts", TESTS);
    words = check_alloc((MOST + 1) * sizeof *words);
    large = check_alloc(LARGE * sizeof *large);
    test_made();
    test_teams();
    test_many();
    test_again();
    test_fence();
    test_quiet();
    test_session();
    test_nothing();
    test_pcontrol();
    test_threads();
    int failed = check_close(); /* finalizes once; init was called twice */
    shmem_finalize();
    return failed;
}
