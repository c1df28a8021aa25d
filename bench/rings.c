/*
 * rings: the cost of passing an operation to the proxy through a ring, for host threads over a
 * network.
 *
 * PE 0 pushes; the last PE is the target, and waits in a call. Rows:
 *   ring_first     until a sleeping proxy has taken an operation out of its ring: the median, and
 *                  the worst, of 20 pushes 150 ms apart
 *   ring_taken     the same while the proxy is awake
 *   ring_p_quiet   an 8-byte put and a quiet through the ring
 *   call_p_quiet   the same by the calls of the library
 *   ring_idle      the share of a core that the process uses in a second without work
 *   wake           the limit of ring_first: until a thread that sleeps in poll, as the proxy does,
 *                  is awake after a write to its eventfd
 *
 * Output, from PE 0, tab-separated:   metric  size  value  unit
 */
#include <shmem.h>
#include <shmem/state.h>

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { FIRST = 20, MANY = 2000 }; /* samples with a proxy that sleeps, and with one that is awake */

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static const struct shmemi_device_state *state;
static const struct shmemi_ring *ring;

/* Pushes a put of 4 bytes to offset place of pe's segment. Returns the time until the proxy has
 * taken it, in us. The slot has the logarithm of the 4 bytes, and context 0, the default one. */
static double push(uint64_t place, int pe, uint32_t value)
{
    struct shmemi_words w = shmemi_pack_p((uint32_t)pe, 0 /* context */, place, 2, value);
    double begin = now(CLOCK_MONOTONIC);
    uint64_t p = shmemi_push(ring, &w, SHMEMI_SLOTS_P);
    if (shmemi_wait_past(ring, &shmemi_progress_of(ring)->tail, p) != 0)
        shmem_global_exit(3);
    return (now(CLOCK_MONOTONIC) - begin) * 1e6;
}

static void row(const char *metric, int size, double value, const char *unit)
{
    printf("%s\t%d\t%.6g\t%s\n", metric, size, value, unit);
}

static int bell;      /* the eventfd on which sleeper waits */
static uint32_t rung; /* how often sleeper has been woken */

static void *sleeper(void *arg)
{
    for (uint32_t woken = 0; woken < FIRST;) {
        struct pollfd fd = {.fd = bell, .events = POLLIN};
        uint64_t n;
        if (poll(&fd, 1, 100) > 0 && read(bell, &n, sizeof n) == sizeof n)
            __atomic_store_n(&rung, ++woken, __ATOMIC_RELEASE);
    }
    return arg;
}

/* Measures wake. */
static void wake(double *sample)
{
    pthread_t thread;
    uint64_t one = 1;
    bell = eventfd(0, 0);
    if (bell < 0 || pthread_create(&thread, NULL, sleeper, NULL) != 0)
        shmem_global_exit(5);
    for (uint32_t i = 0; i < FIRST; i++) {
        usleep(150000);
        uint32_t looks = 0;
        double begin = now(CLOCK_MONOTONIC);
        if (write(bell, &one, sizeof one) != sizeof one)
            shmem_global_exit(5);
        while (__atomic_load_n(&rung, __ATOMIC_ACQUIRE) == i)
            shmemi_pause(&looks);
        sample[i] = (now(CLOCK_MONOTONIC) - begin) * 1e6;
    }
    pthread_join(thread, NULL);
    close(bell);
    qsort(sample, FIRST, sizeof *sample, ascending);
    row("wake", 0, sample[FIRST / 2], "us");
    row("wake_worst", 0, sample[FIRST - 1], "us");
}

/* On PE 0: all rows. place is the offset of word in a segment. */
static void measure(uint64_t place, long *word, int target)
{
    double sample[MANY];
    wake(sample);
    for (int i = 0; i < FIRST; i++) {
        usleep(150000);
        sample[i] = push(place, target, 1);
    }
    qsort(sample, FIRST, sizeof *sample, ascending);
    row("ring_first", 4, sample[FIRST / 2], "us");
    row("ring_first_worst", 4, sample[FIRST - 1], "us");

    for (int i = 0; i < MANY; i++)
        sample[i] = push(place, target, 1);
    qsort(sample, MANY, sizeof *sample, ascending);
    row("ring_taken", 4, sample[MANY / 2], "us");

    for (int i = 0; i < MANY; i++) {
        double begin = now(CLOCK_MONOTONIC);
        struct shmemi_words w =
            shmemi_pack_p_wide((uint32_t)target, 0 /* context */, place, (uint64_t)i);
        shmemi_push(ring, &w, SHMEMI_SLOTS_P_WIDE);
        shmemi_ring_quiet(state->rings, state->ring_count, 0 /* the ring */, 0 /* context */);
        sample[i] = (now(CLOCK_MONOTONIC) - begin) * 1e6;
    }
    qsort(sample, MANY, sizeof *sample, ascending);
    row("ring_p_quiet", 8, sample[MANY / 2], "us");

    for (int i = 0; i < MANY; i++) {
        double begin = now(CLOCK_MONOTONIC);
        shmem_long_p(word, i, target);
        shmem_quiet();
        sample[i] = (now(CLOCK_MONOTONIC) - begin) * 1e6;
    }
    qsort(sample, MANY, sizeof *sample, ascending);
    row("call_p_quiet", 8, sample[MANY / 2], "us");

    usleep(200000); /* longer than the pauses before the pushes of ring_first: the proxy sleeps */
    double cpu = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
    sleep(1);
    cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    row("ring_idle", 0, 100 * cpu / (now(CLOCK_MONOTONIC) - wall), "% CPU");
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), last = shmem_n_pes() - 1;
    long *word = shmem_calloc(1, sizeof *word), *done = shmem_calloc(1, sizeof *done);
    if (word == NULL || done == NULL)
        shmem_global_exit(2);
    state = shmemi_host_state();
    if (state->ring_count == 0) {
        fprintf(stderr,
                "rings: all PEs share memory and no ring is used (start them on two hosts)\n");
        shmem_global_exit(4);
    }
    ring = state->rings;
    shmem_barrier_all();
    if (me == 0) {
        measure((uint64_t)(uintptr_t)word - state->segment, word, last);
        fflush(stdout);
        shmem_long_p(done, 1, last);
        shmem_quiet();
    } else if (me == last) {
        shmem_long_wait_until(done, SHMEM_CMP_EQ, 1);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
