/*
 * innerloop.h: the proxy's inner loop, entered once. It takes simple operations out of rings, posts
 * them, and reaps. At anything else it returns, and leaves it to Go. innerloop.go says which
 * operations are simple.
 */
#ifndef SHMEMI_INNERLOOP_H
#define SHMEMI_INNERLOOP_H

#include "fastpath.h"
#include "zz_innerloop.h"

#include <shmem/zz_wire.h>

int shmemi_innerloop_run(struct shmemi_innerloop *l);

#endif
