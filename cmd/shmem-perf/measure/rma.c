/*
 * rma: put, get, p and g. Every put of a figure writes the same bytes to the same address, or, to
 * measure a rate, to successive addresses; its target compares them afterwards with the pattern of
 * the PE that wrote.
 */
#include "host.h"

#include <string.h>

static long *flag; /* symmetric: the word of the round trips of put_flag */

/* Before the first figure: allocates the word of flags. */
void rma_open(void)
{
    flag = symmetric(sizeof *flag);
}

/* Returns how many operations there are between two quiets: the number in the settings, or fewer if
 * they would have more than 64 MiB together. */
static long window_size(size_t size)
{
    long fit = (long)(((size_t)64 << 20) / size);
    return fit < 1 ? 1 : fit < settings.window ? fit : settings.window;
}

/* Small puts write to successive addresses within 64 KiB, and not always to the same word. */
static const size_t span = (size_t)64 << 10;

/* Returns how many pieces of this size `span` has, at least 1. */
static long pieces_of(size_t size)
{
    return size < span ? (long)(span / size) : 1;
}

/* Returns how many operations an iteration of a rate figure has: more than a window, because they
 * are small. */
static long rate_burst(size_t size)
{
    (void)size;
    return 8 * settings.window;
}

/* Writes each PE's pattern to src, and clears dst. */
static void prepare(size_t size)
{
    fill(src, size, me);
    memset(dst, 0, size);
    shmem_barrier_all();
}

/* Writes each PE's pattern to each address of src from which a rate figure sends, and clears dst.
 */
static void prepare_span(size_t size)
{
    size_t all = size > span ? size : span;
    for (size_t at = 0; at + size <= all; at += size)
        fill(src + at, size, me);
    memset(dst, 0, all);
    shmem_barrier_all();
}

/* Checks that the last PE was written by PE 0. */
static bool check_origin(size_t size)
{
    return me != npes - 1 || filled(dst, size, 0);
}

/* Checks that PE 0 and the last PE have exchanged their patterns. */
static bool check_both(size_t size)
{
    return !acts(BOTH) || filled(dst, size, peer);
}

/* Checks that each PE of the second half was written by its partner. */
static bool check_halves(size_t size)
{
    return me < npes - npes / 2 || filled(dst, size, partner);
}

/* Checks that PE 0 has read from the last PE. */
static bool check_get_origin(size_t size)
{
    return me != 0 || filled(dst, size, peer);
}

/* Reports whether every piece of dst that a measurement of the message rate wrote has the pattern
 * of a PE. Pieces follow each other up to `span` bytes, and after that the same ones are written
 * again. */
static bool pieces_are_right(size_t size, int pe)
{
    size_t at = 0;
    for (long i = 0; i < rate_burst(size) && at + size <= span; i++, at += size)
        if (!filled(dst + at, size, pe))
            return false;
    return filled(dst, size, pe); /* one piece that is larger than `span` */
}

/* After a measurement of the message rate: checks on the last PE that PE 0 has written every piece
 * of dst. The other PEs check nothing, and return true. */
static bool check_rate(size_t size)
{
    return me != npes - 1 || pieces_are_right(size, 0);
}

/* After a measurement of the message rate between pairs of PEs: checks, on each PE of the second
 * half, that its partner has written every piece of dst. The other PEs check nothing, and return
 * true. */
static bool check_pairs_rate(size_t size)
{
    return me < npes - npes / 2 || pieces_are_right(size, partner);
}

/* After a measurement of the rate of gets: checks on PE 0 that it has read every piece from the
 * last PE. */
static bool check_get_rate(size_t size)
{
    return me != 0 || pieces_are_right(size, peer);
}

/* Checks that each PE of the first half has read from its partner. */
static bool check_get_halves(size_t size)
{
    return me >= npes / 2 || filled(dst, size, partner);
}

/* n puts, each followed by a quiet. */
static void put_quiet(long n, size_t s)
{
    while (n-- > 0) {
        shmem_putmem(dst, src, s, peer);
        shmem_quiet();
    }
}

/* Round trips of a put, a fence and a p of a flag: each PE waits for the flag of the other. */
static void put_flag(long n, size_t s)
{
    static long seq;
    while (n-- > 0) {
        seq++;
        if (me != 0)
            shmem_long_wait_until(flag, SHMEM_CMP_GE, seq);
        shmem_putmem(dst, src, s, peer);
        shmem_fence();
        shmem_long_p(flag, seq, peer);
        if (me == 0)
            shmem_long_wait_until(flag, SHMEM_CMP_GE, seq);
    }
}

/* Nonblocking puts, with a quiet after each window of them. */
static void put_window(long n, size_t s)
{
    long w = window_size(s);
    while (n-- > 0) {
        for (long i = 0; i < w; i++)
            shmem_putmem_nbi(dst, src, s, toward);
        shmem_quiet();
    }
}

/* Puts bursts of small blocks to successive addresses within `span` bytes, with a quiet after each
 * burst. */
static void put_rate(long n, size_t s)
{
    long w = rate_burst(s), pieces = pieces_of(s);
    while (n-- > 0) {
        for (long left = w; left > 0; left -= pieces) {
            size_t end = (size_t)(left < pieces ? left : pieces) * s;
            for (size_t at = 0; at < end; at += s)
                shmem_putmem_nbi(dst + at, src + at, s, toward);
        }
        shmem_quiet();
    }
}

/* n blocking gets, one after the other. */
static void get_wait(long n, size_t s)
{
    while (n-- > 0)
        shmem_getmem(dst, src, s, peer);
}

/* Nonblocking gets, with a quiet after each window of them. */
static void get_window(long n, size_t s)
{
    long w = window_size(s);
    while (n-- > 0) {
        for (long i = 0; i < w; i++)
            shmem_getmem_nbi(dst, src, s, toward);
        shmem_quiet();
    }
}

/* Small nonblocking gets from successive addresses, with a quiet after each burst. */
static void get_rate(long n, size_t s)
{
    long w = rate_burst(s), pieces = pieces_of(s);
    while (n-- > 0) {
        for (long left = w; left > 0; left -= pieces) {
            size_t end = (size_t)(left < pieces ? left : pieces) * s;
            for (size_t at = 0; at < end; at += s)
                shmem_getmem_nbi(dst + at, src + at, s, toward);
        }
        shmem_quiet();
    }
}

static long p_seq; /* the value that the last round trip of p has stored */

/* Makes n round trips of p: each PE waits for the value that the other stores. Values grow over all
 * figures. */
static void p_flag(long n, size_t s)
{
    static long seq;
    (void)s;
    while (n-- > 0) {
        seq++;
        if (me != 0)
            shmem_long_wait_until((long *)dst, SHMEM_CMP_GE, seq);
        shmem_long_p((long *)dst, seq, peer);
        if (me == 0)
            shmem_long_wait_until((long *)dst, SHMEM_CMP_GE, seq);
        p_seq = seq;
    }
}

/* Prepares a figure of p: the values continue after that of the last figure, so that only larger
 * ones end a wait. */
static void prepare_p(size_t s)
{
    (void)s;
    shmem_barrier_all();
    *(long *)dst = p_seq;
    shmem_barrier_all();
}

/* Checks the word that the last p has written. */
static bool check_p(size_t s)
{
    (void)s;
    return !acts(BOTH) || *(long *)dst == p_seq;
}

/* p to successive words, with a quiet after each burst. The values are never 0, the value before.
 */
static void p_rate(long n, size_t s)
{
    long w = rate_burst(s), words = (long)(span / sizeof(long));
    while (n-- > 0) {
        for (long i = 0; i < w; i++)
            shmem_long_p((long *)dst + i % words, ~(i % words), peer);
        shmem_quiet();
    }
}

/* Zeroes the words to which p writes. */
static void prepare_words(size_t s)
{
    (void)s;
    memset(dst, 0, span);
    shmem_barrier_all();
}

/* Checks the words that p has written. */
static bool check_words(size_t s)
{
    long w = rate_burst(s), words = (long)(span / sizeof(long));
    for (long i = 0; me == npes - 1 && i < w && i < words; i++)
        if (((long *)dst)[i] != ~i)
            return false;
    return true;
}

static long got; /* what the last g has returned */

/* n calls of g, one after the other. */
static void g_wait(long n, size_t s)
{
    (void)s;
    while (n-- > 0)
        got = shmem_long_g((long *)dst, peer);
}

/* Stores a value for each PE in the word that g reads. */
static void prepare_g(size_t s)
{
    (void)s;
    *(long *)dst = 1000 + me;
    shmem_barrier_all();
}

/* Checks the value that g returns. */
static bool check_g(size_t s)
{
    if (me == 0)
        g_wait(1, s);
    return me != 0 || got == 1000 + peer;
}

#define ONE sizeof(long) /* the size of figures of one word */
const struct figure rma_figures[] = {
    {"put", "latency", "quiet", LATENCY, ORIGIN, .prepare = prepare, .run = put_quiet,
     .check = check_origin},
    {"put", "visible", "visible at the target: put, fence and p, half a round trip", LATENCY, BOTH,
     .half = true, .prepare = prepare, .run = put_flag, .check = check_both},
    {"put", "bandwidth", "quiet after each window", BANDWIDTH, ORIGIN, .burst = window_size,
     .prepare = prepare, .run = put_window, .check = check_origin},
    {"put", "bidirectional", "quiet after each window, both PEs at once", BANDWIDTH, BOTH,
     .each_way = true, .burst = window_size, .prepare = prepare, .run = put_window,
     .check = check_both},
    {"put", "pairs", "quiet after each window, all pairs at once", BANDWIDTH, HALVES,
     .burst = window_size, .prepare = prepare, .run = put_window, .check = check_halves},
    {"put", "rate", "quiet after each burst", RATE, ORIGIN, .burst = rate_burst,
     .prepare = prepare_span, .run = put_rate, .check = check_rate},
    {"put", "pairs-rate", "quiet after each burst, all pairs at once", RATE, HALVES,
     .burst = rate_burst, .prepare = prepare_span, .run = put_rate, .check = check_pairs_rate},
    {"get", "latency", "return", LATENCY, ORIGIN, .prepare = prepare, .run = get_wait,
     .check = check_get_origin},
    {"get", "bandwidth", "quiet after each window", BANDWIDTH, ORIGIN, .burst = window_size,
     .prepare = prepare, .run = get_window, .check = check_get_origin},
    {"get", "bidirectional", "quiet after each window, both PEs at once", BANDWIDTH, BOTH,
     .each_way = true, .burst = window_size, .prepare = prepare, .run = get_window,
     .check = check_both},
    {"get", "pairs", "quiet after each window, all pairs at once", BANDWIDTH, HALVES,
     .burst = window_size, .prepare = prepare, .run = get_window, .check = check_get_halves},
    {"get", "rate", "quiet after each burst", RATE, ORIGIN, .burst = rate_burst,
     .prepare = prepare_span, .run = get_rate, .check = check_get_rate},
    {"p", "visible", "visible at the target: half a round trip", LATENCY, BOTH, .half = true,
     .unsized = true, .unit = ONE, .prepare = prepare_p, .run = p_flag, .check = check_p},
    {"p", "rate", "quiet after each burst", RATE, ORIGIN, .unsized = true, .unit = ONE,
     .burst = rate_burst, .prepare = prepare_words, .run = p_rate, .check = check_words},
    {"g", "latency", "return", LATENCY, ORIGIN, .unsized = true, .unit = ONE, .prepare = prepare_g,
     .run = g_wait, .check = check_g},
    {0},
};
