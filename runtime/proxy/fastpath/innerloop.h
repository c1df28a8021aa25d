/*
 * innerloop.h: the proxy's inner loop, which Go calls once for some milliseconds. It takes simple
 * operations out of rings and posts them, polls the completion queue, and applies messages.
 * Anything else ends it, and is left to Go. innerloop.go says which operations are simple.
 */
#ifndef SHMEMI_INNERLOOP_H
#define SHMEMI_INNERLOOP_H

#include "fastpath.h"
#include "zz_innerloop.h"

#include <shmem/zz_wire.h>

/* Returns why the loop ended, SHMEMI_INNERLOOP_...: see struct shmemi_innerloop for its account. */
int shmemi_innerloop_run(struct shmemi_innerloop *l);

#endif
