/*
 * chaos_flags.c: waits for a flag that was written without a fence after the data.
 *
 * The PE that writes knows that a put of a few bytes, an atomic or a signal follows other puts to
 * the same PE without a fence. It does not know whether the word that is written is a flag. The
 * peer knows for which words it waits. So the writer writes a note about the word to symmetric
 * memory of the shim at the peer, completes the note, and only then writes the word. The peer
 * compares its waits with the notes.
 *
 * A peer that has also waited for the data of a note, or for the signal that came with the data,
 * needs no order. So a match is reported only at its next barrier, sync, collective or finalize,
 * and only if the PE has not waited for that data or signal by then. Puts with the same signal word
 * need no order either, because their target can count them. The report is about what the calls
 * allow, and not about what has happened: a program that waits for the word and reads the data only
 * after a barrier is reported, too.
 */
#define _GNU_SOURCE
#include "chaos.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTES 64   /* of each writer at each peer; the next one replaces the oldest */
#define WAITS 4096 /* entries for different words that the PE has waited for since a barrier */
#define SMALL 8    /* bytes of a flag at most */

/* What a writer tells its target about a put that may be a flag: its address, and the largest put
 * before it without a fence between them. Addresses are numbers that are the same on every PE
 * (delayed_place). */
struct note {
    uint64_t number;                            /* among the writer's notes, from 1; 0: no note */
    uint64_t flag, data;                        /* places */
    uint64_t data_bytes, data_block, data_step; /* in all, of a block, from block to block */
    uint64_t data_signal;                       /* place of its signal; NOWHERE: it has none */
    uint32_t flag_call, data_call;              /* the functions that wrote them */
    uint64_t barriers; /* that all PEs had made before the note; a later one completes the puts */
};

#define NOWHERE UINT64_MAX

/* A word that this PE has waited for, as places. */
struct range {
    uint64_t from, to;
};

static struct note *notes; /* [writer][number % NOTES], symmetric */
static uint64_t *written;  /* how many notes this PE has written to each peer */
static uint64_t *seen;     /* for each entry of notes, the number of its note that has matched */
static uint64_t barriers;  /* calls of shmem_barrier_all since init */

/* Guards what follows, of the PE that waits, and `seen` and `barriers`. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct range waited[WAITS]; /* a hash table; to is 0 in an empty entry */
static int n_waited;
static bool too_many; /* waits that are not in the table might show that a match is no error */
/* The notes whose flag this PE has waited for since a barrier. */
static struct {
    struct note note;
    int writer;    /* the PE that has written it */
    uint32_t wait; /* the call that has waited for the flag */
} matched[NOTES];
static int n_matched;

/* Empties the tables of waits and of matches, at a barrier or collective, which orders everything
 * before it. */
static void forget_waits(void)
{
    if (n_waited > 0)
        memset(waited, 0, sizeof waited);
    n_waited = n_matched = 0;
    too_many = false;
}

/* Called after init by all PEs: allocates the notes that other PEs write in symmetric memory, and
 * the tables of this PE. */
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

/* Frees this PE's tables. Finalize has freed the notes with the symmetric heap. */
void chaos_flags_close(void)
{
    free(written);
    free(seen);
    notes = NULL;
    written = seen = NULL;
    forget_waits();
    barriers = 0;
}

/* ---------------------------------------------------------------- the writer */

/* Returns the place of a symmetric address, the same number on every PE (delayed_place). */
static uint64_t place_of(const void *at)
{
    return delayed_place((uintptr_t)at, (uintptr_t)notes);
}

/* Writes a note to the target of the put data, about a possible flag that flag_call writes there,
 * and returns when the note is complete. */
static void send_note(const struct delayed *data, uint32_t flag_call, const void *flag)
{
    int pe = data->pe;
    struct note note = {.number = ++written[pe],
                        .flag = place_of(flag),
                        .data = place_of(data->dest),
                        .data_bytes = data->bytes,
                        .data_block = data->block,
                        .data_step = data->stride > 0 ? data->stride : data->block,
                        .data_signal = data->signal ? place_of(data->signal) : NOWHERE,
                        .flag_call = flag_call,
                        .data_call = data->number,
                        .barriers = barriers};
    struct note *at = &notes[(size_t)delayed_pe() * NOTES + note.number % NOTES];
    ((void (*)(void *, const void *, size_t, int))delayed_real(PRELOAD_shmem_putmem))(
        at, &note, sizeof note, pe);
    ((void (*)(void))delayed_real(PRELOAD_shmem_quiet))();
}

/* Returns the largest put to pe, among those from first up to `before` that the thread has made and
 * that have a signal, or have none if signalled is false; NULL if there is none. Puts of other
 * threads have no order with the flag anyway. Puts on contexts are not considered, because a
 * context of a team has other numbers for the PEs. */
static const struct delayed *largest_put(const struct delayed *first, const struct delayed *before,
                                         pthread_t thread, int pe, const char *flag, bool signalled)
{
    const struct delayed *found = NULL;
    for (const struct delayed *d = first; d && d != before; d = d->next)
        if (!d->has_ctx && d->pe == pe && pthread_equal(d->thread, thread) && d->bytes > 0 &&
            d->dest != flag && d->signal != flag && (d->signal != NULL) == signalled &&
            (!found || d->bytes > found->bytes))
            found = d;
    return found;
}

/* Writes up to two notes about a possible flag at pe: about the largest put before it without a
 * signal, and about the largest with one. A target that waits for the signal of one put may still
 * need an order with the other. */
static void send_notes(const struct delayed *first, const struct delayed *before, pthread_t thread,
                       int pe, uint32_t flag_call, const char *flag)
{
    for (int signalled = 0; signalled < 2; signalled++) {
        const struct delayed *data = largest_put(first, before, thread, pe, flag, signalled);
        if (data)
            send_note(data, flag_call, flag);
    }
}

/* For each put of the list that may be a flag, because it is small or has a signal, writes notes
 * about the puts before it. */
void chaos_flags_send(const struct delayed *first)
{
    for (const struct delayed *d = first; d && notes; d = d->next) {
        if (d->has_ctx)
            continue;
        if (d->bytes > 0 && d->bytes <= SMALL && d->block == d->bytes)
            send_notes(first, d, d->thread, d->pe, d->number, d->dest);
        if (d->signal)
            send_notes(first, d, d->thread, d->pe, d->number, d->signal);
    }
}

/* If f is an atomic or a signal, which may be a flag, writes notes about all puts of the list. */
void chaos_flags_send_call(const struct delayed *first, const struct preload_frame *f)
{
    const struct preload_call *c = &preload_calls[f->number];
    int word = c->kind == PRELOAD_KIND_ATOMIC ? c->dest : c->signal;
    if (!first || !notes || word < 0 || c->pe < 0 || c->ctx >= 0 ||
        (c->kind != PRELOAD_KIND_ATOMIC && c->kind != PRELOAD_KIND_SIGNAL))
        return;
    send_notes(first, NULL, pthread_self(), preload_pe(f), f->number, (const char *)f->arg[word]);
}

/* ----------------------------------------------------------- the PE that waits */

/* Reports whether the word r has a byte in one of the `blocks` blocks of `block` bytes that begin
 * at from, from + step and so on. All numbers, also sizes, are doubled, as places are: the last bit
 * of a place is 1 in the program and 0 on the heap. step 0: there is one block. */
static bool is_in_blocks(struct range r, uint64_t from, uint64_t step, uint64_t block,
                         uint64_t blocks)
{
    if ((r.from & 1) != (from & 1) || r.to <= from)
        return false;
    uint64_t k = r.from > from && step > 0 ? (r.from - from) / step : 0;
    for (int i = 0; i < 2 && k < blocks; i++, k++) /* the block at or before the word, the next */
        if (from + k * step < r.to && r.from < from + k * step + block)
            return true;
    return false;
}

/* Reports whether a wait for the word r makes a missing fence harmless: r is in the data of the
 * note n, or is the signal that came with the data. A PE that has waited for the data itself needs
 * no order between data and flag. */
static bool makes_harmless(struct range r, const struct note *n)
{
    return is_in_blocks(r, n->data, 2 * n->data_step, 2 * n->data_block,
                        n->data_bytes / n->data_block) ||
           (n->data_signal != NOWHERE &&
            is_in_blocks(r, n->data_signal, 0, 2 * sizeof(uint64_t), 1));
}

/* Reports whether this PE has waited for the data of a note since a barrier, or for its signal. */
static bool has_waited(const struct note *n)
{
    if (n_waited == 0)
        return false;
    for (int i = 0; i < WAITS; i++)
        if (waited[i].to != 0 && makes_harmless(waited[i], n))
            return true;
    return false;
}

/* Adds a word, on which this PE has waited, to the hash table, unless it is there. If the table is
 * three quarters full it sets too_many instead. */
static void add_wait(struct range r)
{
    uint64_t at = r.from * 0x9e3779b97f4a7c15u >> 52; /* 2^64 / golden ratio; the upper 12 bits */
    _Static_assert(WAITS == 1 << 12, "the hash has as many bits");
    while (waited[at].to != 0 && (waited[at].from != r.from || waited[at].to != r.to))
        at = (at + 1) % WAITS;
    if (waited[at].to != 0)
        return;
    if (n_waited == WAITS / 4 * 3) {
        too_many = true;
        return;
    }
    waited[at] = r;
    n_waited++;
}

/* Removes the matches that are no error, because this PE has also waited for the data or its
 * signal. */
static void drop_harmless(void)
{
    int kept = 0;
    for (int i = 0; i < n_matched; i++)
        if (!has_waited(&matched[i].note))
            matched[kept++] = matched[i];
    n_matched = kept;
}

/* Searches for notes whose flag is the word r, for which the program has waited by call, and adds
 * them to the matches. */
static void match_notes(struct range r, uint32_t call)
{
    for (int writer = 0; writer < delayed_n_pes(); writer++)
        for (int i = 0; i < NOTES; i++) {
            struct note n;
            memcpy(&n, &notes[(size_t)writer * NOTES + (size_t)i], sizeof n);
            uint64_t *mark = &seen[(size_t)writer * NOTES + (size_t)i];
            /* Left out: no note, a note that has matched, one from before a barrier (which has
             * completed its puts), and one about another word. */
            if (n.number == 0 || n.number == *mark || n.barriers != barriers || n.flag < r.from ||
                n.flag >= r.to || (n.flag & 1) != (r.from & 1))
                continue;
            *mark = n.number;
            if (n_matched == NOTES)
                drop_harmless();
            if (n_matched < NOTES) {
                matched[n_matched].note = n;
                matched[n_matched].writer = writer;
                matched[n_matched++].wait = call;
            }
        }
}

/* Called at a barrier or collective: reports the matches for whose data this PE has not waited, and
 * empties the tables. */
static void report_matches(void)
{
    drop_harmless();
    for (int i = 0; i < n_matched && !too_many; i++) {
        const struct note *n = &matched[i].note;
        delayed_report("chaos",
                       "%s has seen what PE %d wrote by %s, and no fence is between that call and "
                       "its %s of %llu bytes to this PE before it: the bytes may come after it "
                       "(call shmem_fence between the two, or a put with signal)",
                       preload_name(matched[i].wait), matched[i].writer, preload_name(n->flag_call),
                       preload_name(n->data_call), (unsigned long long)n->data_bytes);
    }
    forget_waits();
}

/* Called after each call of the program: after a wait or a test that has succeeded, records its
 * word and compares it with the notes; after a barrier or collective, reports the matches. */
void chaos_flags_after(const struct preload_frame *f)
{
    const struct preload_call *c = &preload_calls[f->number];
    if (!notes)
        return;
    pthread_mutex_lock(&mutex);
    /* The letter of the argument that is a word (w) or a signal (g), in the table of calls. */
    const char *word = strpbrk(c->letters, "wg");
    switch (c->kind) {
    case PRELOAD_KIND_TEST: /* of one word (wov); tests of several may return an index or a count */
        if (strcmp(c->letters, "wov") != 0 || !*(const int *)f->result)
            break;
        /* fall through */
    case PRELOAD_KIND_WAIT:
        if (word) {
            size_t bytes = c->size ? preload_bytes(f) : sizeof(uint64_t);
            uint64_t from = place_of((const void *)f->arg[word - c->letters]);
            struct range r = {from, from + 2 * bytes};
            add_wait(r);
            match_notes(r, f->number);
        }
        break;
    case PRELOAD_KIND_BARRIER:
    case PRELOAD_KIND_SYNC:
    case PRELOAD_KIND_COLLECTIVE:
    case PRELOAD_KIND_FINALIZE:
        report_matches();
        barriers += f->number == PRELOAD_shmem_barrier_all;
        break;
    default:
        break;
    }
    pthread_mutex_unlock(&mutex);
}
