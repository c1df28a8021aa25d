/*
 * standstill.c: collective calls behind bulk data return soon after the last PE has arrived.
 *
 *     standstill [PUTS [SECONDS [OVERSLEPT]]]
 *
 * Each PE puts to the next one, PUTS times (10,000), then comes a reduction, then a barrier, for 4
 * to 64 KiB. Bytes of a one-sided write may still lie unread at their target when the reduction
 * begins, and a proxy that sleeps in spite of them delays all PEs. So each call has to return
 * within SECONDS (1) after the last PE has entered it, and all proxies together may oversleep
 * OVERSLEPT times (3).
 *
 * All PEs have to be on one machine, whose clock they compare.
 */
#include "check.h"

#include <shmemx.h>
#include <time.h>

enum { CONTENTS, REDUCTIONS, BARRIERS, OVERSLEPT, TESTS };
enum { LEAST = 4096, MOST = 65536, ROUNDS = 5, HEAP = 8 << 20 };
enum { BEGIN, ENTER_REDUCTION, LEAVE_REDUCTION, ENTER_BARRIER, LEAVE_BARRIER, MOMENTS };

static long puts_of_a_size = 10000;
static double limit = 1;
static long overslept_limit = 3;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Each size has a place of its own, so that all can be checked when the rounds are over: a check
 * between them would need one more barrier, with which the defect does not occur. */
static size_t place(int round)
{
    return (size_t)LEAST * ((1U << round) - 1);
}

/* A byte differs from PE to PE and from place to place. */
static unsigned char content(int pe, size_t at)
{
    return (unsigned char)(check_mix(at / 8 + ((uint64_t)pe << 32)) >> (at % 8 * 8));
}

static void rounds(char *dest, const char *source, double *value, double (*at)[MOMENTS])
{
    for (int round = 0; round < ROUNDS; round++) {
        size_t bytes = (size_t)LEAST << round, from = place(round);
        double *t = at[round];
        t[BEGIN] = now();
        for (long i = 0; i < puts_of_a_size; i++)
            shmem_putmem(dest + from, source + from, bytes, check_right());
        value[0] = t[ENTER_REDUCTION] = now();
        shmem_double_max_reduce(SHMEM_TEAM_WORLD, &value[1], &value[0], 1);
        t[LEAVE_REDUCTION] = now();
        double most = value[1];
        t[ENTER_BARRIER] = now();
        shmem_barrier_all();
        t[LEAVE_BARRIER] = now();
        check_start(REDUCTIONS, "reduction behind puts");
        CHECK(most >= t[ENTER_REDUCTION] && most <= t[LEAVE_REDUCTION],
              "the most of %zu bytes is %f, was %f to %f", bytes, most, t[ENTER_REDUCTION],
              t[LEAVE_REDUCTION]);
    }
}

static void look_at_contents(const char *dest)
{
    check_start(CONTENTS, "bytes that were put");
    for (size_t i = 0, end = place(ROUNDS); i < end; i++)
        CHECK((unsigned char)dest[i] == content(check_left(), i), "byte %zu is wrong", i);
    for (size_t i = place(ROUNDS); i < HEAP; i++)
        CHECK(dest[i] == 0, "byte %zu was written", i);
}

/* The longest time that a PE was in a call after the last one had entered it; each PE above the
 * limit is named. */
static double longest(const double (*at)[ROUNDS][MOMENTS], int round, int enter, const char *call)
{
    double last = 0, most = 0;
    for (int pe = 0; pe < check.n; pe++)
        if (at[pe][round][enter] > last)
            last = at[pe][round][enter];
    for (int pe = 0; pe < check.n; pe++) {
        double took = at[pe][round][enter + 1] - last;
        if (took > most)
            most = took;
        CHECK(took <= limit, "PE %d stood in the %s behind puts of %d bytes for %.3f s", pe, call,
              LEAST << round, took);
    }
    return most;
}

/* On PE 0, which has the times of all. */
static void judge(const double (*at)[ROUNDS][MOMENTS])
{
    for (int round = 0; round < ROUNDS; round++) {
        double begin = at[0][round][BEGIN], end = at[0][round][LEAVE_BARRIER];
        for (int pe = 1; pe < check.n; pe++) {
            begin = at[pe][round][BEGIN] < begin ? at[pe][round][BEGIN] : begin;
            end = at[pe][round][LEAVE_BARRIER] > end ? at[pe][round][LEAVE_BARRIER] : end;
        }
        check_start(REDUCTIONS, "reduction behind puts");
        double reduction = longest(at, round, ENTER_REDUCTION, "reduction");
        check_start(BARRIERS, "barrier behind puts");
        double barrier = longest(at, round, ENTER_BARRIER, "barrier");
        printf("%d bytes: %.3f s, reduction at most %.6f s, barrier %.6f s\n", LEAST << round,
               end - begin, reduction, barrier);
    }
}

static void look_at_sleeps(uint64_t *slept)
{
    check_start(OVERSLEPT, "proxy_overslept");
    uint64_t mine = 0;
    int id = shmemx_pcntr_find("proxy_overslept");
    CHECK(id < 0 || shmemx_pcntr_get(id, -1, &mine) == 0, "it cannot be read");
    slept[0] = mine;
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, &slept[1], &slept[0], 1);
    CHECK(slept[1] <= (uint64_t)overslept_limit, "proxies overslept %llu times, %llu of them here",
          (unsigned long long)slept[1], (unsigned long long)mine);
    if (check.me == 0)
        printf("overslept: %llu%s\n", (unsigned long long)slept[1], id < 0 ? " (no counter)" : "");
}

int main(int argc, char **argv)
{
    if (argc > 1)
        puts_of_a_size = strtol(argv[1], NULL, 10);
    if (argc > 2)
        limit = strtod(argv[2], NULL);
    if (argc > 3)
        overslept_limit = strtol(argv[3], NULL, 10);
    check_open("standstill", TESTS);
    char *dest = check_alloc(HEAP), *source = check_alloc(HEAP);
    double(*at)[MOMENTS] = check_alloc(ROUNDS * sizeof *at);
    double(*all)[ROUNDS][MOMENTS] = check_alloc((size_t)check.n * sizeof *all);
    double *value = check_alloc(2 * sizeof *value);
    uint64_t *slept = check_alloc(2 * sizeof *slept);
    memset(dest, 0, HEAP);
    for (size_t i = 0, end = place(ROUNDS); i < end; i++)
        source[i] = (char)content(check.me, i);
    shmem_barrier_all();

    rounds(dest, source, value, at);
    look_at_contents(dest);
    look_at_sleeps(slept);
    shmem_double_fcollect(SHMEM_TEAM_WORLD, &all[0][0][0], &at[0][0], (size_t)ROUNDS * MOMENTS);
    if (check.me == 0)
        judge((const double(*)[ROUNDS][MOMENTS])all);
    return check_close();
}
