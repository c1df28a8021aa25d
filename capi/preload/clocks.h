/*
 * clocks.h: how far this PE's clock is from that of PE 0.
 */
#ifndef PRELOAD_CLOCKS_H
#define PRELOAD_CLOCKS_H

#include "preload.h"

/*
 * Measures this PE's clock, and passes the result to the head of the trace (preload_head_clock).
 * All PEs of the job call it, after init and before finalize. A PE of PE 0's machine has PE 0's
 * clock, and records the offset 0. f: the init call, whose interface and caller select the library;
 * for NVSHMEM nothing is measured.
 */
void preload_clocks(const struct preload_frame *f, int pe, int npes);

#endif
