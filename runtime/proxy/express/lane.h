/*
 * lane.h: the proxy's inner loop, entered once. It takes simple operations out
 * of rings, posts them, and reaps; whatever is not simple it leaves where it
 * is, and returns. lane.go says what is simple.
 */
#ifndef SHMEMI_LANE_H
#define SHMEMI_LANE_H

#include "express.h"
#include "zz_lane.h"

#include <shmem/zz_wire.h>

int shmemi_lane_run(struct shmemi_lane *lane);

#endif
