/* tell_launcher.h: a process that is not in its job, before or after, and the launcher. */
#ifndef SHMEMI_TELL_LAUNCHER_H
#define SHMEMI_TELL_LAUNCHER_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Asks shmemrun to end the job with a status, and to print this PE's number and the reason, once
 * for all PEs. False: no shmemrun listens, and nothing was printed. */
bool shmemi_tell_launcher(int status, const char *reason);

/* This PE's number, as some launchers write it into the environment; NULL: it is not known. */
const char *shmemi_launched_as(void);

#pragma GCC visibility pop

#endif
