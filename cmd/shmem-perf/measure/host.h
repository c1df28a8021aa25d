/*
 * host.h: the figures whose calls the CPU makes, and the functions that allocate the memory of each
 * table.
 */
#ifndef HOST_H
#define HOST_H

#include "perf.h"

extern const struct figure rma_figures[], atomic_figures[], signal_figures[], collective_figures[];
void rma_open(void);
void atomics_open(void);
void signals_open(void);
void collectives_open(void);

#endif
