/*
 * flushes.c: the writer of a trace (capi/preload/writer.c) without the shim. While a thread waits
 * for the end of the writer, another one flushes; the writer ends all the same.
 */
#include "writer.c" /* for its words */

#include <stdio.h>
#include <stdlib.h>

static _Atomic bool within, released; /* the writer makes its first flush; it may complete it */

/* What writer.c needs of other units. */
_Atomic uint64_t preload_ringless;

struct preload_ring *preload_rings(void)
{
    return NULL;
}

void preload_say(const char *format, ...)
{
    puts(format);
}

void preload_counts(void)
{
}

void preload_teams_describe(void)
{
}

void preload_ticks_mark(void)
{
}

bool preload_output_open(const char *folder, uint64_t most, const struct preload_about *what)
{
    (void)folder, (void)most, (void)what;
    return true;
}

void preload_output_call(struct preload_ring *ring, const struct preload_record *record)
{
    (void)ring, (void)record;
}

void preload_output_flush(uint64_t lost)
{
    (void)lost;
}

bool preload_output_works(void)
{
    return true;
}

void preload_output_end(uint64_t lost)
{
    (void)lost;
    atomic_store(&within, true);
    while (!atomic_load(&released))
        usleep(1000);
}

static void *flush(void *last)
{
    preload_writer_flush(last != NULL);
    return NULL;
}

/* Starts a thread that flushes, and returns when it waits for the writer. */
static pthread_t start_flush(bool last)
{
    uint32_t rung = atomic_load(&bell);
    pthread_t started;
    if (pthread_create(&started, NULL, flush, last ? &bell : NULL) != 0)
        exit(1);
    while (atomic_load(&bell) == rung)
        usleep(1000);
    return started;
}

int main(void)
{
    alarm(30); /* of a writer that does not end */
    if (!preload_writer_start("", 0))
        return 1;
    preload_writer_pe(&about);
    pthread_t flushes[3];
    flushes[0] = start_flush(/* last */ false);
    while (!atomic_load(&within))
        usleep(1000);
    flushes[1] = start_flush(/* last */ true);
    flushes[2] = start_flush(/* last */ false);
    atomic_store(&released, true);
    for (int i = 0; i < 3; i++)
        pthread_join(flushes[i], NULL);
    puts(running ? "the writer runs on" : "the writer has ended");
    return 0;
}
