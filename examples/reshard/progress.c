/* progress.c: the counter by SHMEM, the picture by stdio. */
#define _POSIX_C_SOURCE 200809L

#include "progress.h"

#include <shmem.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { BAR_WIDTH = 40 };
static const double REDRAW_SECONDS = 0.02; /* from one picture of the bar to the next */

double progress_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void progress_init(struct progress *p, struct symmetric *heap, bool bar)
{
    *p = (struct progress){.done = symmetric_alloc(heap, sizeof *p->done)};
    p->bar = bar || isatty(STDERR_FILENO);
}

void progress_free(struct progress *p)
{
    shmem_free(p->done);
}

static void draw_bar(const struct progress *p, uint64_t done, double seconds)
{
    double part = p->total ? (double)done / (double)p->total : 1;
    int filled = (int)(part * BAR_WIDTH);
    char line[BAR_WIDTH + 1];
    for (int i = 0; i < BAR_WIDTH; i++)
        line[i] = i < filled ? '#' : '.';
    line[BAR_WIDTH] = '\0';
    /* One write for a frame: a launcher that forwards the output of several
     * PEs must not find half of one. */
    fprintf(stderr, "\r%s %3.0f%% of %.1f MB, %.2f GB/s%s", line, 100 * part,
            (double)p->total / 1e6, seconds > 0 ? (double)done / seconds / 1e9 : 0,
            part < 1 ? "" : "\n");
}

void progress_begin(struct progress *p, uint64_t total)
{
    p->total = total;
    /* A hundred reports from each PE: more than the bar has characters. */
    p->grain = total / 100 / (uint64_t)shmem_n_pes() + 1;
    p->begun = p->drawn = progress_clock();
    if (p->bar && total > 0 && shmem_my_pe() == 0)
        draw_bar(p, 0, 0);
}

static void draw_lines(struct progress *p, uint64_t done, double seconds)
{
    int quarters = p->total ? (int)(4 * ((double)done / (double)p->total)) : 4;
    if (quarters <= p->quarters)
        return;
    p->quarters = quarters;
    fprintf(stderr, "%d%% of %.1f MB in %.2f s\n", 25 * quarters, (double)p->total / 1e6, seconds);
}

/* On PE 0: draws the present state, unless it did so less than REDRAW_SECONDS ago. Returns the
 * bytes that are done. */
static uint64_t draw(struct progress *p)
{
    /* The counter is written by other PEs at any moment, so even its owner
     * reads it with an atomic. */
    uint64_t done = shmem_uint64_atomic_fetch(p->done, 0);
    double now = progress_clock();
    if (p->finished || (done < p->total && now - p->drawn < REDRAW_SECONDS))
        return done;
    p->drawn = now;
    p->finished = done == p->total;
    if (p->bar)
        draw_bar(p, done, now - p->begun);
    else
        draw_lines(p, done, now - p->begun);
    return done;
}

/* Adds this PE's bytes to the counter at PE 0. */
static void report(struct progress *p)
{
    if (p->unreported > 0)
        shmem_uint64_atomic_add(p->done, p->unreported, 0);
    p->unreported = 0;
}

void progress_add(struct progress *p, uint64_t nbytes)
{
    p->unreported += nbytes;
    if (p->unreported < p->grain)
        return;
    report(p);
    if (shmem_my_pe() == 0)
        draw(p);
}

void progress_end(struct progress *p)
{
    report(p);
    /* The add may still be on its way, and PE 0 is about to wait for it. */
    shmem_quiet();
    if (shmem_my_pe() != 0)
        return;
    for (uint64_t done = draw(p); done < p->total; done = draw(p))
        shmem_uint64_wait_until(p->done, SHMEM_CMP_GT, done);
}
