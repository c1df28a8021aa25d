/*
 * delayed.c: puts that a mode delays (delayed.h).
 */
#define _GNU_SOURCE
#include "delayed.h"
#include "library.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int me = -1, n_pes; /* what delayed_pe and delayed_n_pes return */

/* Returns the library's function for the call with a number. Ends the process if there is none. */
void *delayed_real(unsigned number)
{
    static void *found[PRELOAD_CALLS];
    void *f = __atomic_load_n(&found[number], __ATOMIC_ACQUIRE);
    if (!f) {
        f = preload_resolve(number, NULL);
        __atomic_store_n(&found[number], f, __ATOMIC_RELEASE);
    }
    return f;
}

/* Stores this PE's number and how many PEs the job has, after the call f, which has initialized the
 * library. Stores -1 and 0 when `running` is false, after finalize. */
void delayed_set_running(const struct preload_frame *f, bool running)
{
    if (!running || !preload_library_pe(f, &me, &n_pes)) {
        me = -1;
        n_pes = 0;
        delayed_contexts_close();
        return;
    }
    delayed_contexts_open(preload_library_numbers(f));
}

/* Returns the number of this PE, -1 outside of a job. */
int delayed_pe(void)
{
    return me;
}

/* Returns how many PEs the job has, 0 outside of a job. */
int delayed_n_pes(void)
{
    return n_pes;
}

/* Returns the argument of a call that has this letter in the table of calls (preload.h). The call
 * has such an argument. */
static intptr_t argument_at(const struct preload_frame *f, char letter)
{
    const char *letters = preload_calls[f->number].letters;
    return (intptr_t)f->arg[strchr(letters, letter) - letters];
}

/* Reports whether a call is a put that can be delayed: this process is in a job, the put is not one
 * of NVSHMEM or on a CUDA stream, writes to symmetric memory and not to a mailbox or counter, and
 * its strides are valid. */
bool delayed_can(const struct preload_frame *f)
{
    const struct preload_call *c = &preload_calls[f->number];
    if (me < 0 || c->flags & (PRELOAD_STREAM | PRELOAD_NVSHMEM) || c->pe < 0 || c->dest < 0)
        return false;
    switch (c->kind) {
    case PRELOAD_KIND_PUT:
    case PRELOAD_KIND_P:
        return true;
    case PRELOAD_KIND_PUT_SIGNAL: /* but not one that adds to a notification counter */
        return c->signal >= 0 && c->source >= 0;
    case PRELOAD_KIND_IPUT:
        return argument_at(f, '4') >= 1 && argument_at(f, '5') >= 1; /* the two strides */
    default:
        return false;
    }
}

/* Copies the bytes of a put, from the program's memory `from`, into new memory; those of a strided
 * put without the gaps between blocks. d has bytes, block and stride already. Ends the process if
 * there is no memory. */
static char *copy_of(const struct preload_frame *f, const struct delayed *d, const char *from)
{
    char *copy = malloc(d->bytes + 1); /* not NULL for a put without bytes */
    if (!copy)
        preload_refuse("%s: no memory for a copy of its %zu bytes (the process has none left)",
                       preload_name(f->number), d->bytes);
    size_t step = d->stride == 0 ? 0 : (size_t)argument_at(f, '5') * preload_calls[f->number].size;
    for (size_t at = 0; at < d->bytes; at += d->block, from += step)
        memcpy(copy + at, from, d->block);
    return copy;
}

/* Adds a put to the end of a list. */
static void append(struct delayed_list *list, struct delayed *d)
{
    if (!list->first)
        list->last = &list->first;
    d->next = NULL;
    *list->last = d;
    list->last = &d->next;
    list->bytes += d->bytes;
}

/* Adds the put of a call, for which delayed_can returns true, to the end of a list, with all that
 * is needed to make it later. Its source is copied: the program may change that of a blocking put,
 * and the modes compare that of a nonblocking one. */
void delayed_add(struct delayed_list *list, const struct preload_frame *f)
{
    const struct preload_call *c = &preload_calls[f->number];
    const char *value = strchr(c->letters, 'v'); /* in a call with a value instead of a source */
    const void *from =
        c->source >= 0 ? (const void *)f->arg[c->source] : (const void *)f->arg[value - c->letters];
    struct delayed *d = malloc(sizeof *d);
    if (!d)
        preload_refuse("%s: no memory to keep it (the process has none left)",
                       preload_name(f->number));
    *d = (struct delayed){.number = f->number,
                          .pe = preload_pe(f),
                          .thread = pthread_self(),
                          .nbi = c->flags & PRELOAD_NBI,
                          .has_ctx = c->ctx >= 0,
                          .ctx = c->ctx >= 0 ? f->arg[c->ctx] : 0,
                          .dest = (char *)f->arg[c->dest],
                          .source = c->source >= 0 ? from : NULL,
                          .bytes = c->source >= 0 ? preload_bytes(f) : c->size};
    d->block = d->bytes;
    if (c->kind == PRELOAD_KIND_IPUT) {
        d->block = c->size * (c->blocks >= 0 ? f->arg[c->blocks] : 1);
        d->stride = c->size * (size_t)argument_at(f, '4');
    }
    if (c->kind == PRELOAD_KIND_PUT_SIGNAL) {
        d->signal = (char *)f->arg[c->signal];
        d->value = (uint64_t)argument_at(f, 'G');
        d->operation = (int)argument_at(f, 'O');
    }
    delayed_contexts_fill(d, f);
    d->copy = copy_of(f, d, from);
    append(list, d);
}

/* Moves the puts of a list for which test(put, f) is true to the end of another list. Both keep
 * their order. */
void delayed_move(struct delayed_list *list, struct delayed_list *to,
                  bool (*test)(const struct delayed *, const struct preload_frame *),
                  const struct preload_frame *f)
{
    struct delayed *d = list->first;
    *list = (struct delayed_list){NULL, NULL, 0};
    for (struct delayed *next; d; d = next) {
        next = d->next;
        append(test(d, f) ? to : list, d);
    }
}

/* Empties a list of delayed puts, and frees their copies. */
void delayed_clear(struct delayed_list *list)
{
    for (struct delayed *d = list->first, *next; d; d = next) {
        next = d->next;
        free(d->copy);
        free(d);
    }
    *list = (struct delayed_list){NULL, NULL, 0};
}

/* Sends a strided put by the function that the program has called, with the copy as its source. The
 * copy has no gaps, so the stride of the source is that of contiguous elements or blocks. A
 * function with blocks (ibput) takes the elements of a block and the number of blocks, another one
 * (iput) the number of elements. */
static void send_strided(const struct delayed *d)
{
    const struct preload_call *c = &preload_calls[d->number];
    ptrdiff_t size = c->size, dest_stride = (ptrdiff_t)d->stride / size;
    ptrdiff_t source_stride = (ptrdiff_t)d->block / size; /* in elements, as the others */
    size_t blocks = d->bytes / d->block, block_elems = (size_t)source_stride;
    void *put = delayed_real(d->number);
    if (c->blocks >= 0 && d->has_ctx)
        ((void (*)(uintptr_t, void *, const void *, ptrdiff_t, ptrdiff_t, size_t, size_t, int))put)(
            d->ctx, d->dest, d->copy, dest_stride, source_stride, block_elems, blocks, d->pe);
    else if (c->blocks >= 0)
        ((void (*)(void *, const void *, ptrdiff_t, ptrdiff_t, size_t, size_t, int))put)(
            d->dest, d->copy, dest_stride, source_stride, block_elems, blocks, d->pe);
    else if (d->has_ctx)
        ((void (*)(uintptr_t, void *, const void *, ptrdiff_t, ptrdiff_t, size_t, int))put)(
            d->ctx, d->dest, d->copy, dest_stride, 1, blocks, d->pe);
    else
        ((void (*)(void *, const void *, ptrdiff_t, ptrdiff_t, size_t, int))put)(
            d->dest, d->copy, dest_stride, 1, blocks, d->pe);
}

/* Sends a put with signal by the library's function, blocking or not, with or without the put's
 * context. The typed functions do the same with bytes, so that one serves all types. */
static void send_signalled(const struct delayed *d, const void *from, bool nbi)
{
    typedef void put_signal(void *, const void *, size_t, void *, uint64_t, int, int);
    typedef void ctx_put_signal(uintptr_t, void *, const void *, size_t, void *, uint64_t, int,
                                int);
    if (d->has_ctx)
        ((ctx_put_signal *)delayed_real(nbi ? PRELOAD_shmem_ctx_putmem_signal_nbi
                                            : PRELOAD_shmem_ctx_putmem_signal))(
            d->ctx, d->dest, from, d->bytes, d->signal, d->value, d->operation, d->pe);
    else
        ((put_signal *)delayed_real(nbi ? PRELOAD_shmem_putmem_signal_nbi
                                        : PRELOAD_shmem_putmem_signal))(
            d->dest, from, d->bytes, d->signal, d->value, d->operation, d->pe);
}

/* Sends a put that was delayed, by the library's function. from_copy: sends what the source
 * contained at the program's call, and not what it contains now. nbi: as a nonblocking put. */
void delayed_send(const struct delayed *d, bool from_copy, bool nbi)
{
    const void *from = from_copy || !d->source ? d->copy : d->source;
    if (d->signal) { /* a signal is sent even if the put has no bytes */
        send_signalled(d, from, nbi);
        return;
    }
    if (d->bytes == 0)
        return;
    if (d->stride > 0) {
        send_strided(d);
        return;
    }
    if (d->has_ctx) {
        void (*put)(uintptr_t, void *, const void *, size_t, int) =
            (void (*)(uintptr_t, void *, const void *, size_t, int))delayed_real(
                nbi ? PRELOAD_shmem_ctx_putmem_nbi : PRELOAD_shmem_ctx_putmem);
        put(d->ctx, d->dest, from, d->bytes, d->pe);
    } else {
        void (*put)(void *, const void *, size_t, int) =
            (void (*)(void *, const void *, size_t, int))delayed_real(nbi ? PRELOAD_shmem_putmem_nbi
                                                                          : PRELOAD_shmem_putmem);
        put(d->dest, from, d->bytes, d->pe);
    }
}

/* Completes the puts on the context of d, by the library's quiet. */
void delayed_quiet(const struct delayed *d)
{
    if (d->has_ctx)
        ((void (*)(uintptr_t))delayed_real(PRELOAD_shmem_ctx_quiet))(d->ctx);
    else
        ((void (*)(void))delayed_real(PRELOAD_shmem_quiet))();
}

/* Callback of dl_iterate_phdr, which passes the program first: stops there, and sets at[1] (arg is
 * an array of two addresses) to where the program is loaded if the address at[0] is in it, and to 1
 * if not. */
static int note_program(struct dl_phdr_info *info, size_t size, void *arg)
{
    uintptr_t *at = arg;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type == PT_LOAD && at[0] - (info->dlpi_addr + h->p_vaddr) < h->p_memsz) {
            at[1] = info->dlpi_addr;
            return 1;
        }
    }
    at[1] = 1; /* an odd number, which is not the address of a page */
    return 1;
}

/* Returns the place of a symmetric address: a number that is the same on every PE, though each may
 * have loaded the program and mapped the heap at another address. Of an address in the program it
 * is twice the distance from the program's start plus 1, of one on the heap twice the distance from
 * base, a symmetric address on the heap. */
uint64_t delayed_place(uintptr_t at, uintptr_t base)
{
    uintptr_t pair[2] = {at, 1};
    dl_iterate_phdr(note_program, pair);
    return pair[1] != 1 ? (uint64_t)(at - pair[1]) << 1 | 1 : (uint64_t)(at - base) << 1;
}

/* The reports of the modes early and chaos so far. */
#define REPORTS 20
static struct {
    pthread_mutex_t mutex;
    uint64_t texts[REPORTS]; /* hashes */
    int n;
    unsigned long beyond; /* reports that were not printed */
} reports = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Prints a report, unless the same text was printed before or REPORTS texts were. */
void delayed_report(const char *mode, const char *format, ...)
{
    char text[700];
    va_list rest;
    va_start(rest, format);
    vsnprintf(text, sizeof text, format, rest);
    va_end(rest);
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (const char *c = text; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    pthread_mutex_lock(&reports.mutex);
    bool again = false;
    for (int i = 0; i < reports.n; i++)
        again |= reports.texts[i] == hash;
    bool first = !again && reports.n < REPORTS;
    if (first)
        reports.texts[reports.n++] = hash;
    else
        reports.beyond++;
    pthread_mutex_unlock(&reports.mutex);
    if (first)
        preload_say("%s: PE %d: %s", mode, me, text);
}

/* Prints how many reports were left out. */
void delayed_reports_end(const char *mode)
{
    pthread_mutex_lock(&reports.mutex);
    unsigned long beyond = reports.beyond;
    reports.n = 0;
    reports.beyond = 0;
    pthread_mutex_unlock(&reports.mutex);
    if (beyond > 0)
        preload_say("%s: PE %d: %lu more of these reports", mode, me, beyond);
}

/* Returns the nanoseconds of a text such as 10us or 1.5ms, or -1 if it is no time up to an hour. */
long delayed_time(const char *text)
{
    static const struct {
        const char *unit;
        double nanoseconds;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 6e10}};
    char *end;
    double n = strtod(text, &end);
    if (end == text || !(n >= 0))
        return -1;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].unit) == 0 && n * units[i].nanoseconds <= 3.6e12)
            return (long)(n * units[i].nanoseconds);
    return -1;
}

/* Sleeps for a time, however often a signal interrupts it. */
void delayed_pause(long nanoseconds)
{
    struct timespec t = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

/* Returns the time of the monotonic clock, in seconds. */
double delayed_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
