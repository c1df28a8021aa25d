/*
 * survive.c: one PE is killed, and the others continue among themselves.
 *
 * When the victim dies each survivor is in a call that needs it, a different call on each PE: the
 * first argument modulo the number of calls selects it. Then all try every call on the victim, and
 * finally work without it. The arguments: the victim; kill, exit or segv for how it ends; and
 * optionally a file for which the victim waits first.
 */
#define SHMEM_ALLOW_DEPRECATED
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 4096, LARGE = 1 << 20, ROUNDS = 50 };

static int me, n, victim, passed, failed;
static _Atomic int told, told_pe;
static char told_text[256];

#include "check.h"
#include "entering.h"

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void handler(int error, int pe, const char *text, void *arg)
{
    if (error == SHMEMX_ERROR_PE_LOST)
        told_pe = pe;
    snprintf(told_text, sizeof told_text, "%s", text);
    ++*(_Atomic int *)arg;
}

/* The last call has reported the loss of the victim, and so has the handler. */
static void lost(const char *call)
{
    int error = shmemx_last_error();
    CHECK(error == SHMEMX_ERROR_PE_LOST, "%s: error %d", call, error);
    CHECK(shmemx_last_error_pe() == victim, "%s: about PE %d", call, shmemx_last_error_pe());
    CHECK(strstr(shmemx_last_error_text(), call) != NULL, "%s: \"%s\"", call,
          shmemx_last_error_text());
    CHECK(told > 0 && told_pe == victim && strcmp(told_text, shmemx_last_error_text()) == 0,
          "%s: told %d times, of PE %d, \"%s\"", call, told, told_pe, told_text);
    told = 0;
    CHECK(shmemx_last_error() == SHMEMX_SUCCESS, "%s: the error is told twice", call);
}

static int next_survivor(int pe)
{
    do
        pe = (pe + 1) % n;
    while (pe == victim);
    return pe;
}

/* Symmetric. */
static long *set_sync, *set_work;
static long *words, *source_words, *counter, *arrived, *released;
static uint64_t *death, *never, *signal_word;
static char *large, *from;

/* The call in which a survivor is when the victim dies. */
static const char *be_in_call(int way)
{
    long sum;
    switch (way % 4) {
    case 0:
        shmem_uint64_wait_until(never, SHMEM_CMP_EQ, 1);
        return "shmem_uint64_wait_until";
    case 1:
        shmem_barrier_all();
        return "shmem_barrier_all";
    case 2:
        shmem_signal_wait_until(never, SHMEM_CMP_EQ, 1);
        return "shmem_signal_wait_until";
    default: /* operations on it, until one fails */
        do {
            sum = shmem_long_atomic_fetch_add(counter, 1, victim);
            shmem_putmem(large, from, LARGE, victim);
            shmem_getmem(from, large, LARGE, victim);
        } while (shmemx_last_error_text()[0] == 0);
        (void)sum;
        return "shmem_";
    }
}

/* One wait of each kind ends, whatever call was the first to meet the loss, and no later one. */
static void wait_for_the_dead(bool has_waited)
{
    long value;
    if (!has_waited) {
        shmem_uint64_wait_until(never, SHMEM_CMP_EQ, 1);
        lost("shmem_uint64_wait_until");
    }
    CHECK(shmemx_notify_wait(0, 1) == 0, "a notification of the dead");
    lost("shmemx_notify_wait");
    CHECK(shmemx_recv(&value, sizeof value, NULL, NULL, NULL) == -1, "a message of the dead");
    lost("shmemx_recv");
    CHECK(shmem_uint64_test(never, SHMEM_CMP_EQ, 1) == 0, "a test for the dead");
    lost("shmem_uint64_test");
    CHECK(shmem_uint64_test(never, SHMEM_CMP_EQ, 1) == 0, "a second test for the dead");
    CHECK(shmemx_recv_test(&value, sizeof value, NULL, NULL, NULL) == 0, "a second receive");
    CHECK(shmemx_notify_test(0, 1) == 0, "a second test for a notification");
    CHECK(shmemx_last_error() == SHMEMX_SUCCESS, "told again: %s", shmemx_last_error_text());
}

/* An operation for quiet to complete. */
static void p_to_all(void)
{
    for (int pe = 0; pe < n; pe++)
        if (pe != victim)
            shmem_long_p(words, 0, pe);
}

static void ask_the_dead(void)
{
    long value = 7, got[4] = {1, 2, 3, 4}, fetched = 9;
    told = 0;
    shmem_long_p(words, 1, victim);
    lost("shmem_long_p");
    CHECK(shmem_long_g(words, victim) == 0, "g fetched something");
    lost("shmem_long_g");
    shmem_long_put(words, &value, 1, victim);
    lost("shmem_long_put");
    shmem_putmem(large, from, LARGE, victim);
    lost("shmem_putmem");
    shmem_putmem_nbi(large, from, LARGE, victim);
    lost("shmem_putmem_nbi");
    shmem_long_get(got, words, 4, victim);
    lost("shmem_long_get");
    shmem_long_get_nbi(got, words, 4, victim);
    lost("shmem_long_get_nbi");
    shmem_long_atomic_add(counter, 1, victim);
    lost("shmem_long_atomic_add");
    CHECK(shmem_long_atomic_fetch_add(counter, 1, victim) == 0, "a fetch from the dead");
    lost("shmem_long_atomic_fetch_add");
    CHECK(shmem_long_atomic_compare_swap(counter, 0, 1, victim) == 0, "a swap with the dead");
    lost("shmem_long_atomic_compare_swap");
    shmem_long_atomic_fetch_nbi(&fetched, counter, victim);
    lost("shmem_long_atomic_fetch_nbi");
    CHECK(fetched == 0, "fetched %ld", fetched);
    shmem_putmem_signal(large, from, LARGE, signal_word, 1, SHMEM_SIGNAL_SET, victim);
    lost("shmem_putmem_signal");
    /* Earlier operations to the victim may be lost, which one quiet reports. */
    p_to_all();
    shmem_quiet();
    if (told > 0)
        lost("shmem_quiet");
    p_to_all();
    shmem_quiet();
    shmem_fence();
    CHECK(shmemx_last_error() == SHMEMX_SUCCESS, "quiet: %s", shmemx_last_error_text());
    CHECK(!shmem_pe_accessible(victim), "the dead are accessible");
    CHECK(!shmem_addr_accessible(words, victim), "their memory is");
    CHECK(shmem_ptr(words, victim) == NULL, "shmem_ptr of the dead");
    CHECK(shmem_pe_accessible(next_survivor(me)), "survivors are not accessible");
    shmem_barrier_all();
    lost("shmem_barrier_all");
    shmem_sync_all();
    lost("shmem_sync_all");
    CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, words, source_words, 1) != 0, "a sum of all");
    lost("shmem_long_sum_reduce");
    CHECK(shmem_long_broadcast(SHMEM_TEAM_WORLD, words, source_words, 1, victim) != 0,
          "a broadcast");
    lost("shmem_long_broadcast");
    CHECK(shmem_malloc(64) == NULL, "memory without the dead");
    lost("shmem_malloc");
}

/* All survivors synchronize, with the calls that still work. */
static long meetings;

static void gather(void)
{
    int first = victim == 0 ? 1 : 0;
    meetings++;
    shmem_quiet();
    shmem_long_atomic_inc(arrived, first);
    if (me == first) {
        shmem_long_wait_until(arrived, SHMEM_CMP_GE, meetings * (n - 1));
        for (int pe = 0; pe < n; pe++)
            if (pe != victim && pe != me)
                shmem_long_p(released, meetings, pe);
    } else {
        shmem_long_wait_until(released, SHMEM_CMP_GE, meetings);
    }
}

static void meet(void)
{
    gather();
    CHECK(shmemx_last_error() == SHMEMX_SUCCESS, "meeting %ld: %s", meetings,
          shmemx_last_error_text());
}

static void go_on(void)
{
    int to = next_survivor(me), prev = me;
    for (int pe = to; pe != me; pe = next_survivor(pe))
        prev = pe;
    meet();
    *counter = 0; /* of the earlier rounds */
    meet();
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < WORDS; i++)
            source_words[i] = (long)me << 32 | (long)round << 16 | i;
        memset(from, round + me, LARGE);
        shmem_long_put_nbi(words, source_words, (size_t)round * 80, to);
        shmem_fence();
        shmem_putmem_signal(large, from, (size_t)LARGE >> round % 3, signal_word, 1,
                            SHMEM_SIGNAL_ADD, to);
        shmem_long_atomic_add(counter, 3, to);
        shmem_signal_wait_until(signal_word, SHMEM_CMP_GE, (uint64_t)round);
        bool same = true;
        for (int i = 0; i < round * 80; i++)
            same = same && words[i] == ((long)prev << 32 | (long)round << 16 | i);
        CHECK(same, "round %d: words of PE %d are not there", round, prev);
        CHECK(large[0] == (char)(round + prev) && large[LARGE / 4 - 1] == (char)(round + prev),
              "round %d: bytes of PE %d are not there", round, prev);
        meet();
        CHECK(shmem_long_g(words + 1, to) == ((long)me << 32 | (long)round << 16 | 1),
              "round %d: what was put cannot be got", round);
        CHECK(shmem_long_atomic_fetch(counter, to) == 3L * round, "round %d: counted wrong", round);
        meet();
    }
}

/* Active sets: one with the victim fails, and one without it works. */
static void work_in_set(int first, int size)
{
    int start = me > 0 && victim > 0;
    if (n > 2 && (start == 1 || (me < n - 1 && victim < n - 1))) {
        shmem_sync(start, 0, n - 1, set_sync);
        lost("shmem_sync");
        shmem_long_sum_to_all(words, source_words, 1, start, 0, n - 1, set_work, set_sync);
        lost("shmem_long_sum_to_all");
    }
    long *sync = set_sync + SHMEM_SYNC_SIZE, want = 0;
    for (int pe = first; pe < first + size; pe++)
        want += pe;
    *source_words = me;
    for (int round = 0; round < ROUNDS; round++) {
        shmem_long_sum_to_all(words, source_words, 1, first, 0, size, set_work, sync);
        CHECK(*words == want, "the sum of the set is %ld", *words);
        shmem_barrier(first, 0, size, sync + SHMEM_SYNC_SIZE);
    }
    CHECK(shmemx_last_error() == SHMEMX_SUCCESS, "in a set of survivors: %s",
          shmemx_last_error_text());
}

/* A team without the victim has all its collectives. */
static void work_in_team(shmem_team_t team, int first, int size)
{
    long want = 0;
    for (int pe = first; pe < first + size; pe++)
        want += pe;
    for (int round = 0; round < ROUNDS; round++) {
        *source_words = me + round;
        CHECK(shmem_team_sync(team) == 0, "team_sync failed");
        CHECK(shmem_long_sum_reduce(team, words, source_words, 1) == 0, "a sum of the team failed");
        CHECK(*words == want + (long)round * size, "the sum is %ld", *words);
    }
    CHECK(shmemx_last_error() == SHMEMX_SUCCESS, "in a team of survivors: %s",
          shmemx_last_error_text());
}

int main(int argc, char **argv)
{
    int provided;
    if (argc < 3 || shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0)
        return 2;
    me = shmem_my_pe();
    n = shmem_n_pes();
    victim = atoi(argv[1]);
    shmemx_set_error_handler(handler, &told);
    words = shmem_calloc(WORDS, sizeof *words);
    source_words = shmem_calloc(WORDS, sizeof *words);
    counter = shmem_calloc(1, sizeof *counter);
    entering = shmem_calloc(1, sizeof *entering);
    arrived = shmem_calloc(1, sizeof *arrived);
    released = shmem_calloc(1, sizeof *released);
    death = shmem_calloc(1, sizeof *death);
    never = shmem_calloc(1, sizeof *never);
    signal_word = shmem_calloc(1, sizeof *signal_word);
    set_sync = shmem_calloc(3 * SHMEM_SYNC_SIZE, sizeof *set_sync);
    set_work = shmem_calloc(SHMEM_REDUCE_MIN_WRKDATA_SIZE, sizeof *set_work);
    large = shmem_malloc(LARGE);
    from = shmem_malloc(LARGE);
    if (from == NULL)
        return 2;
    /* Those below the victim, or above it. */
    int first = me < victim ? 0 : victim + 1, size = me < victim ? victim : n - 1 - victim;
    shmem_team_t below = SHMEM_TEAM_INVALID, above = SHMEM_TEAM_INVALID;
    if (victim > 0)
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, victim, NULL, 0, &below);
    if (victim < n - 1)
        shmem_team_split_strided(SHMEM_TEAM_WORLD, victim + 1, 1, n - 1 - victim, NULL, 0, &above);
    shmem_barrier_all();
    printf("PE %d is up\n", me);
    fflush(stdout);
    if (me == victim) {
        await_others();
        while (argc > 3 && access(argv[3], F_OK) != 0)
            usleep(10000);
        for (int pe = 0; pe < n; pe++)
            shmem_uint64_p(death, now(), pe);
        shmem_quiet();
        if (strcmp(argv[2], "exit") == 0)
            _exit(3);
        if (strcmp(argv[2], "segv") == 0)
            raise(SIGSEGV);
        kill(getpid(), SIGKILL);
        pause();
    }
    enter();
    const char *call = be_in_call(me);
    uint64_t at = now();
    CHECK(*death != 0 && at - *death < 60000000000u, "knew after %.3f s",
          (double)(at - *death) / 1e9);
    if (me == (victim + 1) % n)
        printf("knew after %.0f ms\n", (double)(at - *death) / 1e6);
    lost(call);
    ask_the_dead();
    wait_for_the_dead(me % 2 == 0); /* see be_in_call */
    go_on();
    work_in_team(me < victim ? below : above, first, size);
    work_in_set(first, size);
    /* Without a launcher a PE that has finished ends, and is lost to the others. */
    gather();
    shmem_finalize();
    printf("survive: %d passed, %d failed\n", passed, failed);
    return failed != 0;
}
