/*
 * mode_chaos.c: chaos:SEED: puts between two fences arrive in another order, and late.
 *
 * The specification gives puts of one PE to another no order, unless a fence or quiet is between
 * them; a put with signal has an order with its own signal only. On one node they arrive in the
 * order of the program nearly always, so that a program without the fence works until it runs on a
 * network. This mode delays each put, also a blocking one or one with strides or a signal: it
 * copies the bytes, and sends the put at the next call that is not a put. A share of the puts
 * (reorder=) is sent after a pause (delay=) and in another order. Atomics and signals without data
 * are sent at once, before puts that the program made earlier.
 *
 * The order is a function of the seed, the PE and the number of the fence, so that a seed repeats
 * it as far as the program repeats its calls.
 *
 * A program that lacks a fence then sometimes computes another result. chaos_flags.c reports those
 * missing fences that the mode itself can see, whatever the seed.
 */
#define _GNU_SOURCE
#include "chaos.h"
#include "delayed.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The delayed puts are sent at the latest when their copies have this many bytes. */
#define MAX_COPIES ((size_t)64 << 20)

static uint64_t seed;        /* as the program's user has set it */
static double reorder = 0.5; /* the share of puts that is sent late */
static long delay = 1000000; /* the longest pause before those, in nanoseconds */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of list and epoch */
static struct delayed_list list;                          /* the puts that are delayed */
static uint64_t epoch; /* how often they were sent; part of the seed */

/* Parses the options of the mode, :SEED, delay=TIME and reorder=SHARE. Returns what is wrong, or
 * NULL. */
static const char *parse(char *text)
{
    char *key, *value, *end;
    if (*text != ':')
        return "it needs a seed";
    *text = ',';
    if (!(key = preload_option(&text, &value)))
        return "it needs a seed";
    seed = strtoull(key, &end, 10);
    if (!*key || *end || value || *key == '-')
        return "the seed is not a number";
    while ((key = preload_option(&text, &value)) != NULL) {
        if (value && strcmp(key, "reorder") == 0) {
            reorder = strtod(value, &end);
            if (!*value || *end || !(reorder >= 0 && reorder <= 1))
                return "reorder is a share from 0 to 1";
        } else if (value && strcmp(key, "delay") == 0) {
            if ((delay = delayed_time(value)) < 0)
                return "delay is a time as in 1ms";
        } else {
            return "there is no such word";
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ with lock */

/* Returns the next random number of 64 bits, by splitmix64, whose state is one word. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Returns a random number from 0 to less than 1. */
static double random_share(uint64_t *state)
{
    return (double)(next_random(state) >> 11) * 0x1p-53;
}

/* Sends the n puts of an array, from the copies of their bytes, in a random order, each by a
 * blocking put: the call of the program that lets them go, a fence or quiet, follows and completes
 * them. */
static void send_in_random_order(struct delayed **puts, int n, uint64_t *state)
{
    for (int i = n - 1; i > 0; i--) {
        int j = (int)(next_random(state) % (unsigned)(i + 1));
        struct delayed *swap = puts[i];
        puts[i] = puts[j];
        puts[j] = swap;
    }
    for (int i = 0; i < n; i++)
        delayed_send(puts[i], /* from_copy */ true, /* nbi */ false);
}

/* Sends the delayed puts that this thread may send in the call f. A random share of them (reorder=)
 * is sent last, after a pause and in random order. The others are sent in program order, each of
 * them complete before the next one. */
static void send_all(const struct preload_frame *f)
{
    struct delayed_list now = {NULL, NULL, 0};
    delayed_move(&list, &now, delayed_may_send, f);
    if (!now.first)
        return;
    /* The factors, large odd numbers, keep the states of different seeds and PEs apart. */
    uint64_t state = seed * 0x2545f4914f6cdd1du + (uint64_t)delayed_pe() * 0x100000001b3u + epoch;
    int n = 0, n_late = 0;
    for (const struct delayed *d = now.first; d; d = d->next)
        n++;
    struct delayed **late = malloc((size_t)n * sizeof *late);
    if (!late)
        preload_refuse("chaos: no memory for %d puts (the process has none left)", n);
    chaos_flags_send(now.first);
    for (struct delayed *d = now.first; d; d = d->next) {
        if (random_share(&state) < reorder) {
            late[n_late++] = d;
        } else {
            delayed_send(d, /* from_copy */ true, /* nbi */ false);
            delayed_quiet(d);
        }
    }
    if (n_late > 0 && n_late < n) /* some puts were sent now, and some are late */
        delayed_pause((long)(random_share(&state) * (double)delay));
    send_in_random_order(late, n_late, &state);
    free(late);
    delayed_clear(&now);
    epoch++;
}

/* ------------------------------------------------------------------ the calls */

/* Delays a put until a later flush. Returns false, which as the result of before() means that the
 * mode has made the call. */
static bool delay_put(const struct preload_frame *f)
{
    pthread_mutex_lock(&mutex);
    delayed_add(&list, f);
    if (list.bytes > MAX_COPIES)
        send_all(f);
    pthread_mutex_unlock(&mutex);
    return false;
}

/* Reports whether a call may be made before the delayed puts are sent, because nothing orders it
 * after them: atomics, signals, puts that cannot be delayed, and calls without communication. */
static bool overtakes(const struct preload_call *c)
{
    switch (c->kind) {
    case PRELOAD_KIND_ATOMIC:
    case PRELOAD_KIND_SIGNAL:
    /* Of these two kinds only calls come here that delayed_can refuses, for example because a
     * stride is invalid: before() delays the others. */
    case PRELOAD_KIND_PUT_SIGNAL:
    case PRELOAD_KIND_IPUT:
        return true;
    case PRELOAD_KIND_OTHER:
    case PRELOAD_KIND_CONTROL:
        return true; /* no communication */
    default:
        return false;
    }
}

/* Delays puts, and sends the delayed ones before any other call that may not overtake them. Returns
 * false if it has served the call, a put. */
static bool before(struct preload_frame *f)
{
    const struct preload_call *c = &preload_calls[f->number];
    if (delayed_can(f))
        return delay_put(f);
    delayed_contexts_before(f);
    pthread_mutex_lock(&mutex);
    if (overtakes(c))
        chaos_flags_send_call(list.first, f);
    else
        send_all(f);
    pthread_mutex_unlock(&mutex);
    return true;
}

/* Called after each call of the program. After an init of OpenSHMEM puts are delayed, until
 * finalize. An init of NVSHMEM changes nothing: puts of NVSHMEM are never delayed.
 * chaos_flags_after gets every call: it searches for waits for a flag that was written without a
 * fence after its data. */
static void after(struct preload_frame *f)
{
    const struct preload_call *c = &preload_calls[f->number];
    if (c->kind == PRELOAD_KIND_INIT && !(c->flags & PRELOAD_NVSHMEM)) {
        delayed_set_running(f, /* running */ true);
        chaos_flags_open();
    }
    chaos_flags_after(f);
    delayed_contexts_after(f);
    if (c->kind == PRELOAD_KIND_FINALIZE) {
        delayed_reports_end("chaos");
        chaos_flags_close();
        delayed_set_running(f, /* running */ false);
    }
}

/* In the child of a fork, which is not a PE: discards the delayed puts. */
static void forget_in_child(void)
{
    pthread_mutex_init(&mutex, NULL);
    delayed_contexts_forked();
    delayed_clear(&list);
    chaos_flags_close();
}

const struct preload_mode preload_chaos = {
    .word = "chaos",
    .form = "chaos:SEED[,reorder=SHARE][,delay=TIME]",
    .set = parse,
    .before = before,
    .after = after,
    .forked = forget_in_child,
};
