/*
 * report.c: reports of long waits: in the log, after SHMEM_TIMEOUT or when a signal requests one;
 * and to other processes, in the status page.
 *
 * Before a report this PE sends the late PEs a request for what they are doing, so that the report
 * can include the reply.
 */
#include "report.h"

#include "activity.h"
#include "caller.h"
#include "error.h"
#include "spell.h"
#include "waiter.h"

#include <stdio.h>

/* How long before a report this PE sends that request. */
#define PROBE_NS 1000000000u

/* How long a report that a signal has requested waits for the replies. */
#define REPLY_NS 50000000u

/* The report that a signal has requested of this thread. */
static _Thread_local struct {
    uint64_t since; /* when the wait began about which it reports */
    uint64_t at;    /* when it is due; 0: none is */
} due;

/* Returns the number of decimals of the time in a report: as many as SHMEM_TIMEOUT has, because 0.3
 * s must not be printed as 0 s. */
static int decimals(void)
{
    uint64_t limit = shmemi_state.timeout_ns;
    return limit % 1000000000u == 0 ? 0 : limit % 100000000u == 0 ? 1 : 3;
}

/* Reports a long wait. timed_out: SHMEM_TIMEOUT has passed; otherwise a user has requested the
 * report. A wait for a PE that has exited with status 0 within the job would never end, so after
 * SHMEM_TIMEOUT the job ends here. With SHMEM_ON_FAILURE=return (survives) that PE is lost, which
 * ends the wait. */
static void report(const struct shmemi_waiter *w, uint64_t now, bool timed_out)
{
    char caller[SHMEMI_CALLER], what[512] = "", why[2048] = "", line[3072];
    if (w->describe)
        w->describe(w->subject, what, sizeof what);
    int32_t late[SHMEMI_LATE];
    int all, n = shmemi_activity_late(w, late, &all);
    /* absent: a late PE that has exited with status 0 during the job; -1: none has. */
    int absent = shmemi_state.core->explain(late, n, all, why, sizeof why);
    bool ends = timed_out && absent >= 0 && !shmemi_state.survives;
    snprintf(line, sizeof line, "%s%s has waited %.*f s%s%s%s%s (the %s)", shmemi_caller(caller),
             w->call, decimals(), (double)(now - w->clock.since) / 1e9, what[0] ? ": " : "", what,
             why[0] ? "; " : "", why, ends ? "job ends" : "wait goes on");
    shmemi_use_program_names(line, sizeof line);
    shmemi_state.core->report_wait(w->about ? w->pe : -1, line);
    if (ends)
        shmemi_abort(w->call, "call it on each PE before the end",
                     "it waits for PE %d, which has exited without shmem_finalize", absent);
}

/* Sends the late PEs of a wait a request for what they are doing. */
static void ask_late_pes(const struct shmemi_waiter *w)
{
    int32_t late[SHMEMI_LATE];
    int all, n = shmemi_activity_late(w, late, &all);
    shmemi_state.core->probe(late, n);
}

/* If a signal has requested a report, asks the late PEs what they are doing, and reports the wait
 * when they have had time to reply. */
static void report_if_requested(struct shmemi_waiter *w, uint64_t now)
{
    struct shmemi_wait_clock *c = &w->clock;
    uint32_t requests = shmemi_read_once(&shmemi_state.report_requests);
    bool planned = due.at != 0 && due.since == c->since; /* a report about this wait */
    if (requests != c->requests) {
        c->requests = requests;
        if (!planned) {
            due.since = c->since;
            due.at = now + REPLY_NS;
            ask_late_pes(w);
        }
    } else if (planned && now >= due.at) {
        due.at = 0;
        report(w, now, /* timed_out */ false);
    }
}

/* Called again and again by a long wait: reports the wait each time that SHMEM_TIMEOUT has passed.
 * A little before, it asks the PEs that are late what they are doing, so that the report can say
 * it. */
void shmemi_report(struct shmemi_waiter *w, uint64_t now)
{
    struct shmemi_wait_clock *c = &w->clock;
    uint64_t limit = shmemi_state.timeout_ns, early = limit / 2 < PROBE_NS ? limit / 2 : PROBE_NS;
    report_if_requested(w, now);
    if (limit == 0)
        return;
    if (!c->probed && now - c->reported >= limit - early) {
        c->probed = true;
        ask_late_pes(w);
    }
    if (now - c->reported < limit)
        return;
    c->reported = now;
    c->probed = false;
    report(w, now, /* timed_out */ true);
}

/* Claims a free entry of the status page, and fills it in for shmem-info --live. Sets w->shown to 1
 * + the entry's index; if no entry is free it stays 0. */
void shmemi_publish_wait(struct shmemi_waiter *w)
{
    for (int i = 0; !w->shown && i < SHMEMI_STATUSPAGE_WAITS; i++) {
        struct shmemi_statuspage_wait *l = &shmemi_state.live->waits[i];
        char free = 0;
        /* The first character of call shows whether the entry is taken; since shows whether it may
         * be read. */
        if (!shmemi_acquire_if(&l->call[0], &free, '?'))
            continue;
        l->what[0] = 0;
        if (w->describe)
            w->describe(w->subject, l->what, sizeof l->what);
        snprintf(l->call + 1, sizeof l->call - 1, "%s", w->call[0] ? w->call + 1 : "");
        shmemi_write_once(&l->call[0], w->call[0] ? w->call[0] : '?');
        shmemi_publish(&l->since, w->clock.since);
        w->shown = (uint8_t)(i + 1);
    }
}

/* Removes a wait from the status page: first since, so that nobody reads the entry, which is free
 * when the first character of call is 0. */
void shmemi_withdraw_wait(struct shmemi_waiter *w)
{
    struct shmemi_statuspage_wait *l = &shmemi_state.live->waits[w->shown - 1];
    shmemi_publish(&l->since, 0);
    shmemi_release(&l->call[0], 0);
    w->shown = 0;
}
