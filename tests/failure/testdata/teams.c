/*
 * teams.c: PEs die one after another, and the survivors make a team and work in it.
 *
 * The arguments: how they die, seed, and the PEs that do, in this order.
 *   before   outside of any call
 *   inside   while the survivors agree, after some microseconds that the seed chooses
 *   working  in the middle of collective calls of the team
 * The last team must be that of all living PEs; on the way each team must be the same on all of its
 * PEs.
 */
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PES = 64, MAX_TEAMS = 64, N = 100 };

static int me, n, passed, failed, made;
static uint64_t random_state;

#include "check.h"

/* Symmetric. sets[i * MAX_PES + pe] has the members of the i-th team of PE pe. */
static uint64_t *sets;
static long *from, *to;

static uint64_t chance(uint64_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % below;
}

static void *end_soon(void *arg)
{
    usleep((useconds_t)(uintptr_t)arg);
    kill(getpid(), SIGKILL);
    return NULL;
}

static uint64_t members(shmem_team_t team)
{
    uint64_t set = 0;
    for (int rank = 0; rank < shmem_team_n_pes(team); rank++)
        set |= (uint64_t)1 << shmem_team_translate_pe(team, rank, SHMEM_TEAM_WORLD);
    return set;
}

/* Whether the calls of a team succeeded; their results are checked then. */
static bool worked;

static bool did(int rc)
{
    worked = worked && rc == 0;
    return worked;
}

/* Each collective call, as often as times. */
static bool work(shmem_team_t team, int times)
{
    int size = shmem_team_n_pes(team), rank = shmem_team_my_pe(team);
    long sum = 0;
    for (int r = 0; r < size; r++)
        sum += shmem_team_translate_pe(team, r, SHMEM_TEAM_WORLD);
    worked = true;
    for (int round = 0; round < times && worked; round++) {
        for (int i = 0; i < N * size; i++)
            from[i] = (long)me * 1000 + round + i;
        did(shmem_team_sync(team));
        if (did(shmem_long_sum_reduce(team, to, from, N)))
            CHECK(to[N - 1] == sum * 1000 + (long)size * (round + N - 1), "sum %ld", to[N - 1]);
        did(shmem_team_sync(team));
        if (did(shmem_long_fcollect(team, to, from, N)))
            for (int r = 0; r < size; r++)
                CHECK(to[r * N + 5] ==
                          shmem_team_translate_pe(team, r, SHMEM_TEAM_WORLD) * 1000L + round + 5,
                      "fcollect of rank %d: %ld", r, to[r * N + 5]);
        did(shmem_team_sync(team));
        if (did(shmem_long_collect(team, to, from, (size_t)rank)))
            CHECK(size == 1 ||
                      to[(size - 2) * (size - 1) / 2] ==
                          shmem_team_translate_pe(team, size - 1, SHMEM_TEAM_WORLD) * 1000L + round,
                  "collect: %ld", to[(size - 2) * (size - 1) / 2]);
        did(shmem_team_sync(team));
        if (did(shmem_long_broadcast(team, to, from, N, size - 1)))
            CHECK(to[N - 1] == shmem_team_translate_pe(team, size - 1, SHMEM_TEAM_WORLD) * 1000L +
                                   round + N - 1,
                  "broadcast: %ld", to[N - 1]);
        did(shmem_team_sync(team));
        if (did(shmem_long_alltoall(team, to, from, N)))
            for (int r = 0; r < size; r++)
                CHECK(to[r * N] == shmem_team_translate_pe(team, r, SHMEM_TEAM_WORLD) * 1000L +
                                       round + rank * N,
                      "alltoall of rank %d: %ld", r, to[r * N]);
        did(shmem_team_sync(team));
        if (did(shmem_long_alltoalls(team, to, from, 1, 1, N)))
            CHECK(to[0] ==
                      shmem_team_translate_pe(team, 0, SHMEM_TEAM_WORLD) * 1000L + round + rank * N,
                  "alltoalls: %ld", to[0]);
        did(shmem_team_sync(team));
        if (did(shmem_long_sum_inscan(team, to, from, 1)) && rank == size - 1)
            CHECK(to[0] == sum * 1000 + (long)size * round, "inscan: %ld", to[0]);
        did(shmem_team_sync(team));
    }
    return worked;
}

/* Teams of a team of survivors. */
static void divide(shmem_team_t team)
{
    int size = shmem_team_n_pes(team), rank = shmem_team_my_pe(team);
    shmem_team_t even, x, y;
    int rc = shmem_team_split_strided(team, 0, 2, (size + 1) / 2, NULL, 0, &even);
    CHECK(rc == 0, "split_strided answers %d", rc);
    CHECK((even != SHMEM_TEAM_INVALID) == (rank % 2 == 0), "split_strided of rank %d", rank);
    if (even != SHMEM_TEAM_INVALID) {
        CHECK(work(even, 2), "%s", shmemx_last_error_text());
        shmem_team_destroy(even);
    }
    CHECK(shmem_team_split_2d(team, 2, NULL, 0, &x, NULL, 0, &y) == 0, "split_2d");
    CHECK(work(x, 1), "%s", shmemx_last_error_text());
    CHECK(work(y, 1), "%s", shmemx_last_error_text());
    shmem_team_destroy(x);
    shmem_team_destroy(y);
}

/* The team of the living PEs, as this PE sees it. */
static shmem_team_t survivors(shmem_team_t parent)
{
    shmem_team_t team;
    int rc = shmemx_team_survivors(parent, &team);
    CHECK(rc == 0 && team != SHMEM_TEAM_INVALID, "survivors answers %d", rc);
    uint64_t set = members(team);
    CHECK(set >> me & 1, "PE %d is not in its own team", me);
    for (int pe = 0; pe < n; pe++)
        shmem_uint64_p(&sets[made * MAX_PES + me], set, pe);
    shmem_quiet();
    made++;
    return team;
}

int main(int argc, char **argv)
{
    int provided;
    if (argc < 4 || shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0)
        return 2;
    me = shmem_my_pe();
    n = shmem_n_pes();
    sets = shmem_calloc(MAX_TEAMS * MAX_PES, sizeof *sets);
    from = shmem_calloc((size_t)n * N, sizeof *from);
    to = shmem_calloc((size_t)n * N, sizeof *to);
    if (to == NULL)
        return 2;
    const char *way = argv[1];
    shmem_team_t team = SHMEM_TEAM_WORLD, next = survivors(SHMEM_TEAM_WORLD);
    CHECK(members(next) == ((uint64_t)1 << n) - 1, "a team of all has not all");
    CHECK(work(SHMEM_TEAM_WORLD, 1), "%s", shmemx_last_error_text());
    uint64_t alive = members(next);
    for (int i = 3; i < argc; i++) {
        int victim = atoi(argv[i]);
        random_state = strtoull(argv[2], NULL, 10) * 1000 + (uint64_t)i;
        uint64_t delay = strcmp(way, "working") == 0 ? chance(3000) : chance(400);
        /* The victim may have passed the last sync, and died, before it has informed the others. */
        CHECK(work(next, 2) || (me != victim && shmemx_last_error() == SHMEMX_ERROR_PE_LOST &&
                                shmemx_last_error_pe() == victim),
              "team of %d: %s", shmem_team_n_pes(next), shmemx_last_error_text());
        team = next;
        if (me == victim) {
            pthread_t thread;
            if (strcmp(way, "before") == 0)
                kill(getpid(), SIGKILL);
            pthread_create(&thread, NULL, end_soon, (void *)(uintptr_t)delay);
            if (strcmp(way, "inside") == 0)
                (void)survivors(team);
            for (;;)
                work(team, 1);
        }
        alive &= ~((uint64_t)1 << victim);
        if (strcmp(way, "inside") != 0) {
            while (work(team, 1))
                ;
            CHECK(shmemx_last_error() == SHMEMX_ERROR_PE_LOST && shmemx_last_error_pe() == victim,
                  "a team with a lost PE: %s", shmemx_last_error_text());
            shmem_team_t none;
            CHECK(shmem_team_split_strided(team, 0, 1, 1, NULL, 0, &none) != 0, "a split of it");
        }
        /* One more for each PE that dies after the team was agreed on. */
        for (next = survivors(team); members(next) != alive; next = survivors(team)) {
            CHECK((members(next) & alive) == alive, "a living PE is missing: %#lx",
                  (unsigned long)members(next));
            while (work(next, 1))
                ;
            (void)shmemx_last_error();
            shmem_team_destroy(next);
        }
        if (i % 2 == 0)
            shmem_team_destroy(team);
        CHECK(work(next, 5), "team of survivors: %s", shmemx_last_error_text());
        divide(next);
    }
    /* All PEs have arrived, and each has its results. */
    CHECK(shmem_team_sync(next) == 0, "the last sync");
    for (int i = 0; i < made; i++)
        for (int pe = 0; pe < n; pe++)
            CHECK(!(alive >> pe & 1) || sets[i * MAX_PES + pe] == sets[i * MAX_PES + me],
                  "team %d has %#lx at PE %d and %#lx here", i,
                  (unsigned long)sets[i * MAX_PES + pe], pe, (unsigned long)sets[i * MAX_PES + me]);
    CHECK(shmem_team_sync(next) == 0, "the last sync");
    shmem_finalize();
    printf("teams: %d passed, %d failed, %d teams\n", passed, failed, made);
    return failed != 0;
}
