/* launcher_abort.h: aborts the job through its launcher, for a process before init or after
 * finalize. */
#ifndef SHMEMI_LAUNCHER_ABORT_H
#define SHMEMI_LAUNCHER_ABORT_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Sends shmemrun a request to end the job with a status, and to print this PE's number and the
 * reason, once for all PEs. Returns false if no shmemrun listens; then nothing was printed. It
 * waits for no reply: the caller ends its process. */
bool shmemi_abort_by_launcher(int status, const char *reason);

/* Returns this PE's number, as some launchers write it into the environment; NULL: it is not known.
 */
const char *shmemi_launched_as(void);

#pragma GCC visibility pop

#endif
