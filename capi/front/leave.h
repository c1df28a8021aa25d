/* leave.h: the end of a process that is still in its job. */
#ifndef SHMEMI_LEAVE_H
#define SHMEMI_LEAVE_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Waits until everything that this PE has sent has arrived, for two seconds at most, if that can be
 * done safely. Called in exit, when the program's status is 0. */
void shmemi_leave(void);

#pragma GCC visibility pop

#endif
