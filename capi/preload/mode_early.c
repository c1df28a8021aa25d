/*
 * mode_early.c: the bytes of a nonblocking put are sent at the next quiet, and not before.
 *
 * The specification lets a library read the source of such a put, and write the destination, at any
 * time from the call to the quiet. Most libraries read it in the call, so that a program which
 * changes the source too early, or which lacks the quiet, works until it runs with a library that
 * reads it later. This mode sends the bytes as late as the specification allows:
 *
 *   - the source is compared with a copy at the quiet: a change is reported;
 *   - a get of bytes that such a put has not completed is reported;
 *   - when a wait has lasted a second while such puts are unsent, the mode sends them. If the wait
 *     then ends at once, the program depended on a put without a quiet, which is reported.
 *
 * The bytes that are sent are those in the source at the quiet, as with a library that reads it
 * late. A PE that reads the destination too early reads the old bytes: that shows only in the
 * program's result.
 *
 * A put with signal is sent also when this PE makes a call in which it may wait: its target waits
 * for the signal, and may act on it before this PE has called quiet. Its source has to stay
 * unchanged until the quiet nevertheless.
 *
 * A quiet completes the puts of its context, and of no other one. Barriers, an unlock and the calls
 * that allocate or free complete those of the default context, the destruction of a context or team
 * those of the contexts that it destroys, and finalize all. A fence sends the puts of its context,
 * and the source has to stay as it is until the quiet.
 *
 * A put on a context that threads may not use at the same time is sent by its own thread, or by a
 * call that uses the context, too.
 */
#define _GNU_SOURCE
#include "delayed.h"
#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* In seconds: how long a wait may take before the delayed puts are sent, and in what time after
 * that the wait ends if it depended on these puts. */
#define WAIT_TIMEOUT 1.0
#define SOON 0.5
/* The characters of the text about a put that was sent for a wait (send_for_waiter). */
#define PUT_TEXT 320

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* The delayed puts, sent or not, that no call has completed yet; guarded by the lock. */
static struct delayed_list list;
/* The number of puts in the list; of unsent puts; and of unsent puts with a signal. They are
 * written with the lock, and also read without the lock. */
static _Atomic int kept, unsent, signals;

/* For programs that wait in a loop of tests; guarded by the lock. */
static double tested; /* the time of the first test while a put was unsent; 0: none yet */
static double pushed; /* the time at which a test caused the puts to be sent; 0: none did */
static char pushed_put[PUT_TEXT]; /* the text about the first of these puts */

/* ------------------------------------------------------------------ with lock */

/* Writes the words by which reports name a put. */
static void describe(const struct delayed *d, char *text, size_t size)
{
    snprintf(text, size, "%s of %zu bytes to PE %d", preload_name(d->number), d->bytes, d->pe);
}

/* Returns the first byte at which the source of a put differs from the copy: d->bytes if none does,
 * -1 if a part of the source is not mapped any more. The kernel reads the source, because a read by
 * this process could end it. */
static ssize_t first_change(const struct delayed *d)
{
    char now[4096];
    for (size_t at = 0; at < d->bytes;) {
        size_t n = d->bytes - at < sizeof now ? d->bytes - at : sizeof now;
        struct iovec to = {now, n}, from = {(void *)(d->source + at), n};
        ssize_t got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
        if (got < 0 && errno != EFAULT) { /* the kernel does not allow it here */
            memcpy(now, d->source + at, n);
            got = (ssize_t)n;
        }
        if (got <= 0)
            return -1;
        for (ssize_t i = 0; i < got; i++)
            if (now[i] != d->copy[at + (size_t)i])
                return (ssize_t)at + i;
        at += (size_t)got;
    }
    return (ssize_t)d->bytes;
}

/* Sends a put, unless it was sent. One whose source is not mapped any more is sent from the copy.
 */
static void send_once(struct delayed *d)
{
    if (d->sent)
        return;
    delayed_send(d, /* from_copy */ first_change(d) < 0, /* nbi */ true);
    d->sent = true;
    unsent--;
    signals -= d->signal != NULL;
}

/* Sends the puts with a signal that this thread may send. They stay in the list, for the check of
 * their sources at the next quiet. */
static void send_signals(const struct preload_frame *f)
{
    for (struct delayed *d = list.first; d; d = d->next)
        if (d->signal && delayed_may_send(d, f))
            send_once(d);
}

/* Sends the puts on the context of a fence. They stay in the list, too. */
static void send_fenced(const struct preload_frame *f)
{
    for (struct delayed *d = list.first; d; d = d->next)
        if (delayed_on_context(d, f))
            send_once(d);
    if (unsent == 0)
        tested = 0;
}

/* Returns the function that completes a put, for the remedies of reports. */
static const char *quiet_of(const struct delayed *d)
{
    return d->context == 0 ? "shmem_quiet" : "shmem_ctx_quiet with its context";
}

/* Reports each nonblocking put of a list whose source has changed before this call, which completes
 * the puts. */
static void report_changed_sources(const struct delayed_list *completed,
                                   const struct preload_frame *f)
{
    for (const struct delayed *d = completed->first; d; d = d->next) {
        char put[128], text[600];
        ssize_t at = first_change(d);
        if (at == (ssize_t)d->bytes)
            continue;
        describe(d, put, sizeof put);
        if (at < 0)
            snprintf(text, sizeof text,
                     "%s: its source is not mapped any more at %s (the source of a nonblocking put "
                     "must stay until a quiet: call %s before it is freed)",
                     put, preload_name(f->number), quiet_of(d));
        else
            snprintf(
                text, sizeof text,
                "%s: byte %zd of the source was changed before %s (the source of a nonblocking "
                "put must stay as it is until a quiet: call %s before the change)",
                put, at, preload_name(f->number), quiet_of(d));
        delayed_report("early", "%s", text);
    }
}

/* Checks, sends and removes the puts that a call completes. */
static void complete(const struct preload_frame *f)
{
    struct delayed_list completed = {NULL, NULL, 0};
    delayed_move(&list, &completed, delayed_completes, f);
    report_changed_sources(&completed, f);
    for (struct delayed *d = completed.first; d; d = d->next) {
        send_once(d);
        kept--;
    }
    delayed_clear(&completed);
    if (unsent == 0)
        tested = 0;
}

/* Reports a get that reads at a PE what a delayed put has yet to write there: the program relies on
 * an order that only a quiet gives. The letter R of the table of calls is the address at the PE. A
 * strided put counts with as many bytes as it writes, without its gaps. */
static void check_get(const struct preload_frame *f)
{
    const struct preload_call *c = &preload_calls[f->number];
    const char *place = strchr(c->letters, 'R');
    const char *from = place ? (const char *)f->arg[place - c->letters] : NULL;
    size_t bytes = c->nelems >= 0 ? preload_bytes(f) : c->size;
    for (const struct delayed *d = list.first; d && from; d = d->next) {
        char put[128], text[600];
        if (!delayed_same_team(d, f) || d->pe != preload_pe(f) || from >= d->dest + d->bytes ||
            d->dest >= from + bytes)
            continue;
        describe(d, put, sizeof put);
        snprintf(text, sizeof text,
                 "%s reads at PE %d what %s writes there, and no quiet is between them (a "
                 "nonblocking put is complete after a quiet: call %s before the get)",
                 preload_name(f->number), d->pe, put, quiet_of(d));
        delayed_report("early", "%s", text);
        return;
    }
}

/* --------------------------------------------------------------------- waits */

/* Returns the number of the call that tests the condition of a waiting call, whose number is given;
 * -1 for waits on several elements. */
static int test_of(unsigned number)
{
    char name[96];
    const char *wait = preload_name(number), *at = strstr(wait, "_wait");
    const char *letters = preload_calls[number].letters;
    if (letters[0] == 'g') /* of a signal */
        return PRELOAD_shmem_uint64_test;
    if (!at || (strcmp(letters, "wov") != 0 && strcmp(letters, "wv") != 0))
        return -1;
    if (at == wait + strlen("shmem")) /* shmem_wait and shmem_wait_until are of long */
        return PRELOAD_shmem_long_test;
    snprintf(name, sizeof name, "%.*s_test", (int)(at - wait), wait);
    for (int i = 0; i < PRELOAD_CALLS; i++)
        if (strcmp(preload_name((unsigned)i), name) == 0)
            return i;
    return -1;
}

/* Reports whether the condition of a waiting call is true, by calling test, the test function of
 * the same type. An integer argument is in a register whatever its type, so one prototype serves
 * all. */
static bool condition_holds(const struct preload_frame *f, int test)
{
    const struct preload_call *c = &preload_calls[f->number];
    /* shmem_long_wait(word, value): until they differ; others are (word, comparison, value). */
    bool until_differs = strcmp(c->letters, "wv") == 0;
    int comparison = until_differs ? 1 /* NE */ : (int)f->arg[1];
    uint64_t value = 0;
    if (c->letters[0] == 'g')
        value = f->arg[2];
    else
        memcpy(&value, (const void *)f->arg[until_differs ? 1 : 2], c->size);
    return ((int (*)(uintptr_t, int, uint64_t))delayed_real((unsigned)test))(f->arg[0], comparison,
                                                                             value) != 0;
}

/* shmem_test of Open MPI 4.1 only reads memory: it makes no progress, and neither does a quiet
 * without operations. This function of Open MPI makes progress. */
static void (*progress_of_open_mpi)(void);

/* Finds the function of Open MPI that makes progress, once. */
static void find_progress(void)
{
    const char *file = preload_library_file(delayed_real(PRELOAD_shmem_my_pe));
    if (strstr(file, "liboshmem"))
        progress_of_open_mpi = (void (*)(void))dlsym(RTLD_DEFAULT, "opal_progress");
}

/* Calls the function that makes progress in Open MPI, if the library is Open MPI's. */
static void make_progress(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_progress);
    if (progress_of_open_mpi)
        progress_of_open_mpi();
}

/* Tests the condition of a waiting call for some seconds, every 50 us. Returns whether it became
 * true. */
static bool poll_condition(const struct preload_frame *f, int test, double seconds)
{
    double end = delayed_now() + seconds;
    for (;;) {
        make_progress();
        if (condition_holds(f, test))
            return true;
        if (delayed_now() > end)
            return false;
        delayed_pause(50000);
    }
}

/* Sends and completes the unsent puts that this thread may send, because another PE may wait for
 * them. The caller has locked `mutex`. Writes to `put` a description of the first one, with the
 * function that completes it, or "" if there was none. */
static void send_for_waiter(const struct preload_frame *f, char *put, size_t size)
{
    const struct delayed *of_default = NULL;
    put[0] = '\0';
    for (struct delayed *d = list.first; d; d = d->next) {
        if (d->sent || !delayed_may_send(d, f))
            continue;
        if (!put[0]) {
            char what[128];
            describe(d, what, sizeof what);
            snprintf(put, size,
                     "%s was sent for it, and no quiet is between them (a nonblocking put may go "
                     "as late as a quiet: call %s before the wait)",
                     what, quiet_of(d));
        }
        send_once(d);
        if (d->context == 0)
            of_default = d;
        else
            delayed_quiet(d);
    }
    if (of_default)
        delayed_quiet(of_default);
    tested = 0;
}

/* Reports a wait that ended only because a put was sent for it. */
static void report_dependence(const struct preload_frame *f, const char *put)
{
    delayed_report("early", "%s did not end before %s", preload_name(f->number), put);
}

/* Called before a wait while puts are unsent: if the condition does not become true for
 * WAIT_TIMEOUT, sends the puts, and reports the wait if it then becomes true. */
static void wait_with_unsent_puts(const struct preload_frame *f)
{
    char put[PUT_TEXT];
    int test = test_of(f->number);
    if (test >= 0 && poll_condition(f, test, WAIT_TIMEOUT))
        return;
    pthread_mutex_lock(&mutex);
    /* For waits on several elements, which cannot be tested here (test < 0), at once. */
    send_for_waiter(f, put, sizeof put);
    pthread_mutex_unlock(&mutex);
    if (test >= 0 && put[0] && poll_condition(f, test, SOON))
        report_dependence(f, put);
}

/* ------------------------------------------------------------------ the calls */

/* Reports whether a call may wait for another PE, by its kind. Before such a call the delayed puts
 * may have to be made, or the other PE would wait for ever. */
static bool may_wait(const struct preload_call *c)
{
    switch (c->kind) {
    case PRELOAD_KIND_OTHER:
    case PRELOAD_KIND_CONTROL:
    case PRELOAD_KIND_POINTER:
    case PRELOAD_KIND_PUT:
    case PRELOAD_KIND_P:
    case PRELOAD_KIND_IPUT:
    case PRELOAD_KIND_PUT_SIGNAL:
    case PRELOAD_KIND_SIGNAL:
    case PRELOAD_KIND_ATOMIC:
        return false;
    default:
        return true;
    }
}

/* Delays a put until the next quiet. Returns false, which as the result of before() means that the
 * mode has made the call. */
static bool delay_put(const struct preload_frame *f)
{
    pthread_mutex_lock(&mutex);
    delayed_add(&list, f);
    kept++;
    unsent++;
    signals += preload_calls[f->number].kind == PRELOAD_KIND_PUT_SIGNAL;
    tested = 0;
    pthread_mutex_unlock(&mutex);
    return false;
}

/* Delays nonblocking puts. Before another call it sends or checks the delayed ones, if the
 * specification allows that call to depend on them. Returns false if it has served the call, a put.
 */
static bool before(struct preload_frame *f)
{
    const struct preload_call *c = &preload_calls[f->number];
    if (c->flags & PRELOAD_NBI && delayed_can(f))
        return delay_put(f);
    delayed_contexts_before(f);
    if (kept == 0) /* exact for puts of this thread, and for those ordered before this call */
        return true;
    if (signals > 0 && may_wait(c)) {
        pthread_mutex_lock(&mutex);
        send_signals(f);
        pthread_mutex_unlock(&mutex);
    }
    switch (c->kind) {
    case PRELOAD_KIND_QUIET:
    case PRELOAD_KIND_BARRIER:
    case PRELOAD_KIND_FINALIZE:
    case PRELOAD_KIND_UNLOCK:
    case PRELOAD_KIND_ALLOC:
    case PRELOAD_KIND_REALLOC:
    case PRELOAD_KIND_FREE:
    case PRELOAD_KIND_CTX_DESTROY:
    case PRELOAD_KIND_TEAM_DESTROY:
        pthread_mutex_lock(&mutex);
        complete(f);
        pthread_mutex_unlock(&mutex);
        break;
    case PRELOAD_KIND_FENCE:
        pthread_mutex_lock(&mutex);
        send_fenced(f);
        pthread_mutex_unlock(&mutex);
        break;
    case PRELOAD_KIND_GET:
    case PRELOAD_KIND_G:
        pthread_mutex_lock(&mutex);
        check_get(f);
        pthread_mutex_unlock(&mutex);
        break;
    case PRELOAD_KIND_WAIT:
        if (unsent > 0)
            wait_with_unsent_puts(f);
        break;
    case PRELOAD_KIND_TEST:
        pthread_mutex_lock(&mutex);
        if (unsent > 0 && tested == 0) {
            tested = delayed_now();
        } else if (unsent > 0 && delayed_now() > tested + WAIT_TIMEOUT) {
            send_for_waiter(f, pushed_put, sizeof pushed_put);
            pushed = pushed_put[0] ? delayed_now() : 0; /* this thread may send none of them */
        }
        pthread_mutex_unlock(&mutex);
        break;
    default:
        break;
    }
    return true;
}

/* Reports whether a test has succeeded. A call that returns the value of a word has succeeded if it
 * returns another value than the previous such call. */
static bool test_succeeded(const struct preload_frame *f)
{
    static uint64_t before; /* the value that the previous call of any thread has returned */
    const char *name = preload_name(f->number);
    if (strstr(name, "_fetch")) {
        uint64_t value = *(const uint64_t *)f->result;
        return __atomic_exchange_n(&before, value, __ATOMIC_RELAXED) != value;
    }
    if (strstr(name, "_test_any"))
        return *(const size_t *)f->result != SIZE_MAX;
    if (strstr(name, "_test_some"))
        return *(const size_t *)f->result > 0;
    return *(const int *)f->result != 0;
}

/* Called after each call: an init begins the delays, and a finalize ends them. A test that succeeds
 * soon after delayed puts were sent for it is reported, because the program depends on puts that it
 * has not completed. */
static void after(struct preload_frame *f)
{
    const struct preload_call *c = &preload_calls[f->number];
    delayed_contexts_after(f);
    if (c->kind == PRELOAD_KIND_FINALIZE)
        delayed_reports_end("early");
    if (c->kind == PRELOAD_KIND_INIT || c->kind == PRELOAD_KIND_FINALIZE)
        delayed_set_running(f, c->kind == PRELOAD_KIND_INIT);
    if (c->kind == PRELOAD_KIND_TEST && test_succeeded(f)) {
        char put[PUT_TEXT];
        pthread_mutex_lock(&mutex);
        bool soon = pushed > 0 && delayed_now() < pushed + SOON;
        pushed = 0;
        memcpy(put, pushed_put, sizeof put); /* other threads write to it, with the lock */
        pthread_mutex_unlock(&mutex);
        if (soon)
            report_dependence(f, put);
    }
}

/* In the child of a fork, which is not a PE: discards the delayed puts. */
static void forget_in_child(void)
{
    pthread_mutex_init(&mutex, NULL);
    delayed_contexts_forked();
    delayed_clear(&list);
    kept = unsent = signals = 0;
}

const struct preload_mode preload_early = {
    .word = "early",
    .form = "early",
    .before = before,
    .after = after,
    .forked = forget_in_child,
};
