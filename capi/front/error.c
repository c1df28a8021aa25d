/*
 * error.c: the one way in which the library ends a process.
 *
 * OpenSHMEM gives most calls no status. A call that cannot be served then ends the job here, with
 * one message that names the PE, the call, the cause and the remedy; the launcher ends the other
 * PEs.
 *
 * Output of the program that is still in stdio's buffer is often the best hint at the cause. So
 * stdout is flushed if that is safe: no thread, this one included, is inside a call of stdio on it,
 * and no signal handler has interrupted this thread.
 */
#define _GNU_SOURCE
#include "error.h"

#include "caller.h"
#include "spell.h"
#include "launcher_abort.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>
#include <unwind.h>

/* How long an abort waits for room if stdout is a pipe, in milliseconds. */
#define FLUSH_MS 1000

/* gcc's unwinder. It is looked up when the core is loaded: linked statically it would need a later
 * glibc than the rest of the library, and a signal handler must not load a library. */
static struct {
    _Unwind_Reason_Code (*backtrace)(_Unwind_Trace_Fn, void *);
    _Unwind_Ptr (*ip_info)(struct _Unwind_Context *, int *);
} unwinder;

/* Finds gcc's unwinder, for shmemi_in_handler. */
void shmemi_abort_open(void)
{
    void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return;
    *(void **)&unwinder.ip_info = dlsym(library, "_Unwind_GetIPInfo");
    *(void **)&unwinder.backtrace = dlsym(library, "_Unwind_Backtrace");
}

/* Callback of the unwinder for each frame of the stack: sets *found, and stops the unwinder (any
 * result but _URC_NO_REASON), at a frame that a signal has interrupted. */
static _Unwind_Reason_Code find_signal(struct _Unwind_Context *frame, void *found)
{
    int interrupted = 0;
    unwinder.ip_info(frame, &interrupted);
    *(bool *)found = interrupted != 0;
    return interrupted ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* Reports whether a signal that has a handler is blocked: that handler may be running now. */
static bool may_be_in_handler(void)
{
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (int s = 1; s < NSIG; s++) {
        struct sigaction now;
        if (sigismember(&mask, s) == 1 && sigaction(s, NULL, &now) == 0 &&
            now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN)
            return true;
    }
    return false;
}

/* Reports whether the handler of a signal runs in this thread. The unwinder knows which frame of
 * the stack a signal has interrupted. It cannot pass frames of Go, but then the handler runs on the
 * signal stack, as Go demands of handlers. */
bool shmemi_in_handler(void)
{
    stack_t stack;
    bool found = false;
    if (sigaltstack(NULL, &stack) == 0 && stack.ss_flags & SS_ONSTACK)
        return true;
    if (unwinder.backtrace == NULL || unwinder.ip_info == NULL)
        return may_be_in_handler();
    unwinder.backtrace(find_signal, &found);
    return found;
}

/* Reports whether this thread is inside a call of stdio on f, and so has the lock of f already.
 * ftrylockfile does not show that: the lock is recursive, so it succeeds. The owner is read from
 * glibc's lock, where it comes after two ints. */
static bool has_lock(const FILE *f)
{
    return ((const pthread_t *)f->_lock)[1] == pthread_self();
}

/* Reports whether a write to fd would neither block nor raise SIGPIPE, which a pipe without a
 * reader does and which would end the process here. */
static bool has_room(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return fd >= 0 && poll(&p, 1, FLUSH_MS) == 1 && p.revents == POLLOUT;
}

/* Writes out stdout's buffer, unless that could deadlock or print text twice: it does nothing in a
 * child of fork, whose buffer is a copy of its parent's; in a signal handler; while stdout is
 * locked; and if stdout is a pipe whose reader has gone, or that stays full for FLUSH_MS. */
void shmemi_flush_stdout(void)
{
    /* In a child of fork() the buffer of stdio has a copy of what its parent will print. */
    if (shmemi_state.init_count == SHMEMI_FORKED || shmemi_in_handler() || has_lock(stdout) ||
        ftrylockfile(stdout) != 0)
        return;
    if (has_room(fileno_unlocked(stdout)))
        fflush_unlocked(stdout);
    funlockfile(stdout);
}

/* Returns what to append to an error as its remedy: "" if the error ends with ")" and so has one,
 * else the advice to run shmem-doctor. */
const char *shmemi_remedy_after(const char *error)
{
    size_t n = strlen(error);
    return n > 0 && error[n - 1] == ')' ? "" : " (run shmem-doctor)";
}

/* Prints the message of an abort to standard error. caller: "", or the Python call that made this
 * one, with a colon. remedy NULL: the cause is an error of the core (shmemi_remedy_after). */
__attribute__((format(printf, 4, 0))) static void
print(const char *caller, const char *call, const char *remedy, const char *cause, va_list args)
{
    char why[768], line[1280];
    vsnprintf(why, sizeof why, cause, args);

    char end[512];
    if (remedy == NULL)
        snprintf(end, sizeof end, "%s", shmemi_remedy_after(why));
    else
        snprintf(end, sizeof end, " (%s)", remedy);
    int n;
    if (shmemi_state.n_pes > 0)
        n = snprintf(line, sizeof line, "shmem: PE %d: %s%s: %s%s\n", shmemi_state.my_pe, caller,
                     call, why, end);
    else
        n = snprintf(line, sizeof line, "shmem: %s%s: %s%s\n", caller, call, why, end);
    if (n < (int)sizeof line) {
        shmemi_use_program_names(line, sizeof line);
        n = (int)strlen(line);
    } else {
        n = sizeof line - 1;
        line[n - 1] = '\n';
    }
    /* One write, so that messages of several PEs do not mix; the interrupted thread may hold a lock
     * of stdio. */
    ssize_t ignored = write(STDERR_FILENO, line, (size_t)n);
    (void)ignored;
}

/* Prints the message of an abort, has the core end the job, and ends the process. */
__attribute__((noreturn, format(printf, 4, 0))) static void
end_job(const char *caller, const char *call, const char *remedy, const char *cause, va_list args)
{
    print(caller, call, remedy, cause, args);
    shmemi_flush_stdout();
    /* The reason is empty, since the message is printed already. */
    if (shmemi_state.core)
        shmemi_state.core->abort_(SHMEMI_ABORTED, /* reason */ "");
    _exit(SHMEMI_ABORTED);
}

/* Ends the job with an error of a call of the program. */
void shmemi_abort(const char *call, const char *remedy, const char *cause, ...)
{
    char caller[SHMEMI_CALLER];
    va_list args;
    va_start(args, cause);
    /* shmemi_caller starts a thread, which a signal handler must not. */
    end_job(shmemi_in_handler() ? "" : shmemi_caller(caller), call, remedy, cause, args);
}

/* Ends the job with an error, from a thread of the core. */
void shmemi_abort_core(const char *call, const char *remedy, const char *cause, ...)
{
    va_list args;
    va_start(args, cause);
    end_job("", call, remedy, cause, args);
}

/* Ends only this process with an error, within a signal handler that has interrupted a call into
 * Go. */
void shmemi_abort_in_handler(const char *call, const char *remedy, const char *cause, ...)
{
    va_list args;
    va_start(args, cause);
    print("", call, remedy, cause, args);
    _exit(SHMEMI_ABORTED);
}

static bool joined; /* the process has been in a job */

/* Notes that the process has joined a job, so that errors after finalize still name its PE. */
void shmemi_abort_note_joined(void)
{
    joined = true;
}

/* Ends the job because the process is in none. Every PE usually makes the same mistake, so shmemrun
 * prints it once for the job. */
SHMEMI_COLD void shmemi_refuse_uninitialised(const char *call)
{
    static const char cause[] = "the library is not initialised",
                      remedy[] = "call shmem_init first and shmem_finalize last";
    char text[512], number[16];
    if (shmemi_state.init_count == SHMEMI_FORKED)
        shmemi_abort(call, "exec a program in the child, or fork before shmem_init",
                     "this process is a child forked after shmem_init");
    snprintf(text, sizeof text, "%s: %s (%s)", call, cause, remedy);
    shmemi_use_program_names(text, sizeof text);
    if (shmemi_abort_by_launcher(SHMEMI_ABORTED, text)) {
        shmemi_flush_stdout();
        _exit(SHMEMI_ABORTED); /* shmemrun reads the message before it looks at the exit status */
    }
    snprintf(number, sizeof number, "%d", shmemi_state.my_pe);
    const char *pe = joined ? number : shmemi_launched_as();
    shmemi_abort(call, remedy, "%s%s%.10s", cause, pe != NULL ? " on PE " : "",
                 pe != NULL ? pe : "");
}

/* Ends the job unless the library is initialised and PE pe exists. */
void shmemi_check_pe(int pe, const char *call)
{
    if (SHMEMI_UNLIKELY(shmemi_state.n_pes == 0))
        shmemi_refuse_uninitialised(call);
    if (SHMEMI_UNLIKELY((uint32_t)pe >= shmemi_state.n_pes))
        shmemi_abort(call, "use 0 to shmem_n_pes() - 1", "PE %d does not exist, there are %u", pe,
                     shmemi_state.n_pes);
}
