/*
 * bypassing.h: the names of SHMEM calls that bypass the shim, for the head of a trace.
 */
#ifndef PRELOAD_BYPASSING_H
#define PRELOAD_BYPASSING_H

#include "preload.h"

/* Searches the loaded objects for references to SHMEM functions that the shim does not define. */
void preload_bypassing_start(void);

#endif
