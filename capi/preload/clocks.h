/*
 * clocks.h: how far this PE's clock is from that of PE 0.
 */
#ifndef PRELOAD_CLOCKS_H
#define PRELOAD_CLOCKS_H

#include "preload.h"

/*
 * Measures the clock, and passes the result to the head. Every PE of the job calls it in the same
 * order, after init and before finalize. PEs of one machine have one clock, and say so: offset 0.
 */
void preload_clocks(const struct preload_frame *f, int pe, int npes);

#endif
