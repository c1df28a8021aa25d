/*
 * chaos_flags.c: waits for a flag that was written without a fence behind the data.
 *
 * The PE that writes knows that a put of a few bytes, an atomic or a signal follows other puts to
 * the same PE without a fence. It does not know whether that is a flag. The PE that waits knows
 * that it has waited for that word. So the writer leaves a note in symmetric memory of the shim at
 * the peer, complete before the word is written, and the peer compares its waits with the notes.
 *
 * A peer that has also waited for the data of a note has no need of an order, so a match is
 * reported only at its next barrier, sync, collective or finalize, unless it has waited for the
 * data since the last one. The report says what the calls allow, not what has gone wrong: a program
 * that waits for the word and reads the data only after a barrier is reported, too.
 */
#define _GNU_SOURCE
#include "chaos.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTES 64   /* of each writer at each peer; the next one takes the place of the oldest */
#define RECENT 256 /* waits that are remembered until the next barrier */
#define SMALL 8    /* bytes of a flag at most */

struct note {
    uint64_t number;     /* from 1 on; 0: none */
    uint64_t flag, data; /* places */
    uint64_t data_bytes;
    uint32_t flag_call, data_call;
    uint64_t barriers; /* of all PEs, before the note; a later one completes the puts */
    uint64_t unused;
};

struct range {
    uint64_t from, to;
};

static struct note *notes; /* [writer][number % NOTES], symmetric */
static uint64_t *written;  /* notes for each peer */
static uint64_t *seen;     /* the number of the note that has matched in each place */
static uint64_t barriers;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct range waited[RECENT];
static int n_waited;
static struct {
    struct note note;
    int writer;
    uint32_t wait;
} matched[NOTES];
static int n_matched;

void chaos_flags_open(void)
{
    size_t n = (size_t)delayed_n_pes();
    if (notes || delayed_pe() < 0)
        return;
    notes =
        ((void *(*)(size_t, size_t))delayed_real(PRELOAD_shmem_calloc))(n * NOTES, sizeof *notes);
    written = calloc(n, sizeof *written);
    seen = calloc(n * NOTES, sizeof *seen);
    if (!notes || !written || !seen)
        preload_refuse("chaos: PE %d: no %zu bytes on the symmetric heap (make it larger, by "
                       "SHMEM_SYMMETRIC_SIZE here)",
                       delayed_pe(), n * NOTES * sizeof *notes);
}

/* The notes go with the heap. */
void chaos_flags_close(void)
{
    free(written);
    free(seen);
    notes = NULL;
    written = seen = NULL;
    n_waited = n_matched = 0;
    barriers = 0;
}

/* ---------------------------------------------------------------- the writer */

static uint64_t place(const void *at)
{
    return delayed_place((uintptr_t)at, (uintptr_t)notes);
}

static void tell(const struct delayed *data, uint32_t flag_call, const void *flag)
{
    int pe = data->pe;
    struct note note = {.number = ++written[pe],
                        .flag = place(flag),
                        .data = place(data->dest),
                        .data_bytes = data->bytes,
                        .flag_call = flag_call,
                        .data_call = data->number,
                        .barriers = barriers};
    struct note *at = &notes[(size_t)delayed_pe() * NOTES + note.number % NOTES];
    ((void (*)(void *, const void *, size_t, int))delayed_real(PRELOAD_shmem_putmem))(
        at, &note, sizeof note, pe);
    ((void (*)(void))delayed_real(PRELOAD_shmem_quiet))();
}

/* Of the puts of a thread to a PE before `before`, the one with most bytes. Those of other threads
 * have no order with the flag. PEs of contexts of teams have other numbers and are left out. */
static const struct delayed *largest(const struct delayed *first, const struct delayed *before,
                                     pthread_t thread, int pe, const char *flag)
{
    const struct delayed *found = NULL;
    for (const struct delayed *d = first; d && d != before; d = d->next)
        if (!d->has_ctx && d->pe == pe && pthread_equal(d->thread, thread) && d->bytes > 0 &&
            d->dest != flag && (!found || d->bytes > found->bytes))
            found = d;
    return found;
}

void chaos_flags_tell(const struct delayed *first)
{
    for (const struct delayed *d = first; d && notes; d = d->next) {
        const struct delayed *data;
        if (d->bytes > 0 && d->bytes <= SMALL && !d->has_ctx &&
            (data = largest(first, d, d->thread, d->pe, d->dest)) != NULL)
            tell(data, d->number, d->dest);
    }
}

void chaos_flags_tell_call(const struct delayed *first, const struct preload_frame *f)
{
    const struct preload_call *c = &preload_calls[f->number];
    int word = c->kind == PRELOAD_KIND_ATOMIC ? c->dest : c->signal;
    const struct delayed *data;
    if (!first || !notes || word < 0 || c->pe < 0 || c->ctx >= 0 ||
        (c->kind != PRELOAD_KIND_ATOMIC && c->kind != PRELOAD_KIND_SIGNAL &&
         c->kind != PRELOAD_KIND_PUT_SIGNAL))
        return;
    const char *flag = (const char *)f->arg[word];
    if ((data = largest(first, NULL, pthread_self(), preload_pe(f), flag)) != NULL)
        tell(data, f->number, flag);
}

/* ----------------------------------------------------------- the PE that waits */

static void remember(struct range r)
{
    waited[n_waited++ % RECENT] = r;
}

static bool has_waited(uint64_t from, uint64_t to)
{
    int n = n_waited < RECENT ? n_waited : RECENT;
    for (int i = 0; i < n; i++)
        if (waited[i].from < to && from < waited[i].to && (waited[i].from & 1) == (from & 1))
            return true;
    return false;
}

static void match(struct range r, uint32_t call)
{
    for (int writer = 0; writer < delayed_n_pes(); writer++)
        for (int i = 0; i < NOTES; i++) {
            struct note n;
            memcpy(&n, &notes[(size_t)writer * NOTES + (size_t)i], sizeof n);
            uint64_t *mark = &seen[(size_t)writer * NOTES + (size_t)i];
            if (n.number == 0 || n.number == *mark || n.barriers != barriers || n.flag < r.from ||
                n.flag >= r.to || (n.flag & 1) != (r.from & 1))
                continue;
            *mark = n.number;
            if (n_matched < NOTES) {
                matched[n_matched].note = n;
                matched[n_matched].writer = writer;
                matched[n_matched++].wait = call;
            }
        }
}

static void report(void)
{
    for (int i = 0; i < n_matched; i++) {
        const struct note *n = &matched[i].note;
        if (has_waited(n->data, n->data + 2 * n->data_bytes))
            continue;
        delayed_report("chaos",
                       "%s has seen what PE %d wrote by %s, and no fence is between that call and "
                       "its %s of %llu bytes to this PE before it: the bytes may come after it "
                       "(call shmem_fence between the two, or a put with signal)",
                       preload_name(matched[i].wait), matched[i].writer, preload_name(n->flag_call),
                       preload_name(n->data_call), (unsigned long long)n->data_bytes);
    }
    n_matched = n_waited = 0;
}

void chaos_flags_after(const struct preload_frame *f)
{
    const struct preload_call *c = &preload_calls[f->number];
    if (!notes)
        return;
    pthread_mutex_lock(&mutex);
    const char *word = strpbrk(c->letters, "wg");
    switch (c->kind) {
    case PRELOAD_KIND_TEST: /* of several elements: the result is no truth */
        if (strcmp(c->letters, "wov") != 0 || !*(const int *)f->result)
            break;
        /* fall through */
    case PRELOAD_KIND_WAIT:
        if (word) {
            size_t bytes = c->size ? preload_bytes(f) : sizeof(uint64_t);
            uint64_t from = place((const void *)f->arg[word - c->letters]);
            struct range r = {from, from + 2 * bytes};
            remember(r);
            match(r, f->number);
        }
        break;
    case PRELOAD_KIND_BARRIER:
    case PRELOAD_KIND_SYNC:
    case PRELOAD_KIND_COLLECTIVE:
    case PRELOAD_KIND_FINALIZE:
        report();
        barriers += f->number == PRELOAD_shmem_barrier_all;
        break;
    default:
        break;
    }
    pthread_mutex_unlock(&mutex);
}
