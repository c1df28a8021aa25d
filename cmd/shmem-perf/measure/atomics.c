/*
 * atomics: atomic operations on one word of the last PE. PE 0 counts its additions, whose sum the
 * word has afterwards, or remembers the last value that it has stored.
 */
#include "host.h"

static long *word;       /* the beginning of dst */
static long calls, last; /* additions of this PE, and the last value that it has stored */

/* Before the first figure: the word of atomic operations is in dst. */
void atomics_open(void)
{
    word = (long *)dst;
}

/* Returns how many operations an iteration of the rate figure has. */
static long burst_size(size_t size)
{
    (void)size;
    return 8 * settings.window;
}

/* Before a figure: sets the word and the counts of calls to 0. */
static void prepare(size_t size)
{
    (void)size;
    *word = 0;
    calls = last = 0;
    shmem_barrier_all();
}

/* Checks the sum in the word. Only PE 0 has counted what it should be. */
static bool check_sum(size_t size)
{
    (void)size;
    return me != 0 || shmem_long_g(word, peer) == calls;
}

/* Checks that the word has the last value that PE 0 has stored. */
static bool check_last(size_t size)
{
    (void)size;
    return me != 0 || shmem_long_g(word, peer) == last;
}

/* n blocking atomic fetch-and-adds on the word of the last PE. */
static void fetch_add(long n, size_t size)
{
    (void)size;
    calls += n;
    while (n-- > 0)
        (void)shmem_long_atomic_fetch_add(word, 1, peer);
}

/* n atomic additions without a result, each followed by a quiet. */
static void add(long n, size_t size)
{
    (void)size;
    calls += n;
    while (n-- > 0) {
        shmem_long_atomic_add(word, 1, peer);
        shmem_quiet();
    }
}

/* Atomic additions without a result, with a quiet after each burst. */
static void add_rate(long n, size_t size)
{
    long w = burst_size(size);
    calls += n * w;
    while (n-- > 0) {
        for (long i = 0; i < w; i++)
            shmem_long_atomic_add(word, 1, peer);
        shmem_quiet();
    }
}

/* n atomic compare-and-swaps of the word of the last PE. Each expects the value that the one before
 * has stored, so that it succeeds. */
static void compare_swap(long n, size_t size)
{
    (void)size;
    for (; n-- > 0; last++)
        (void)shmem_long_atomic_compare_swap(word, last, last + 1, peer);
}

/* n atomic swaps of the word of the last PE. */
static void swap(long n, size_t size)
{
    (void)size;
    while (n-- > 0)
        (void)shmem_long_atomic_swap(word, ++last, peer);
}

/* n atomic fetches of the word of the last PE. */
static void fetch(long n, size_t size)
{
    (void)size;
    while (n-- > 0)
        (void)shmem_long_atomic_fetch(word, peer);
}

/* n atomic sets of the word of the last PE, each followed by a quiet. */
static void set(long n, size_t size)
{
    (void)size;
    while (n-- > 0) {
        shmem_long_atomic_set(word, ++last, peer);
        shmem_quiet();
    }
}

/* The members of a figure about the word, which has no other sizes. */
#define ONE .unsized = true, .unit = sizeof(long), .prepare = prepare
const struct figure atomic_figures[] = {
    {"fetch_add", "latency", "return", LATENCY, ORIGIN, ONE, .run = fetch_add, .check = check_sum},
    {"add", "latency", "quiet", LATENCY, ORIGIN, ONE, .run = add, .check = check_sum},
    {"add", "rate", "quiet after each burst", RATE, ORIGIN, ONE, .burst = burst_size,
     .run = add_rate, .check = check_sum},
    {"compare_swap", "latency", "return", LATENCY, ORIGIN, ONE, .run = compare_swap,
     .check = check_last},
    {"swap", "latency", "return", LATENCY, ORIGIN, ONE, .run = swap, .check = check_last},
    {"fetch", "latency", "return", LATENCY, ORIGIN, ONE, .run = fetch, .check = check_last},
    {"set", "latency", "quiet", LATENCY, ORIGIN, ONE, .run = set, .check = check_last},
    {0},
};
