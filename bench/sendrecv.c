/*
 * sendrecv: half a round trip between two PEs, by size: of two-sided messages from memory of the
 * process and from symmetric memory, and of a put with a notification to a fixed symmetric address.
 * The time of a message includes the copy into the receive buffer, whose bytes are not read. Then
 * the rates of messages and of such puts in one direction.
 *
 *   sendrecv [milliseconds a figure]
 *
 * Output, from PE 0, tab-separated:   metric  size  value  unit
 */
#define _GNU_SOURCE
#include <shmem.h>
#include <shmemx.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 11, MOST = 1 << 20, APART = MOST + 4096, BURST = 1000 };

/* Bytes. 4016 is the longest short message, which needs no handshake (shmemx_send). */
static const size_t sizes[] = {8, 1024, 4016, 8192, 65536, MOST};

static int me, peer;
static double budget_ns = 100e6;
static char *out, *in;           /* of the process */
static char *near_out, *near_in; /* symmetric */
static size_t size;
static uint64_t count; /* notifications that this PE has waited for, of counter 0 */
static long wrong;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

/* A round trip: PE 0 sends and receives, PE 1 receives and sends. Messages have tag 1, and those by
 * which the PEs agree or end a burst tag 2. */
static void messages(const char *from, char *to)
{
    size_t n = 0;
    int tag = 1, sender = peer;
    if (me == 0)
        shmemx_send(from, size, 1 /* tag */, peer);
    wrong += shmemx_recv(to, size, &tag, &sender, &n) != 0 || n != size;
    if (me == 1)
        shmemx_send(from, size, 1 /* tag */, peer);
}

static void by_message(void)
{
    messages(out, in);
}

static void by_symmetric_message(void)
{
    messages(near_out, near_in);
}

static void by_notification(void)
{
    if (me == 0)
        shmemx_putmem_notify(near_in, near_out, size, 0 /* counter */, peer);
    shmemx_notify_wait(0 /* counter */, ++count);
    if (me == 1)
        shmemx_putmem_notify(near_in, near_out, size, 0 /* counter */, peer);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Returns PE 0's n on both PEs. */
static long agree(long n)
{
    long got = n;
    if (me == 0)
        shmemx_send(&n, sizeof n, 2 /* tag */, peer);
    else
        shmemx_recv(&got, sizeof got, NULL, NULL, NULL); /* any tag, from any PE */
    return got;
}

/* us for half a round trip, which a call of turn makes on both PEs: the median of the batches. */
static double half(void (*turn)(void))
{
    double v[BATCHES], spent = 0;
    long n = 1;
    for (;;) {
        double t = now();
        for (long i = 0; i < n; i++)
            turn();
        spent = now() - t;
        if (!agree(spent < budget_ns / BATCHES / 2))
            break;
        n *= 2;
    }
    for (int b = 0; b < BATCHES; b++) {
        double t = now();
        for (long i = 0; i < n; i++)
            turn();
        v[b] = (now() - t) / 2e3 / (double)n;
    }
    qsort(v, BATCHES, sizeof *v, ascending);
    return v[BATCHES / 2];
}

/* Millions of messages a second in one direction; an answer follows each burst of BURST. */
static double rate(void (*burst)(void))
{
    double v[BATCHES];
    for (int b = 0; b < BATCHES; b++) {
        double t = now();
        for (int i = 0; i < 10; i++)
            burst();
        v[b] = 10e3 * BURST / (now() - t);
    }
    qsort(v, BATCHES, sizeof *v, ascending);
    return v[BATCHES / 2];
}

/* BURST messages of 8 bytes from PE 0 to PE 1, and an empty one as the answer. */
static void message_burst(void)
{
    for (int i = 0; i < BURST; i++)
        if (me == 0)
            shmemx_send(out, 8, 1 /* tag */, peer);
        else
            wrong += shmemx_recv(in, 8, NULL, NULL, NULL) != 0;
    if (me == 1)
        shmemx_send(NULL, 0, 2, peer);
    else
        shmemx_recv(NULL, 0, NULL, NULL, NULL);
}

/* BURST puts of 8 bytes, each with a notification, and an empty message as the answer. */
static void notification_burst(void)
{
    for (int i = 0; i < BURST && me == 0; i++)
        shmemx_putmem_notify(near_in + 8 * i, out, 8, 0 /* counter */, peer);
    if (me == 1) {
        shmemx_notify_wait(0 /* counter */, count += BURST);
        shmemx_send(NULL, 0, 2, peer);
    } else {
        shmemx_recv(NULL, 0, NULL, NULL, NULL);
    }
}

static void row(const char *metric, size_t n, double value, const char *unit)
{
    if (me == 0)
        printf("%s\t%zu\t%.6g\t%s\n", metric, n, value, unit);
}

int main(int argc, char **argv)
{
    shmem_init();
    me = shmem_my_pe();
    peer = 1 - me;
    if (argc > 1)
        budget_ns = atof(argv[1]) * 1e6;
    out = calloc(1, MOST);
    in = calloc(1, MOST);
    near_out = shmem_align(4096, APART);
    near_in = shmem_align(4096, APART);
    if (out == NULL || in == NULL || near_out == NULL || near_in == NULL || shmem_n_pes() != 2)
        shmem_global_exit(1);
    /* Pages that were never written are all the kernel's zero page, which stays in the cache. */
    memset(out, 1, MOST);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size = sizes[i];
        row("send_pingpong_half", size, half(by_message), "us");
        row("send_symmetric_pingpong_half", size, half(by_symmetric_message), "us");
        row("notify_pingpong_half", size, half(by_notification), "us");
    }
    row("send_rate", 8, rate(message_burst), "Mop/s");
    row("notify_rate", 8, rate(notification_burst), "Mop/s");
    row("errors", 0, (double)wrong, "");
    shmem_finalize();
    return 0;
}
