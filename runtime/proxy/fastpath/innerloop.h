/*
 * innerloop.h: the proxy's inner loop, which Go calls once every few milliseconds. It takes simple
 * operations out of rings and posts them, polls the completion queue, and applies messages. When it
 * meets anything else, it returns, and Go handles it. innerloop.go says which operations are
 * simple.
 */
#ifndef SHMEMI_INNERLOOP_H
#define SHMEMI_INNERLOOP_H

#include "fastpath.h"
#include "zz_innerloop.h"

#include <shmem/zz_wire.h>

/* Runs the inner loop and returns why it ended, one of SHMEMI_INNERLOOP_...; the counts and times
 * of the run are in *l. */
int shmemi_innerloop_run(struct shmemi_innerloop *l);

#endif
