/* error.h: the one way in which the library ends a process. */
#ifndef SHMEMI_ERROR_H
#define SHMEMI_ERROR_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Prints PE, call, cause and remedy on standard error, tells the
 * launcher, and ends the process with a non-zero status. */
void shmemi_abort(const char *call, const char *remedy, const char *cause, ...)
    __attribute__((noreturn, format(printf, 3, 4)));
/* The same for threads of the core, which make no call of the program's. */
void shmemi_abort_core(const char *call, const char *remedy, const char *cause, ...)
    __attribute__((noreturn, format(printf, 3, 4)));
void shmemi_abort_open(void); /* once the core is loaded */
/* Writes what the program has printed, unless that might wait: for a thread that prints, or for
 * who reads it. */
void shmemi_flush_stdout(void);

void shmemi_refuse_uninitialised(const char *call) __attribute__((noreturn));

#pragma GCC visibility pop

#endif
