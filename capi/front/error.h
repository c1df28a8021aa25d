/* error.h: the one way in which the library ends a process. */
#ifndef SHMEMI_ERROR_H
#define SHMEMI_ERROR_H

#include "base.h"

#pragma GCC visibility push(hidden)

#define SHMEMI_ABORTED 134 /* what a shell shows for abort(): 128 + SIGABRT */

/* Prints PE, call, cause and remedy on standard error, informs the launcher, and ends the process
 * with a non-zero status. A remedy of NULL: the cause is an error of the core, which may end with
 * its remedy in parentheses. */
void shmemi_abort(const char *call, const char *remedy, const char *cause, ...)
    __attribute__((noreturn, format(printf, 3, 4)));
/* Ends the job like shmemi_abort, for threads of the core, which are in no call of the program. */
void shmemi_abort_core(const char *call, const char *remedy, const char *cause, ...)
    __attribute__((noreturn, format(printf, 3, 4)));
/* Ends this process like shmemi_abort, in a signal handler that has interrupted a call into the
 * core: this thread must not call the core again. The launcher learns of it by the exit status. */
void shmemi_abort_in_handler(const char *call, const char *remedy, const char *cause, ...)
    __attribute__((noreturn, format(printf, 3, 4)));
/* Returns what to print after an error of the core: nothing if the error ends with its own remedy,
 * else advice to run shmem-doctor. */
const char *shmemi_remedy_after(const char *error);
void shmemi_abort_open(void); /* once the core is loaded: finds the unwinder, for _in_handler */
void shmemi_abort_note_joined(void); /* once the process is in a job: later errors name its PE */
/* Reports whether the handler of a signal runs in this thread. */
bool shmemi_in_handler(void);
/* Flushes stdout, unless that might print text twice, or wait for the thread that prints or, longer
 * than a second, for the reader of a pipe. */
void shmemi_flush_stdout(void);

/* Ends the job because the process has joined none: before init, after finalize, after fork. */
void shmemi_refuse_uninitialised(const char *call) __attribute__((noreturn));

/* Ends the job unless the library is initialised and PE pe exists. */
void shmemi_check_pe(int pe, const char *call);

#pragma GCC visibility pop

#endif
