/*
 * innerloop.h: the proxy's inner loop, entered once. It takes simple operations out
 * of rings, posts them, and reaps; whatever is not simple it leaves where it
 * is, and returns. innerloop.go says what is simple.
 */
#ifndef SHMEMI_INNERLOOP_H
#define SHMEMI_INNERLOOP_H

#include "fastpath.h"
#include "zz_innerloop.h"

#include <shmem/zz_wire.h>

int shmemi_innerloop_run(struct shmemi_innerloop *lane);

#endif
