/*
 * collectives.c: collective calls of random kinds, sizes, roots and teams, one behind the other.
 *
 * All PEs draw the same calls from a seed. Each element has a value that every PE can compute, so
 * that each checks all that it has got, and the bytes behind it. PEs meet only when all arrays were
 * used, so that calls overlap.
 *
 * The arguments: how many calls, the seed, and how many teams to make before those that are used,
 * which then have little memory for reductions between hosts, or none (capi/front/team_ids.h).
 */
#include "check.h"

enum { REDUCE, IN_PLACE, REALS, BROADCAST, COLLECT, FCOLLECT, ALLTOALL, SCAN, KINDS };

static const char *const names[KINDS] = {
    "sum",       "sum with dest as source",   "sum of doubles, the same on all",
    "broadcast", "collect of unequal blocks", "fcollect",
    "alltoall",  "sum_inscan and sum_exscan"};

/* Arrays that are used in turn, so that a PE may be a few calls ahead. */
enum { ARRAYS = 4, TEAMS = 6 };
static const size_t bytes = (size_t)4 << 20;

struct team {
    shmem_team_t team;
    int n, me;
    int pes[256];
};

static struct team teams[TEAMS];
static int n_teams;
static char *sources[ARRAYS], *dests[ARRAYS];
static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

/* Up to most, each magnitude as often as the others. */
static size_t draw_size(size_t most)
{
    int bits = 0;
    while (most >> bits > 1)
        bits++;
    size_t n = ((size_t)1 << draw((uint64_t)bits + 1)) + draw(33);
    n = draw(2) ? n + draw(n) : n;
    return n > 16 && draw(8) == 0 ? n - 16 : n > most ? most : n;
}

static void add_team(shmem_team_t team)
{
    struct team *t = &teams[n_teams];
    if (team == SHMEM_TEAM_INVALID)
        t->n = 0;
    else
        t->n = shmem_team_n_pes(team);
    t->team = team;
    t->me = t->n > 0 ? shmem_team_my_pe(team) : -1;
    for (int i = 0; i < t->n; i++)
        t->pes[i] = shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD);
    n_teams++;
}

/* All PEs; the odd ones; those but the last in reverse order; a row and a column; all PEs again. */
static void make_teams(uint64_t earlier)
{
    int n = check.n, wide = n > 3 ? n / 2 : n;
    shmem_team_t odd, reverse, row, column, all;
    for (; earlier > 0; earlier--)
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &all);
    add_team(SHMEM_TEAM_WORLD);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, n > 1, 2, n / 2 + (n == 1), NULL, 0, &odd);
    add_team(odd);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1 - (n > 1), -1, n - (n > 1), NULL, 0, &reverse);
    add_team(reverse);
    shmem_team_split_2d(SHMEM_TEAM_WORLD, wide, NULL, 0, &row, NULL, 0, &column);
    add_team(row);
    add_team(column);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &all);
    add_team(all);
}

/* The i-th element of a PE in a call. Sums of them do not overflow. */
static long value(uint64_t call, int pe, size_t i)
{
    uint64_t h = (call * 1000003 + (uint64_t)pe) * 2654435761u + i * 0x9E3779B97F4A7C15u;
    return (long)(h >> 24);
}

static double real(uint64_t call, int pe, size_t i)
{
    return (double)value(call, pe, i) / 3.0;
}

static const long behind = -77;

static void same(uint64_t call, const struct team *t, size_t i, long got, long want)
{
    if (got != want)
        check_fail("call %llu of %d PEs: element %zu is %ld, not %ld", (unsigned long long)call,
                   t->n, i, got, want);
}

static void fill(uint64_t call, long *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = value(call, check.me, i);
}

static long total(uint64_t call, const struct team *t, int members, size_t i)
{
    long sum = 0;
    for (int m = 0; m < members; m++)
        sum += value(call, t->pes[m], i);
    return sum;
}

static void reduce(uint64_t call, const struct team *t, long *dest, long *source, size_t n,
                   bool in_place)
{
    fill(call, source, n);
    if (in_place)
        dest = source;
    dest[n] = behind;
    shmem_long_sum_reduce(t->team, dest, source, n);
    for (size_t i = 0; i < n; i++)
        same(call, t, i, dest[i], total(call, t, t->n, i));
    same(call, t, n, dest[n], behind);
}

/* PEs may add in any order, but all in the same one. */
static void reals(uint64_t call, const struct team *t, double *dest, double *source, size_t n)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < n; i++)
        source[i] = real(call, check.me, i);
    shmem_double_sum_reduce(t->team, dest, source, n);
    for (size_t i = 0; i < n; i++) {
        double sum = 0, error;
        uint64_t bits;
        for (int m = 0; m < t->n; m++)
            sum += real(call, t->pes[m], i);
        error = dest[i] - sum;
        if (!(error <= 1e-9 * sum && error >= -1e-9 * sum)) /* also a NaN */
            check_fail("call %llu: element %zu is %g, not %g", (unsigned long long)call, i, dest[i],
                       sum);
        memcpy(&bits, &dest[i], sizeof bits);
        hash = (hash ^ bits) * 1099511628211u;
    }
    /* The hashes of two neighbours are compared by one of them. */
    uint64_t *mine = (uint64_t *)(void *)(dest + n), other;
    mine[0] = hash;
    shmem_team_sync(t->team);
    other = shmem_uint64_g(mine, t->pes[(t->me + 1) % t->n]);
    shmem_team_sync(t->team);
    if (other != hash)
        check_fail("call %llu: two PEs have other bits", (unsigned long long)call);
}

static void broadcast(uint64_t call, const struct team *t, long *dest, long *source, size_t n,
                      int root)
{
    fill(call, source, n);
    dest[n] = behind;
    shmem_long_broadcast(t->team, dest, source, n, root);
    for (size_t i = 0; i < n; i++)
        same(call, t, i, dest[i], value(call, t->pes[root], i));
    same(call, t, n, dest[n], behind);
}

/* The elements of a PE in a collect: up to n. In one half of the calls each PE has none, some or
 * very many: the library sends small blocks with their sizes, and large ones afterwards. */
static size_t share(uint64_t call, int pe, size_t n)
{
    size_t any = (size_t)value(call, pe, 99);
    if (value(call, 0, 97) % 2 == 0)
        return any % (n + 1);
    switch (value(call, pe, 98) % 3) {
    case 0:
        return 0;
    case 1:
        return 1 + any % 40;
    default:
        return 3000 + any % 2000; /* 24 to 40 KB */
    }
}

static void collect(uint64_t call, const struct team *t, long *dest, long *source, size_t n)
{
    size_t at = 0, mine = share(call, check.me, n), all = 0;
    fill(call, source, mine);
    for (int m = 0; m < t->n; m++)
        all += share(call, t->pes[m], n);
    dest[all] = behind;
    shmem_long_collect(t->team, dest, source, mine);
    for (int m = 0; m < t->n; m++)
        for (size_t i = 0; i < share(call, t->pes[m], n); i++, at++)
            same(call, t, at, dest[at], value(call, t->pes[m], i));
    same(call, t, at, dest[at], behind);
}

static void fcollect(uint64_t call, const struct team *t, long *dest, long *source, size_t n)
{
    fill(call, source, n);
    dest[n * (size_t)t->n] = behind;
    shmem_long_fcollect(t->team, dest, source, n);
    for (int m = 0; m < t->n; m++)
        for (size_t i = 0; i < n; i++)
            same(call, t, (size_t)m * n + i, dest[(size_t)m * n + i], value(call, t->pes[m], i));
    same(call, t, n * (size_t)t->n, dest[n * (size_t)t->n], behind);
}

static void alltoall(uint64_t call, const struct team *t, long *dest, long *source, size_t n)
{
    fill(call, source, n * (size_t)t->n);
    dest[n * (size_t)t->n] = behind;
    shmem_long_alltoall(t->team, dest, source, n);
    for (int m = 0; m < t->n; m++)
        for (size_t i = 0; i < n; i++)
            same(call, t, (size_t)m * n + i, dest[(size_t)m * n + i],
                 value(call, t->pes[m], (size_t)t->me * n + i));
    same(call, t, n * (size_t)t->n, dest[n * (size_t)t->n], behind);
}

static void scan(uint64_t call, const struct team *t, long *dest, long *source, size_t n)
{
    bool inclusive = call % 2;
    fill(call, source, n);
    if (call % 3 == 0)
        dest = source;
    dest[n] = behind;
    if (inclusive)
        shmem_long_sum_inscan(t->team, dest, source, n);
    else
        shmem_long_sum_exscan(t->team, dest, source, n);
    for (size_t i = 0; i < n; i++)
        same(call, t, i, dest[i], total(call, t, t->me + inclusive, i));
    same(call, t, n, dest[n], behind);
}

static void one(uint64_t call, int kind, const struct team *t, size_t most)
{
    long *dest = (long *)(void *)dests[call % ARRAYS];
    long *source = (long *)(void *)sources[call % ARRAYS];
    size_t blocks = kind == COLLECT || kind == FCOLLECT || kind == ALLTOALL ? (size_t)t->n : 1;
    size_t n = draw_size(most / sizeof(long) / (blocks > 0 ? blocks : 1));
    int root = t->n > 0 ? (int)draw((uint64_t)t->n) : 0;
    if (t->n == 0)
        return;
    switch (kind) {
    case REDUCE:
    case IN_PLACE:
        reduce(call, t, dest, source, n, kind == IN_PLACE);
        break;
    case REALS:
        reals(call, t, (double *)(void *)dest, (double *)(void *)source, n);
        break;
    case BROADCAST:
        broadcast(call, t, dest, source, n, root);
        break;
    case COLLECT:
        collect(call, t, dest, source, n);
        break;
    case FCOLLECT:
        fcollect(call, t, dest, source, n);
        break;
    case ALLTOALL:
        alltoall(call, t, dest, source, n);
        break;
    case SCAN:
        scan(call, t, dest, source, n);
        break;
    }
}

/* PEs of other teams draw the same numbers, also where they differ in what they do with them. */
int main(int argc, char **argv)
{
    check_open("collectives", KINDS);
    uint64_t calls = argc > 1 ? strtoull(argv[1], NULL, 10) : 200;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    for (int i = 0; i < ARRAYS; i++) {
        sources[i] = shmem_malloc(bytes);
        dests[i] = shmem_malloc(bytes);
    }
    make_teams(argc > 3 ? strtoull(argv[3], NULL, 10) : 0);
    for (uint64_t call = 0; call < calls; call++) {
        state = (seed * 1000003 + call) * 0x9E3779B97F4A7C15u + 1;
        int kind = (int)draw(KINDS);
        int team = draw(2) ? 0 : (int)draw((uint64_t)n_teams);
        size_t most = draw(16) == 0 ? bytes - 4096 : draw(3) == 0 ? (size_t)300 << 10 : 3000;
        check_start((size_t)kind, names[kind]);
        one(call, kind, &teams[team], most);
        if (call % ARRAYS == ARRAYS - 1)
            shmem_barrier_all();
    }
    shmem_barrier_all();
    return check_close();
}
