/*
 * error.c: the one way in which the library ends a process.
 *
 * OpenSHMEM gives most calls no status. A call that cannot be served then ends
 * the job here, with one message that names the PE, the call, the cause and
 * the remedy; the launcher ends the other PEs.
 */
#include "caller.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define EXIT_ABORTED 134 /* what a shell shows for abort(): 128 + SIGABRT */

/* caller: "", or the call of another language, with a colon. */
__attribute__((noreturn, format(printf, 4, 0))) static void
end_job(const char *caller, const char *call, const char *remedy, const char *cause, va_list args)
{
    char why[768], line[1280];
    vsnprintf(why, sizeof why, cause, args);

    int n;
    if (shmemi_state.n_pes > 0)
        n = snprintf(line, sizeof line, "shmem: PE %d: %s%s: %s (%s)\n", shmemi_state.my_pe, caller,
                     call, why, remedy);
    else
        n = snprintf(line, sizeof line, "shmem: %s%s: %s (%s)\n", caller, call, why, remedy);
    if (n >= (int)sizeof line) {
        n = sizeof line - 1;
        line[n - 1] = '\n';
    }
    /* One write, so that messages of several PEs do not mix; stdio may hold a
     * lock of the thread that we interrupt. */
    ssize_t ignored = write(STDERR_FILENO, line, (size_t)n);
    (void)ignored;
    /* Without a reason: the message is out already. */
    if (shmemi_state.core)
        shmemi_state.core->abort_(EXIT_ABORTED, "");
    _exit(EXIT_ABORTED);
}

void shmemi_abort(const char *call, const char *remedy, const char *cause, ...)
{
    char caller[SHMEMI_CALLER];
    va_list args;
    va_start(args, cause);
    end_job(shmemi_caller(caller), call, remedy, cause, args);
}

void shmemi_abort_core(const char *call, const char *remedy, const char *cause, ...)
{
    va_list args;
    va_start(args, cause);
    end_job("", call, remedy, cause, args);
}
