/*
 * signals: puts with a signal, which arrives after the bytes, if the header is of version 1.5. If
 * the library is libshmem, also puts with a notification and two-sided messages, which are
 * extensions.
 */
#include "host.h"

#include <string.h>

#if defined(__has_include)
#if __has_include(<shmemx.h>)
#include <shmemx.h>
#endif
#endif
#ifdef SHMEMX_ANY_TAG
#define HAVE_MESSAGES 1
#else
#define HAVE_MESSAGES 0
#endif

#if HAVE_15
static uint64_t *signal_word;
#endif
#if HAVE_MESSAGES
static int counter; /* of notifications */
static bool lost;   /* a message did not arrive as it was sent */
#endif

/* Allocates the signal word, and a notification counter. */
void signals_open(void)
{
#if HAVE_15
    signal_word = symmetric(sizeof *signal_word);
#endif
#if HAVE_MESSAGES
    counter = shmemx_notify_alloc(1 /* counter */);
#endif
}

#if HAVE_15
/* Returns how many operations there are between two quiets: the number in the settings, or fewer if
 * they would have more than 64 MiB together. */
static long window_size(size_t size)
{
    long fit = (long)(((size_t)64 << 20) / size);
    return fit < 1 ? 1 : fit < settings.window ? fit : settings.window;
}

/* Writes each PE's pattern to src, and clears dst. */
static void prepare(size_t size)
{
    fill(src, size, me);
    memset(dst, 0, size);
    shmem_barrier_all();
}

/* Checks that PE 0 and the last PE have exchanged their patterns. */
static bool check_both(size_t size)
{
    return !acts(BOTH) || filled(dst, size, peer);
}

/* Checks that the last PE was written by PE 0. */
static bool check_origin(size_t size)
{
    return me != npes - 1 || filled(dst, size, 0);
}

static uint64_t sent; /* signals that this PE has sent; its peer has sent the same number */

/* Round trips of a put with signal: each PE waits for the signal of the other. */
static void put_signal(long n, size_t size)
{
    while (n-- > 0) {
        sent++;
        if (me != 0)
            shmem_signal_wait_until(signal_word, SHMEM_CMP_GE, sent);
        shmem_putmem_signal(dst, src, size, signal_word, sent, SHMEM_SIGNAL_SET, peer);
        if (me == 0)
            shmem_signal_wait_until(signal_word, SHMEM_CMP_GE, sent);
    }
}

/* n puts with signal by each of two PEs at the same time, each of which waits for the signal of the
 * other, like programs that exchange their borders. */
static void exchange(long n, size_t size)
{
    while (n-- > 0) {
        shmem_putmem_signal_nbi(dst, src, size, signal_word, ++sent, SHMEM_SIGNAL_SET, peer);
        shmem_signal_wait_until(signal_word, SHMEM_CMP_GE, sent);
        shmem_quiet();
    }
}

/* Sends windows of nonblocking puts with signal. The values of the signals begin at 0 in each
 * window, and no PE waits for them. They go to the last word of dst, because in signal_word they
 * would overwrite the count of the round trips. */
static void signal_window(long n, size_t size)
{
    long w = window_size(size);
    uint64_t *word = (uint64_t *)(dst + room - sizeof(uint64_t));
    while (n-- > 0) {
        for (long i = 0; i < w; i++)
            shmem_putmem_signal_nbi(dst, src, size, word, (uint64_t)i, SHMEM_SIGNAL_SET, peer);
        shmem_quiet();
    }
}
#endif

#if HAVE_MESSAGES
static uint64_t notified; /* notifications that have arrived, or are waited for, since the reset */

/* Makes n round trips of a put with notification: each PE counts the notifications that have
 * arrived, and waits for that of the other. */
static void notify(long n, size_t size)
{
    while (n-- > 0) {
        notified++;
        if (me != 0)
            shmemx_notify_wait(counter, notified);
        shmemx_putmem_notify(dst, src, size, counter, peer);
        if (me == 0)
            shmemx_notify_wait(counter, notified);
    }
}

/* Puts windows of data with notifications from PE 0 to the last PE, which waits until it has
 * counted the notifications of the whole window. Only these two PEs call it (BOTH). */
static void notify_window(long n, size_t size)
{
    long w = window_size(size);
    while (n-- > 0) {
        for (long i = 0; me == 0 && i < w; i++)
            shmemx_putmem_notify_nbi(dst, src, size, counter, peer);
        if (me == 0)
            shmem_quiet();
        else
            shmemx_notify_wait(counter, notified += (uint64_t)w);
    }
}

/* Prepares a figure of notifications: both PEs begin to count at 0, and then fill src and clear
 * dst. */
static void prepare_notify(size_t size)
{
    notified = 0;
    shmem_barrier_all();
    shmemx_notify_reset(counter, 0);
    prepare(size);
}

/* Receives a message with tag 1 from the peer into dst. A wrong size or an error is recorded in
 * `lost`, which the check reads. */
static void receive(size_t size)
{
    size_t n = 0;
    int tag = 1, from = peer;
    if (shmemx_recv(dst, size, &tag, &from, &n) != 0 || n != size)
        lost = true;
}

/* Round trips of a two-sided message. */
static void message(long n, size_t size)
{
    while (n-- > 0) {
        if (me != 0)
            receive(size);
        shmemx_send(src, size, 1 /* tag */, peer);
        if (me == 0)
            receive(size);
    }
}

/* Messages of PE 0 to the last PE, which receives all: a window of them for each iteration. Only
 * these two PEs call it (BOTH). */
static void message_window(long n, size_t size)
{
    for (n *= window_size(size); n > 0; n--)
        if (me == 0)
            shmemx_send(src, size, 1 /* tag */, peer);
        else
            receive(size);
}

/* Checks that PE 0 and the last PE have received each other's messages. */
static bool check_message(size_t size)
{
    return !lost && check_both(size);
}

/* Checks that the last PE has received the messages of PE 0. */
static bool check_message_origin(size_t size)
{
    return !lost && check_origin(size);
}
#endif

const struct figure signal_figures[] = {
#if HAVE_15
    {"put_signal", "visible", "signal seen at the target: half a round trip", LATENCY, BOTH,
     .half = true, .prepare = prepare, .run = put_signal, .check = check_both},
    {"put_signal", "exchange", "signal of the other PE seen, and quiet", LATENCY, BOTH,
     .prepare = prepare, .run = exchange, .check = check_both},
    {"put_signal", "bandwidth", "quiet after each window", BANDWIDTH, ORIGIN, .burst = window_size,
     .prepare = prepare, .run = signal_window, .check = check_origin},
    {"put_signal", "rate", "quiet after each window", RATE, ORIGIN, .burst = window_size,
     .prepare = prepare, .run = signal_window, .check = check_origin},
#endif
#if HAVE_MESSAGES
    {"put_notify", "visible", "notification seen at the target: half a round trip", LATENCY, BOTH,
     .half = true, .prepare = prepare_notify, .run = notify, .check = check_both},
    {"put_notify", "bandwidth", "notifications of each window seen", BANDWIDTH, BOTH,
     .burst = window_size, .prepare = prepare_notify, .run = notify_window, .check = check_origin},
    {"put_notify", "rate", "notifications of each window seen", RATE, BOTH, .burst = window_size,
     .prepare = prepare_notify, .run = notify_window, .check = check_origin},
    {"send", "latency", "received: half a round trip", LATENCY, BOTH, .half = true,
     .prepare = prepare, .run = message, .check = check_message},
    {"send", "bandwidth", "received", BANDWIDTH, BOTH, .burst = window_size, .prepare = prepare,
     .run = message_window, .check = check_message_origin},
    {"send", "rate", "received", RATE, BOTH, .burst = window_size, .prepare = prepare,
     .run = message_window, .check = check_message_origin},
#endif
    {0},
};
