/*
 * many: 64 puts of 8 KiB to one PE, which waits until all of them are there and answers. The puts
 * are announced in three ways: each by a notification, each by a signal, or all by one signal
 * behind a fence. Notifications are an extension of libshmem.
 *
 *   many [milliseconds a figure]
 *
 * Output, from PE 0, tab-separated:   metric  size  value  unit
 * A value is the time from the first put to the answer, the median of many.
 */
#include <shmem.h>
#include <shmemx.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PUTS = 64, BYTES = 8192, MOST = 20000, FEWEST = 20 };

static int me, peer;
static char *from, *to;          /* PUTS pieces of BYTES bytes */
static uint64_t *signals, *last; /* one for each put, and the answer */
static double took[MOST];        /* nanoseconds, by the number of the turn */
static long errors;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static char *piece(char *area, int i)
{
    return area + (size_t)i * BYTES;
}

/* A turn is 64 puts and the answer. One count of turns runs through all figures, so that no signal
 * has to be reset. notify is measured first, so the counter of notifications is PUTS times the
 * count of turns. It is counter 0, which each program has (SHMEM_NOTIFY_COUNT). */
static void put_notify(uint64_t turn)
{
    (void)turn;
    for (int i = 0; i < PUTS; i++)
        shmemx_putmem_notify_nbi(piece(to, i), piece(from, i), BYTES, 0 /* counter */, peer);
}
static void await_notify(uint64_t turn)
{
    shmemx_notify_wait(0 /* counter */, turn * PUTS);
}

static void put_signal(uint64_t turn)
{
    for (int i = 0; i < PUTS; i++)
        shmem_putmem_signal_nbi(piece(to, i), piece(from, i), BYTES, &signals[i], turn,
                                SHMEM_SIGNAL_SET, peer);
}
static void await_signal(uint64_t turn)
{
    for (int i = 0; i < PUTS; i++)
        shmem_signal_wait_until(&signals[i], SHMEM_CMP_EQ, turn);
}

static void put_fence(uint64_t turn)
{
    for (int i = 0; i < PUTS; i++)
        shmem_putmem_nbi(piece(to, i), piece(from, i), BYTES, peer);
    shmem_fence();
    shmem_signal_set(&signals[0], turn, peer);
}
static void await_fence(uint64_t turn)
{
    shmem_signal_wait_until(&signals[0], SHMEM_CMP_EQ, turn);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One turn: PE 0 puts; PE 1 waits, answers, and then checks the bytes. */
static void turn_of(void (*put)(uint64_t), void (*await)(uint64_t), uint64_t turn)
{
    if (me == 0) {
        memset(from, (int)(turn % 251), (size_t)PUTS * BYTES);
        double begin = now();
        put(turn);
        shmem_signal_wait_until(last, SHMEM_CMP_EQ, turn);
        took[turn % MOST] = now() - begin;
        shmem_quiet();
    } else {
        await(turn);
        shmem_signal_set(last, turn, peer);
        for (int i = 0; i < PUTS; i++)
            errors += piece(to, i)[0] != (char)(turn % 251) ||
                      piece(to, i)[BYTES - 1] != (char)(turn % 251);
    }
    shmem_barrier_all();
}

/* Prints the median of n turns, after FEWEST turns that do not count. */
static void figure(const char *name, void (*put)(uint64_t), void (*await)(uint64_t), long n)
{
    static uint64_t turn;
    double all[MOST];
    for (long i = -FEWEST; i < n; i++) {
        turn_of(put, await, ++turn);
        if (i >= 0)
            all[i] = took[turn % MOST];
    }
    if (me != 0)
        return;
    qsort(all, (size_t)n, sizeof *all, ascending);
    printf("%s\t%d\t%.6g\tus\n", name, BYTES, all[n / 2] / 1e3);
}

int main(int argc, char **argv)
{
    double budget = argc > 1 ? atof(argv[1]) : 100;
    shmem_init();
    me = shmem_my_pe();
    if (shmem_n_pes() != 2 || budget <= 0) {
        fprintf(stderr, "many: run it with 2 PEs, and milliseconds above 0\n");
        shmem_global_exit(2);
    }
    peer = 1 - me;
    from = malloc((size_t)PUTS * BYTES);
    to = shmem_malloc((size_t)PUTS * BYTES);
    signals = shmem_calloc(PUTS, sizeof *signals);
    last = shmem_calloc(1, sizeof *last);
    if (from == NULL || to == NULL || signals == NULL || last == NULL) {
        fprintf(stderr, "many: no memory\n");
        shmem_global_exit(1);
    }
    long n = (long)(budget * 1e3 / 500); /* a turn takes some 0.5 ms over tcp */
    n = n < FEWEST ? FEWEST : n > MOST ? MOST : n;
    figure("many_notify", put_notify, await_notify, n);
    figure("many_signal", put_signal, await_signal, n);
    figure("many_fence_signal", put_fence, await_fence, n);
    if (me != 0) /* PE 0 prints what PE 1 found */
        shmem_putmem(&signals[0], &errors, sizeof errors, 0);
    shmem_barrier_all();
    if (me == 0)
        printf("errors\t0\t%ld\t\n", (long)signals[0]);
    shmem_finalize();
    return 0;
}
