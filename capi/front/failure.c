/*
 * failure.c: the errors of threads, and the program's handler.
 */
#define _GNU_SOURCE
#include "failure.h"

#include "error.h"
#include "spell.h"
#include "team.h"
#include "waiter.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

/* How long a failed operation waits for the launcher or the kernel to report whether the PE is
 * lost. They take milliseconds. */
#define NEWS_MS 1000

/* An error, as the program reads it. */
struct error {
    int code; /* SHMEMX_SUCCESS or SHMEMX_ERROR_ */
    int pe;   /* the PE that it is about; -1: none, or not known */
    char text[512];
};

/* This thread's last error (shmemx_last_error). */
static _Thread_local struct error last;

/* What this thread has been informed of about lost PEs, in the job with the number `job`. */
static _Thread_local struct {
    uint32_t job;
    uint32_t ended[SHMEMI_ANY_KINDS]; /* how many of state.losses, from the first, have ended a wait
                                         of that kind */
    uint32_t depth;                   /* how many collective calls are nested */
    const struct shmemi_team *team;   /* the team of the outermost one */
    bool broken;                      /* a loss has broken that call */
    bool in_handler;                  /* the program's handler runs */
    bool mute;                        /* no error fails a call of the thread */
} mine;

static uint32_t jobs; /* how often the library was initialised */

/* The program's function for failed calls, NULL if it has none, and the last argument of its calls.
 */
static pthread_mutex_t handler_lock = PTHREAD_MUTEX_INITIALIZER;
static shmemx_error_handler_t handler;
static void *handler_arg;

/* At init: counts a new job, so that each thread discards its records of earlier ones
 * (reset_after_rejoin). */
void shmemi_failure_open(void)
{
    jobs++;
}

/* Resets this thread's record of losses if the process has joined another job since: the record is
 * about an earlier job. */
static void reset_after_rejoin(void)
{
    if (mine.job == jobs)
        return;
    mine.job = jobs;
    mine.depth = 0;
    mine.broken = false;
    memset(mine.ended, 0, sizeof mine.ended);
}

/* Marks the first n losses of the job as known to this thread, for every kind of wait: they end
 * none of its later waits. */
static void end_no_wait(uint32_t n)
{
    reset_after_rejoin();
    for (int kind = 0; kind < SHMEMI_ANY_KINDS; kind++)
        if (mine.ended[kind] < n)
            mine.ended[kind] = n;
}

/* Fails this thread's call: sets the thread's last error, marks the collective call that it is in
 * as broken, and calls the program's handler. Within a broken collective call only the first
 * failure is reported. Errors of calls that the handler makes do not replace the error that it
 * handles. */
static void fail_call(int code, int pe, const char *call, const char *what)
{
    reset_after_rejoin();
    if (mine.mute)
        return;
    if (mine.depth > 0) {
        if (mine.broken)
            return;
        /* A quiet within a call may fail for an earlier operation to a PE that takes no part in it.
         * That does not break the call: the quiet has waited for the operations to its members, and
         * they wait for this PE. */
        mine.broken = pe < 0 || shmemi_team_rank(mine.team, pe) >= 0;
    }
    last.code = code;
    last.pe = pe;
    snprintf(last.text, sizeof last.text, "%s: %s", call, what);
    shmemi_use_program_names(last.text, sizeof last.text);

    pthread_mutex_lock(&handler_lock);
    shmemx_error_handler_t h = handler;
    void *arg = handler_arg;
    pthread_mutex_unlock(&handler_lock);
    if (h == NULL || mine.in_handler)
        return;
    struct error now = last; /* the handler's own calls may fail */
    mine.in_handler = true;
    h(now.code, now.pe, now.text, arg);
    mine.in_handler = false;
    last = now;
}

/* Fails this thread's call because PE pe is lost, with what is known about its end. */
void shmemi_fail_lost(int pe, const char *call)
{
    char reason[256] = "", what[320];
    shmemi_state.core->fate(pe, reason, sizeof reason);
    snprintf(what, sizeof what, "PE %d %s", pe, reason);
    fail_call(SHMEMX_ERROR_PE_LOST, pe, call, what);
}

/* Fails this thread's call because a buffer cannot be registered or unregistered. */
void shmemi_fail_buffer(const char *what, const char *call)
{
    fail_call(SHMEMX_ERROR_BUFFER, -1, call, what);
}

/* Fails this thread's call because a message of PE pe does not fit the buffer of the receive. */
void shmemi_fail_message(int pe, const char *what, const char *call)
{
    fail_call(SHMEMX_ERROR_MESSAGE, pe, call, what);
}

/* Fails the call because an operation on the network has failed. pe: its target; -1: one of several
 * PEs, and the core may know which. Waits for up to NEWS_MS until that PE is known to be lost,
 * which explains the failure best. If it is not lost by then, reports the error of the core.
 * Without SHMEM_ON_FAILURE=return (survives) that ends the job. */
void shmemi_fail_network(int pe, const char *call)
{
    char text[400] = "", named[440];
    int who = shmemi_state.core->error_pe(text, sizeof text);
    if (who < 0)
        who = pe;
    for (int ms = 0; who >= 0 && ms < NEWS_MS && !shmemi_is_lost(who); ms++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (who >= 0 && shmemi_is_lost(who)) {
        shmemi_fail_lost(who, call);
        return;
    }
    bool complete = strncmp(text, "PE ", 3) == 0 || who < 0; /* it names the PE, or none is known */
    snprintf(named, sizeof named, complete ? "%s" : "%s, PE %d", text, who);
    if (!shmemi_state.survives)
        shmemi_abort(call,
                     "see whether that PE and its network are up, or name another provider by "
                     "SHMEM_PROVIDER",
                     "%s", named);
    fail_call(SHMEMX_ERROR_NETWORK, who, call, named);
}

/* Returns the first PE of the list of losses that is a member of the team, or -1. */
static int lost_member(const struct shmemi_team *t)
{
    uint32_t n = shmemi_observe(&shmemi_state.n_lost);
    for (uint32_t i = 0; i < n; i++)
        if (shmemi_team_rank(t, shmemi_state.losses[i]) >= 0)
            return shmemi_state.losses[i];
    return -1;
}

/* Turns off, or on again, that calls of this thread fail (fail_call), for calls that handle losses
 * themselves (locks, agreements). It does not nest. */
void shmemi_mute(bool muted)
{
    mine.mute = muted;
}

/* Marks the losses of PEs that are in team `whole` but not in team `remaining` as known to this
 * thread: they end none of its later waits. Since only the first n losses of the job can be marked,
 * it stops at the first loss of another PE. */
void shmemi_acknowledge_losses(const struct shmemi_team *whole, const struct shmemi_team *remaining)
{
    uint32_t n = 0;
    for (; n < shmemi_observe(&shmemi_state.n_lost); n++) {
        int pe = shmemi_state.losses[n];
        if (shmemi_team_rank(whole, pe) < 0 || shmemi_team_rank(remaining, pe) >= 0)
            break;
    }
    end_no_wait(n);
}

/* Reports whether there is a loss that has not ended a wait of this thread of the kind `whom`, one
 * of those that any PE may end (below SHMEMI_ANY_KINDS). */
bool shmemi_loss_ends(enum shmemi_whom whom)
{
    reset_after_rejoin();
    return mine.ended[whom] != shmemi_observe(&shmemi_state.n_lost);
}

/* Returns a lost PE that ends this thread's wait of the kind `whom`, or -1. For waits that any PE
 * may end it is the next loss that has not ended one of that kind yet, which is then marked as one
 * that has; for a step of a collective call any lost member of its team, or of the world if the
 * thread is in no collective call that counts losses. */
int shmemi_ending_loss(enum shmemi_whom whom)
{
    reset_after_rejoin();
    switch (whom) {
    case SHMEMI_NOBODY:
        return -1;
    case SHMEMI_MEMBERS:
        return lost_member(mine.depth > 0 ? mine.team : &shmemi_world);
    default:
        if (!shmemi_loss_ends(whom))
            return -1;
        return shmemi_state.losses[mine.ended[whom]++];
    }
}

/* Begins a collective call of a team. Returns false, and fails the call, if a member is lost or has
 * broken the call within which this one is nested. Without SHMEM_ON_FAILURE=return (survives) a
 * loss ends the job, and there is nothing to check. */
bool shmemi_collective_begin(const struct shmemi_team *t, const char *call)
{
    if (SHMEMI_LIKELY(!shmemi_state.survives))
        return true;
    reset_after_rejoin();
    if (mine.depth == 0) {
        int pe = lost_member(t);
        if (pe >= 0) {
            shmemi_fail_lost(pe, call);
            return false;
        }
        mine.team = t;
        mine.broken = false;
    } else if (mine.broken) {
        return false;
    }
    mine.depth++;
    return true;
}

/* Called by shmemi_collective_unbroken when some PE is lost: reports whether no loss has broken the
 * collective call that this thread is in. */
bool shmemi_thread_unbroken(void)
{
    return !mine.broken;
}

/* Ends a collective call. Returns false if a loss has broken the outermost one. */
bool shmemi_collective_end(void)
{
    if (SHMEMI_LIKELY(!shmemi_state.survives))
        return true;
    bool ok = !mine.broken;
    if (--mine.depth == 0)
        mine.broken = false;
    return ok;
}

/* --------------------------------------------------- the calls of programs */

/* Implements shmemx_last_error: returns the code of this thread's last error, and clears it. */
int shmemi_last_error(const char *call)
{
    (void)call;
    int code = last.code;
    last.code = SHMEMX_SUCCESS;
    return code;
}

/* Implements shmemx_last_error_pe: the PE of this thread's last error, or -1. */
int shmemi_last_error_pe(const char *call)
{
    (void)call;
    return last.text[0] ? last.pe : -1;
}

/* Implements shmemx_last_error_text: the text of this thread's last error, or "". */
const char *shmemi_last_error_text(const char *call)
{
    (void)call;
    return last.text;
}

/* Implements shmemx_set_error_handler: sets the program's function for failed calls. */
void shmemi_set_error_handler(shmemx_error_handler_t h, void *arg, const char *call)
{
    (void)call;
    pthread_mutex_lock(&handler_lock);
    handler = h;
    handler_arg = arg;
    pthread_mutex_unlock(&handler_lock);
}

/* Implements shmemx_failure_ack: records that the program knows of all losses so far, so that they
 * end no later wait. Returns how many they are. */
int shmemi_failure_ack(const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    int known = shmemi_state.core->acknowledge();
    end_no_wait((uint32_t)known);
    return known;
}
