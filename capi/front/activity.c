/*
 * activity.c: what a PE is doing, in its control page.
 *
 * A report that names only the awaited PE leaves open why that PE is late. Its control page shows
 * what it is doing: the PEs of the node read the page without its help, even after its process has
 * ended, and the PE's proxy sends the same text to PEs of other nodes.
 */
#define _GNU_SOURCE
#include "activity.h"

#include "clock.h"
#include "spell.h"
#include "waiter.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* When a long wait first looks up the activity of late PEs for other processes. It does so again
 * after a second, and then after pauses that double up to 4 s: a lookup takes a call into Go and
 * files of /proc, which are 1 to 3 ms of a processor in a process that sleeps otherwise. */
#define FIRST_NS 100000000u
#define REFRESH_NS 1000000000u
#define REFRESH_DOUBLES 2

/* A waiting PE sends requests for their activity to late PEs of other nodes, and to the launcher,
 * after this time, then after pauses that double up to INQUIRY_DOUBLES times, so that jobs that
 * wait for long send little. */
#define INQUIRY_NS 1000000000u
#define INQUIRY_DOUBLES 5

/* Returns the part of this PE's control page in which it publishes what it is doing. */
static struct shmemi_activity *mine(void)
{
    return &shmemi_my_ctl()->activity;
}

static pid_t owner; /* the process that called init: a child of fork inherits the exit handlers */

/* Handler of on_exit: publishes the exit status of this PE in its control page. In a job without a
 * launcher, other PEs cannot learn the status in another way. */
static void note_exit(int status, void *unused)
{
    (void)unused;
    if (shmemi_state.n_pes == 0 || getpid() != owner)
        return;
    struct shmemi_activity *a = mine();
    a->status = status & 0xff;
    a->exit_since = shmemi_now();
    shmemi_publish(&a->exits, 1);
}

/* Publishes that this PE is now in a stage of its life (SHMEMI_STAGE_: running, leaving,
 * finalized), and since when. */
static void publish_stage(uint32_t stage)
{
    mine()->stage_since = shmemi_now();
    shmemi_publish(&mine()->stage, stage);
}

/* At the end of init: registers the exit handler once, and publishes that this PE runs. */
void shmemi_activity_open(void)
{
    static bool registered;
    owner = getpid();
    if (!registered)
        registered = on_exit(note_exit, NULL) == 0; /* else reports lack the exit status */
    publish_stage(SHMEMI_STAGE_RUNNING);
}

/* Publishes that this PE has passed the barrier of finalize. The caller then waits for the other
 * PEs to leave. */
void shmemi_activity_leave(void)
{
    publish_stage(SHMEMI_STAGE_LEAVING);
}

/* Publishes that this PE has left the job. */
void shmemi_activity_finalized(void)
{
    publish_stage(SHMEMI_STAGE_FINALIZED);
}

/* ------------------------------------------------------------------- writing */

/* Lists the PEs for which a wait waits: the one that the caller has named, or those that its
 * function `late` finds. Sets *all to their number, and returns how many of them are in pes. */
int shmemi_activity_late(const struct shmemi_waiter *w, int32_t pes[SHMEMI_LATE], int *all)
{
    *all = 0;
    if (w->about) {
        pes[0] = w->pe;
        *all = 1;
    } else if (w->late) {
        *all = w->late(w->subject, pes, SHMEMI_LATE);
    }
    return *all < SHMEMI_LATE ? *all : SHMEMI_LATE;
}

/* Returns the entry of the control page in which a wait is published. w->entry is 1 + its index; 0:
 * the wait is in none. */
static struct shmemi_long_wait *entry_of(const struct shmemi_waiter *w)
{
    return &mine()->waits[w->entry - 1];
}

/* Publishes a long wait in a free entry of the control page, and sets w->entry. Does nothing if no
 * entry is free: then reports of other PEs do not show this wait. */
static void claim_entry(struct shmemi_waiter *w)
{
    for (int i = 0; i < SHMEMI_LONG_WAITS; i++) {
        struct shmemi_long_wait *e = &mine()->waits[i];
        uint32_t free = 0;
        if (!shmemi_acquire_if(&e->taken, &free, 1))
            continue;
        shmemi_seqcount_write_begin(&e->turn);
        snprintf(e->call, sizeof e->call, "%s", w->call);
        shmemi_use_program_names(e->call, sizeof e->call);
        e->what[0] = e->why[0] = 0;
        if (w->describe)
            w->describe(w->subject, e->what, sizeof e->what);
        e->since = w->clock.since;
        shmemi_seqcount_write_end(&e->turn);
        w->entry = (uint8_t)(i + 1);
        return;
    }
}

/* When this thread has last looked up what the late PEs of its present wait are doing. */
static _Thread_local struct {
    const struct shmemi_waiter *waiter;
    uint64_t since;     /* when that wait began: another one may be at the same address */
    uint64_t refreshed; /* when this wait's texts were last renewed, 0: never */
    uint32_t refreshes; /* how often they were renewed, up to REFRESH_DOUBLES */
    uint64_t inquiry;   /* when the last request to late PEs was sent */
    uint32_t inquiries; /* how many requests were sent, up to INQUIRY_DOUBLES */
} present;

/* Sends a request to late PEs of other nodes, and to the launcher, for what they are doing, unless
 * this thread sent one a short time ago. Their replies arrive with later polls of the network, and
 * the next refresh reads them. */
static void ask_late_pes(const int32_t *late, int n, uint64_t now)
{
    if (now - present.inquiry < (uint64_t)INQUIRY_NS << present.inquiries)
        return;
    present.inquiry = now;
    present.inquiries += present.inquiries < INQUIRY_DOUBLES;
    shmemi_state.core->probe(late, n);
}

/* Renews the text about a long wait, with what it waits for and what the late PEs are doing: in
 * this PE's control page for the PEs of the node, and in its status page for other programs.
 * w->shown is 1 + the index of the wait's entry in the status page; 0: it is not shown there. */
static void renew_wait_text(const struct shmemi_waiter *w, uint64_t now)
{
    char what[sizeof mine()->waits[0].what] = "", why[sizeof mine()->waits[0].why] = "";
    int32_t late[SHMEMI_LATE];
    int all, n = shmemi_activity_late(w, late, &all);
    if (w->describe)
        w->describe(w->subject, what, sizeof what);
    if (n > 0) {
        ask_late_pes(late, n, now);
        shmemi_state.core->late(late, n, all, why, sizeof why);
    }
    if (w->entry) {
        struct shmemi_long_wait *e = entry_of(w);
        shmemi_seqcount_write_begin(&e->turn);
        memcpy(e->what, what, sizeof what);
        memcpy(e->why, why, sizeof why);
        shmemi_seqcount_write_end(&e->turn);
    }
    if (w->shown) {
        struct shmemi_statuspage_wait *l = &shmemi_state.live->waits[w->shown - 1];
        snprintf(l->what, sizeof l->what, "%s%s%s", what, what[0] && why[0] ? "; " : "", why);
    }
}

/* Publishes a wait that has become long in this PE's control page, and refreshes the text there at
 * growing intervals. A thread has one wait at a time, so each thread has one record of the times of
 * its refreshes, which a new wait resets. */
void shmemi_activity_publish(struct shmemi_waiter *w, uint64_t now)
{
    uint64_t since = w->clock.since;
    if (!w->entry)
        claim_entry(w);
    if (present.waiter != w || present.since != since) {
        present.waiter = w;
        present.since = present.inquiry = since;
        present.refreshed = present.refreshes = present.inquiries = 0;
    }
    if (present.refreshed) {
        if (now - present.refreshed < (uint64_t)REFRESH_NS << present.refreshes)
            return;
        present.refreshes += present.refreshes < REFRESH_DOUBLES;
    } else if (now - since < FIRST_NS) {
        return;
    }
    present.refreshed = now;
    renew_wait_text(w, now);
}

/* Frees the entry of a wait that is over and has one, and records the wait as the PE's last long
 * one, which reports name if the PE is in no wait. */
void shmemi_activity_withdraw(struct shmemi_waiter *w)
{
    struct shmemi_activity *a = mine();
    struct shmemi_long_wait *e = entry_of(w);
    shmemi_seqcount_write_begin(&e->turn);
    e->since = 0;
    shmemi_seqcount_write_end(&e->turn);
    /* Records the last long wait of all threads. Of two waits that end at the same time it may be
     * either one. */
    if (shmemi_seqcount_write_try_begin(&a->left_turn)) {
        memcpy(a->left_call, e->call, sizeof a->left_call);
        a->left = shmemi_now();
        shmemi_seqcount_write_end(&a->left_turn);
    }
    shmemi_release(&e->taken, 0);
    w->entry = 0;
}

/* ------------------------------------------------------------------- reading */

/* Copies n bytes that another process may be writing under the sequence count `turn`, until no
 * write was under way during the copy. Returns false if a write was under way in every try, for
 * example because the writer was killed within one. */
static bool copy_consistent(void *to, const void *from, size_t n, const uint32_t *turn)
{
    for (int tries = 0; tries < 1000; tries++) {
        uint32_t began = shmemi_seqcount_read_begin(turn);
        memcpy(to, from, n);
        if (!shmemi_seqcount_read_retry(turn, began))
            return true;
    }
    return false;
}

/* Returns the seconds between two times in nanoseconds; 0 if now is before since. */
static double seconds(uint64_t since, uint64_t now)
{
    return now > since ? (double)(now - since) / 1e9 : 0;
}

/* A text that is being written: where its next character goes, and how many bytes of the array are
 * left, with one for the final 0. */
struct text {
    char *at;
    size_t left;
};

/* Appends to a text as printf does. What does not fit is cut off. */
static void __attribute__((format(printf, 2, 3))) say(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at, t->left, format, args);
    va_end(args);
    size_t used = n < 0 ? 0 : (size_t)n < t->left ? (size_t)n : t->left - 1;
    t->at += used;
    t->left -= used;
}

/* Appends the long waits of a PE, as its control page shows them. deep: also what the PEs for which
 * it waits are doing. Returns false if the PE is in no long wait. */
static bool say_waits(struct text *t, const struct shmemi_activity *a, uint64_t now, bool deep)
{
    bool any = false;
    for (int i = 0; i < SHMEMI_LONG_WAITS; i++) {
        struct shmemi_long_wait w;
        const struct shmemi_long_wait *e = &a->waits[i];
        if (!copy_consistent(&w, e, sizeof w, &e->turn) || w.since == 0)
            continue;
        w.call[sizeof w.call - 1] = w.what[sizeof w.what - 1] = w.why[sizeof w.why - 1] = 0;
        say(t, "%s %s for %.1f s", any ? ", and another thread" : "is in", w.call,
            seconds(w.since, now));
        if (w.what[0])
            say(t, " (%s%s%s)", w.what, deep && w.why[0] ? "; " : "", deep ? w.why : "");
        any = true;
    }
    return any;
}

/* Appends that the PE is in no long wait, and when its last one ended. */
static void say_last_wait(struct text *t, const struct shmemi_activity *a, uint64_t now)
{
    struct {
        uint64_t left;
        char call[sizeof a->left_call];
    } last;
    _Static_assert(sizeof last == sizeof a->left + sizeof a->left_call, "the two are adjacent");
    say(t, "is in no call of the library that waits");
    if (copy_consistent(&last, &a->left, sizeof last, &a->left_turn) && last.left != 0) {
        last.call[sizeof last.call - 1] = 0;
        say(t, " (its last long one, %s, ended %.1f s ago)", last.call, seconds(last.left, now));
        return;
    }
    say(t, " (none has been long since shmem_init, %.1f s ago)", seconds(a->stage_since, now));
}

/* Appends how a process has ended: after finalize, or without it by exit with a status. Appends
 * nothing if its control page has no exit status. */
static void say_end(struct text *t, const struct shmemi_activity *a, uint64_t now)
{
    if (shmemi_observe(&a->stage) == SHMEMI_STAGE_FINALIZED)
        say(t, "has finalized, %.1f s ago, and its process has ended",
            seconds(a->stage_since, now));
    else if (shmemi_observe(&a->exits))
        say(t, "ended with status %d, %.1f s ago, without shmem_finalize", a->status,
            seconds(a->exit_since, now));
}

/* Writes what PE pe is doing as the predicate of a sentence, "is in shmem_init", from the PE's
 * control page. Writes "" for a PE of another node, whose page this process cannot read. With
 * SHMEMI_DOING_GONE in `how` it writes how the PE has ended, with SHMEMI_DOING_DEEP also why the
 * PEs that it waits for are late. */
void shmemi_activity_doing(int pe, unsigned how, char *text, size_t size)
{
    struct text t = {text, size};
    const struct shmemi_state *s = &shmemi_state;
    text[0] = 0;
    if (s->n_pes == 0) {
        say(&t, "is in shmem_init");
        return;
    }
    if (s->peer_base[pe] == NULL)
        return;
    const struct shmemi_activity *a = &shmemi_ctl_of(s->peer_base[pe])->activity;
    uint64_t now = shmemi_now();
    if (how & SHMEMI_DOING_GONE) {
        say_end(&t, a, now);
        return;
    }
    switch (shmemi_observe(&a->stage)) {
    case SHMEMI_STAGE_NONE:
        say(&t, "is in shmem_init");
        return;
    case SHMEMI_STAGE_LEAVING:
        say(&t, "has called shmem_finalize, and waits there for the other PEs to leave, for %.1f s",
            seconds(a->stage_since, now));
        return;
    case SHMEMI_STAGE_FINALIZED:
        say(&t, "has finalized, %.1f s ago", seconds(a->stage_since, now));
        return;
    }
    bool waits = say_waits(&t, a, now, how & SHMEMI_DOING_DEEP);
    if (shmemi_observe(&a->exits))
        say(&t, "%s in exit() with status %d, for %.1f s", waits ? "," : "is", a->status,
            seconds(a->exit_since, now));
    else if (!waits)
        say_last_wait(&t, a, now);
}
