/*
 * teams.cu: collectives of kernels on teams: of every shape that the host can make, by a thread, a
 * warp and a block, one after the other without other calls between them, with PEs in several teams
 * at once, and on hundreds of teams, some of which use the memory of destroyed teams.
 *
 * shmemrun -n N teams [few [TEAMS]]
 */
#include "try.h"

#include <shmemx.h>

namespace kernels
{

constexpr int ROUNDS = 4;
constexpr size_t WORDS = 700;    /* of a broadcast */
constexpr size_t BLOCK = 90;     /* the data of each PE for each other one */
constexpr size_t LONGEST = 5000; /* of a reduction: several chunks of a team of two */

struct team_call {
    shmem_team_t team;
    int n, me;      /* as the host says */
    const int *pes; /* of the job, by rank */
    int scope;
    long *slots;
    int *source, *words, *blocks, *parts, *sums; /* the last four for each round */
    int *bad;
};

#define BY(name, ...)                                                                              \
    (c.scope == thread ? shmem_##name(__VA_ARGS__)                                                 \
     : c.scope == warp ? shmemx_##name##_warp(__VA_ARGS__)                                         \
                       : shmemx_##name##_block(__VA_ARGS__))

/* A kernel's view of a team is the same as the host's. */
STEP ask(const team_call &c)
{
    int wrong = shmem_team_my_pe(c.team) != c.me || shmem_team_n_pes(c.team) != c.n;
    for (int rank = -1; rank <= c.n; rank++) {
        int pe = rank < 0 || rank == c.n ? -1 : c.pes[rank];
        if (shmem_team_translate_pe(c.team, rank, SHMEM_TEAM_WORLD) != pe)
            wrong = 1;
        if (pe >= 0 && shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, c.team) != rank)
            wrong = 1;
    }
    int members = 0;
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        members += shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, c.team) >= 0;
    if (wrong || members != c.n)
        *c.bad = 1;
}

/* Each PE writes the round to all, and checks after the call that none of them is behind. */
STEP meet(const team_call &c, long round)
{
    if (threadIdx.x == 0) {
        for (int rank = 0; rank < c.n; rank++)
            shmem_long_p(c.slots + c.me, round, c.pes[rank]);
        if (round % 2)
            shmem_quiet();
    }
    if ((round % 2 ? BY(team_sync, c.team) : BY(barrier, c.team)) != 0)
        *c.bad = 2;
    for (int rank = 0; threadIdx.x == 0 && rank < c.n; rank++)
        if (!shmem_long_test(c.slots + rank, SHMEM_CMP_GE, round))
            *c.bad = 3;
}

KERNEL exercise(team_call c)
{
    if (threadIdx.x == 0)
        ask(c);
    ONE_BY_ONE
    for (int i = 0; i < ROUNDS; i++) {
        meet(c, i + 1);
        size_t n = (size_t)c.n;
        int status = BY(int_broadcast, c.team, c.words + i * WORDS, c.source, WORDS, i % c.n);
        status |= BY(int_fcollect, c.team, c.blocks + i * n * BLOCK, c.source, BLOCK);
        status |= BY(int_alltoall, c.team, c.parts + i * n * BLOCK, c.source, BLOCK);
        status |= BY(int_sum_reduce, c.team, c.sums + i * LONGEST, c.source, LONGEST);
        status |= BY(int_sum_reduce, c.team, c.sums + i * LONGEST, c.source, 1);
        if (status != 0)
            *c.bad = 4;
    }
}

/* Repeated sums over rows, whose sums over columns are those over all; a barrier of all PEs between
 * some of them. */
KERNEL overlap(shmem_team_t row, shmem_team_t column, int *source, int *between, int *dest,
               int rounds, int *bad)
{
    ONE_BY_ONE
    for (int i = 0; i < rounds; i++) {
        int status = shmemx_int_sum_reduce_block(row, between + i, source + i, 1);
        status |= shmemx_int_sum_reduce_block(column, dest + i, between + i, 1);
        if (i % 3 == 0)
            shmemx_barrier_all_block();
        if (status != 0)
            *bad = 1;
    }
}

/* One sum over each of many teams; a PE may be in none of them. */
KERNEL many(const shmem_team_t *teams, int count, int *source, int *dest, int *bad)
{
    ONE_BY_ONE
    for (int i = 0; i < count; i++)
        if (teams[i] != SHMEM_TEAM_INVALID &&
            shmem_int_sum_reduce(teams[i], dest + i, source, 1) != 0)
            *bad = 1;
}

KERNEL gone(shmem_team_t team, int *bad)
{
    if (shmem_team_n_pes(team) != -1 || shmem_team_my_pe(team) != -1 ||
        shmem_team_translate_pe(team, 0, SHMEM_TEAM_WORLD) != -1 ||
        shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, team) != -1)
        *bad = 1;
    if (shmem_team_n_pes(SHMEM_TEAM_INVALID) != -1 || shmem_team_sync(SHMEM_TEAM_INVALID) == 0 ||
        shmem_int_sum_reduce(SHMEM_TEAM_INVALID, bad, bad, 1) == 0)
        *bad = 2;
}

} // namespace kernels

namespace
{

using kernels::BLOCK;
using kernels::LONGEST;
using kernels::ROUNDS;
using kernels::WORDS;

int value(int pe, size_t i)
{
    return pe * 100003 + (int)i * 7;
}

int *symmetric(size_t count)
{
    return (int *)shmem_align(128, count * sizeof(int));
}

template <class T> T *own(const std::vector<T> &v)
{
    T *p = (T *)(void *)own_memory(v.size() * sizeof(T));
    copy_memory(p, v.data(), v.size() * sizeof(T));
    return p;
}

std::vector<int> have(const int *at, size_t count)
{
    std::vector<int> v(count);
    copy_memory(v.data(), at, count * sizeof(int));
    return v;
}

struct room {
    kernels::team_call c;
    int *bad;
} r;

/* 0 since the last call of this function. */
int verdict()
{
    int was, none = 0;
    copy_memory(&was, r.bad, sizeof was);
    copy_memory(r.bad, &none, sizeof none);
    return was;
}

void open_room()
{
    size_t n = (size_t)pes, longest = LONGEST > n * BLOCK ? LONGEST : n * BLOCK;
    std::vector<int> mine(longest);
    for (size_t i = 0; i < longest; i++)
        mine[i] = value(me, i);
    r.c.slots = (long *)shmem_align(128, n * sizeof(long));
    r.c.source = symmetric(longest);
    r.c.words = symmetric(ROUNDS * WORDS);
    r.c.blocks = symmetric(ROUNDS * n * BLOCK);
    r.c.parts = symmetric(ROUNDS * n * BLOCK);
    r.c.sums = symmetric(ROUNDS * LONGEST);
    copy_memory(r.c.source, mine.data(), longest * sizeof(int));
    r.c.bad = r.bad = (int *)(void *)own_memory(sizeof(int));
}

std::vector<int> members(shmem_team_t team)
{
    std::vector<int> all;
    for (int rank = 0; rank < shmem_team_n_pes(team); rank++)
        all.push_back(shmem_team_translate_pe(team, rank, SHMEM_TEAM_WORLD));
    return all;
}

int sum_of(const std::vector<int> &all, size_t i)
{
    int sum = 0;
    for (int pe : all)
        sum += value(pe, i);
    return sum;
}

/* Every call on a team, in each scope. All PEs make these calls, members or not. */
void exercise(const std::string &name, shmem_team_t team, bool few)
{
    std::vector<int> all = members(team);
    const size_t n = all.size();
    const int *at = team == SHMEM_TEAM_INVALID ? nullptr : own(all);
    for (int scope = few ? block : thread; scope <= block; scope++) {
        std::vector<int> none(ROUNDS * (LONGEST + (size_t)pes * BLOCK), -1);
        std::vector<long> zeros((size_t)pes, 0);
        copy_memory(r.c.slots, zeros.data(), zeros.size() * sizeof(long));
        copy_memory(r.c.words, none.data(), ROUNDS * WORDS * sizeof(int));
        copy_memory(r.c.blocks, none.data(), ROUNDS * (size_t)pes * BLOCK * sizeof(int));
        copy_memory(r.c.parts, none.data(), ROUNDS * (size_t)pes * BLOCK * sizeof(int));
        copy_memory(r.c.sums, none.data(), ROUNDS * LONGEST * sizeof(int));
        shmem_barrier_all();
        if (team == SHMEM_TEAM_INVALID)
            continue;
        kernels::team_call c = r.c;
        c.team = team;
        c.n = (int)n;
        c.me = shmem_team_my_pe(team);
        c.pes = at;
        c.scope = scope;
#ifdef EMULATED
        /* At each second call no proxy can access the sources, so kernels send them in pieces. */
        static int calls;
        emulated_global = ++calls % 2 != 0;
#endif
        LAUNCH(threads_of(scope), kernels::exercise, c);
#ifdef EMULATED
        emulated_global = true;
#endif
        const std::string what = name + ", scope " + std::to_string(scope);
        int bad = verdict();
        expect(bad == 0, what + ": check " + std::to_string(bad) + " of the kernel's failed");
        std::vector<int> words = have(c.words, ROUNDS * WORDS),
                         sums = have(c.sums, ROUNDS * LONGEST),
                         blocks = have(c.blocks, ROUNDS * n * BLOCK),
                         parts = have(c.parts, ROUNDS * n * BLOCK);
        size_t wrong_words = 0, wrong_blocks = 0, wrong_parts = 0, wrong_sums = 0;
        for (size_t i = 0; i < ROUNDS; i++) {
            for (size_t k = 0; k < WORDS; k++)
                wrong_words += words[i * WORDS + k] != value(all[i % n], k);
            for (size_t k = 0; k < n * BLOCK; k++) {
                int pe = all[k / BLOCK];
                wrong_blocks += blocks[i * n * BLOCK + k] != value(pe, k % BLOCK);
                wrong_parts +=
                    parts[i * n * BLOCK + k] != value(pe, (size_t)c.me * BLOCK + k % BLOCK);
            }
            for (size_t k = 0; k < LONGEST; k++)
                wrong_sums += sums[i * LONGEST + k] != sum_of(all, k);
        }
        expect(wrong_words == 0, what + ": broadcast: wrong words " + std::to_string(wrong_words));
        expect(wrong_blocks == 0, what + ": fcollect: wrong words " + std::to_string(wrong_blocks));
        expect(wrong_parts == 0, what + ": alltoall: wrong words " + std::to_string(wrong_parts));
        expect(wrong_sums == 0, what + ": sums: wrong words " + std::to_string(wrong_sums));
    }
}

shmem_team_t split(shmem_team_t parent, int start, int stride, int size)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    expect(shmem_team_split_strided(parent, start, stride, size, nullptr, 0, &team) == 0,
           "a split of " + std::to_string(size));
    return team;
}

void shapes(bool few)
{
    exercise("the world", SHMEM_TEAM_WORLD, few);
    exercise("the node", SHMEM_TEAM_SHARED, few);
    exercise("the GPU", SHMEMX_TEAM_SAME_GPU, few);
    bool leads = shmem_team_my_pe(SHMEMX_TEAM_GPU_LEADERS) >= 0;
    exercise("a PE of each GPU", leads ? SHMEMX_TEAM_GPU_LEADERS : SHMEM_TEAM_INVALID, few);
    exercise("multicast", SHMEMX_TEAM_MC_SHARED, few);
    if (!leads) {
        LAUNCH(1, kernels::gone, SHMEMX_TEAM_GPU_LEADERS, r.bad);
        expect(verdict() == 0, "a PE that does not lead is told of the leaders");
    }
    shmem_team_t all = split(SHMEM_TEAM_WORLD, 0, 1, pes);
    shmem_team_t turned = split(SHMEM_TEAM_WORLD, pes - 1, -1, pes);
    shmem_team_t even = split(SHMEM_TEAM_WORLD, 0, 2, (pes + 1) / 2);
    shmem_team_t last = split(SHMEM_TEAM_WORLD, pes - 1, 1, 1);
    shmem_team_t of_node = split(SHMEM_TEAM_SHARED, shmem_team_n_pes(SHMEM_TEAM_SHARED) - 1, -1,
                                 shmem_team_n_pes(SHMEM_TEAM_SHARED));
    shmem_team_t row, column;
    expect(shmem_team_split_2d(turned, 2, nullptr, 0, &row, nullptr, 0, &column) == 0,
           "a split into rows and columns");
    exercise("all", all, few);
    exercise("all, turned", turned, few);
    exercise("the even ones", even, few);
    exercise("the last one", last, few);
    exercise("the node, turned", of_node, few);
    exercise("a row", row, few);
    exercise("a column", column, few);
    exercise("the even ones again", even, true);

    for (shmem_team_t team : {all, turned, even, last, of_node, row, column}) {
        shmem_team_destroy(team);
        if (team == SHMEM_TEAM_INVALID)
            continue;
        LAUNCH(1, kernels::gone, team, r.bad);
        expect(verdict() == 0, "a team that is no more is still there for kernels");
    }
}

/* Rows of two, so that there are several columns; the last row may be shorter. */
void overlaps(int rounds)
{
    shmem_team_t row, column;
    expect(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, nullptr, 0, &row, nullptr, 0, &column) == 0,
           "rows of two");
    const std::vector<int> mates = members(column);
    int *between = symmetric((size_t)rounds), *dest = symmetric((size_t)rounds);
    shmem_barrier_all();
    LAUNCH(threads_of(block), kernels::overlap, row, column, r.c.source, between, dest, rounds,
           r.bad);
    expect(verdict() == 0, "a sum of rows and columns failed");
    std::vector<int> sums = have(dest, (size_t)rounds);
    size_t bad = 0;
    for (size_t i = 0; i < (size_t)rounds; i++) {
        int want = 0;
        for (int pe : mates)
            for (int mate = pe & ~1; mate < pes && mate <= (pe | 1); mate++)
                want += value(mate, i);
        bad += sums[i] != want;
    }
    expect(bad == 0, "sums over rows and columns: wrong ones " + std::to_string(bad));
    shmem_team_destroy(row);
    shmem_team_destroy(column);
}

/* The i-th of many: its start, stride and size differ from its neighbours'. */
shmem_team_t one_of_many(int i)
{
    int size = 1 + i % pes, stride = i % 2 && size == pes ? -1 : 1;
    return split(SHMEM_TEAM_WORLD, stride < 0 ? pes - 1 : (i / pes) % (pes - size + 1), stride,
                 size);
}

void hundreds(int count, int turns)
{
    std::vector<shmem_team_t> teams;
    for (int i = 0; i < count; i++)
        teams.push_back(one_of_many(i));
    int *dest = symmetric((size_t)count);
    for (int turn = 0; turn < turns; turn++) {
        shmem_barrier_all();
        LAUNCH(1, kernels::many, own(teams), count, r.c.source, dest, r.bad);
        expect(verdict() == 0, "a sum over one of many teams failed");
        std::vector<int> sums = have(dest, (size_t)count);
        size_t bad = 0;
        for (size_t i = 0; i < teams.size(); i++)
            bad += teams[i] != SHMEM_TEAM_INVALID && sums[i] != sum_of(members(teams[i]), 0);
        expect(bad == 0, "sums over many teams: wrong ones " + std::to_string(bad));
        shmem_barrier_all();
        /* Other teams get the places of some of them, with flags of so many steps. */
        for (int i = turn; i < count; i += 3)
            shmem_team_destroy(teams[(size_t)i]);
        for (int i = turn; i < count; i += 3)
            teams[(size_t)i] = one_of_many(count + i + turn);
    }
    for (shmem_team_t team : teams)
        shmem_team_destroy(team);
}

} // namespace

int main(int argc, char **argv)
{
    begin("teams");
    bool few = argc > 1 && strcmp(argv[1], "few") == 0;
    open_room();
    shapes(few);
    overlaps(few ? 20 : 200);
    hundreds(argc > 2 ? atoi(argv[2]) : few ? 60 : 300, 3);
    return end();
}
