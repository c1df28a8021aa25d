/*
 * unseen.h: calls of SHMEM that the shim does not see, by name, for the head of a trace.
 */
#ifndef PRELOAD_UNSEEN_H
#define PRELOAD_UNSEEN_H

#include "preload.h"

/* Looks at the objects of the process for functions of SHMEM that the shim does not have. */
void preload_unseen_start(void);

#endif
