/*
 * locks.c: PEs that hold locks, wait for them, or are their homes die, and the others continue to
 * use the locks.
 *
 * The arguments: the way, seed, and the PEs that die.
 *   holder  the first of them has the lock, and all others wait for it
 *   heir    the same; the second one gets all locks after it, and dies with them
 *   waiter  it waits in the middle of the queue of a lock that another one has
 *   any     all set and clear locks, and each dies at some moment that the seed chooses
 * The locks lie one after the other, so that each PE is the home of some.
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

enum { LOCKS = 16, ROUNDS = 150 };

static int me, n, passed, failed, keeper, told;
static uint64_t random_state;

#include "check.h"

/* Symmetric. owners and counts are on the keeper, which stays alive. */
static long *locks, *owners, *counts, *came;

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

static bool dies(int pe, int argc, char **argv)
{
    for (int i = 3; i < argc; i++)
        if (atoi(argv[i]) == pe)
            return true;
    return false;
}

/* Whether a PE of the list is still alive. */
static bool alive(int argc, char **argv)
{
    for (int i = 3; i < argc; i++)
        if (shmem_pe_accessible(atoi(argv[i])))
            return true;
    return false;
}

/* This PE alone holds the lock now; a PE named as its owner is lost. */
static void enter(int i, int argc, char **argv)
{
    int error = shmemx_last_error();
    if (error != SHMEMX_SUCCESS) {
        told++;
        CHECK(error == SHMEMX_ERROR_PE_LOST && dies(shmemx_last_error_pe(), argc, argv),
              "lock %d: %s", i, shmemx_last_error_text());
    }
    long before = shmem_long_atomic_swap(&owners[i], me + 1, keeper);
    CHECK(before == 0 || (dies((int)before - 1, argc, argv) && error != SHMEMX_SUCCESS),
          "lock %d: PE %ld has it, too; error %d", i, before - 1, error);
    long count = shmem_long_g(&counts[i], keeper);
    shmem_long_p(&counts[i], count + 1, keeper);
    shmem_quiet();
}

static void leave(int i)
{
    long before = shmem_long_atomic_swap(&owners[i], 0, keeper);
    CHECK(before == me + 1, "lock %d: PE %ld had it, too", i, before - 1);
    shmem_clear_lock(&locks[i]);
}

static void use(int i, int argc, char **argv)
{
    if (chance(4) > 0)
        shmem_set_lock(&locks[i]);
    else if (shmem_test_lock(&locks[i]) != 0)
        return;
    enter(i, argc, argv);
    if (chance(8) == 0)
        usleep((useconds_t)chance(200));
    leave(i);
}

/* Survivors wait for each other. */
static void meet(int survivors)
{
    static long meetings;
    meetings += survivors;
    for (int pe = 0; pe < n; pe++)
        shmem_long_atomic_inc(came, pe);
    shmem_quiet();
    while (shmem_long_g(came, me) < meetings)
        usleep(200);
    while (shmemx_last_error() != SHMEMX_SUCCESS)
        ;
}

/* Acts like PEs that were in the queue behind this one when another was lost, and that only now
 * report this: the lower half of a lock names the next PE (capi/front/lock.c). */
static void tell_late(void)
{
    for (int i = 0; i < LOCKS; i++)
        shmem_uint32_atomic_or((uint32_t *)&locks[i], (uint32_t)((me + 1) % n) + 1, me);
}

int main(int argc, char **argv)
{
    int provided;
    if (argc < 4 || shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0)
        return 2;
    me = shmem_my_pe();
    n = shmem_n_pes();
    while (dies(keeper, argc, argv))
        keeper++;
    locks = shmem_calloc(LOCKS, sizeof *locks);
    owners = shmem_calloc(LOCKS, sizeof *owners);
    counts = shmem_calloc(LOCKS, sizeof *counts);
    came = shmem_calloc(1, sizeof *came);
    if (came == NULL)
        return 2;
    int victim = atoi(argv[3]), survivors = n - (argc - 3);
    random_state = strtoull(argv[2], NULL, 10) * 64 + (uint64_t)me;
    bool one_dies = strcmp(argv[1], "any") != 0;
    for (int i = 0; one_dies && i < LOCKS; i++) {
        int first = strcmp(argv[1], "waiter") == 0 ? keeper : victim;
        if (me == first) {
            shmem_set_lock(&locks[i]);
            enter(i, argc, argv);
        }
    }
    shmem_barrier_all();
    if (one_dies && me == victim) {
        pthread_t thread;
        pthread_create(&thread, NULL, end_soon, (void *)(uintptr_t)100000);
        shmem_set_lock(&locks[chance(LOCKS)]); /* the holder's own: it dies here */
    } else if (one_dies && strcmp(argv[1], "waiter") == 0 && me == keeper) {
        while (shmem_pe_accessible(victim))
            usleep(1000);
        usleep(20000); /* time for PEs that would take the locks from this one */
        (void)shmemx_last_error();
        for (int i = 0; i < LOCKS; i++)
            leave(i);
    } else if (strcmp(argv[1], "heir") == 0) {
        int heir = atoi(argv[4]);
        while (shmem_pe_accessible(me == heir ? victim : heir))
            usleep(1000);
        for (int i = 0; me == heir && i < LOCKS; i++) {
            shmem_set_lock(&locks[i]);
            enter(i, argc, argv);
        }
        if (me == heir)
            kill(getpid(), SIGKILL);
    } else if (dies(me, argc, argv)) {
        pthread_t thread;
        pthread_create(&thread, NULL, end_soon, (void *)(uintptr_t)(2000 + chance(60000)));
        for (;;)
            use((int)chance(LOCKS), argc, argv);
    }
    for (int i = 0; one_dies && i < LOCKS; i++) {
        shmem_set_lock(&locks[i]);
        enter(i, argc, argv);
        leave(i);
    }
    for (int round = 0; round < ROUNDS || alive(argc, argv); round++)
        use((int)chance(LOCKS), argc, argv);
    meet(survivors);
    /* The death of a lock's holder is reported to the next holder, and not to those after it. */
    for (int i = 0; i < LOCKS; i++) {
        shmem_set_lock(&locks[i]);
        enter(i, argc, argv);
        leave(i);
    }
    meet(survivors);
    tell_late();
    told = 0;
    for (int i = 0; i < LOCKS; i++) {
        shmem_set_lock(&locks[i]);
        enter(i, argc, argv);
        CHECK(shmem_long_g(&counts[i], keeper) > 0, "lock %d was never used", i);
        leave(i);
    }
    CHECK(told == 0, "told of %d dead owners when there are none any more", told);
    meet(survivors);
    CHECK(shmem_long_g(&owners[0], keeper) == 0, "an owner is left");
    shmem_finalize();
    printf("locks: %d passed, %d failed\n", passed, failed);
    return failed != 0;
}
