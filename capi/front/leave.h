/* leave.h: the end of a process that is still in its job. */
#ifndef SHMEMI_LEAVE_H
#define SHMEMI_LEAVE_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Waits until what this PE has sent has arrived, for two seconds at most, if that can be done
 * safely. Its caller is in exit, with the program's status 0. */
void shmemi_leave(void);

#pragma GCC visibility pop

#endif
