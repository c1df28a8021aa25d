/* fault.h: a PE that faults in the Go half ends at once, by the signal of the fault. */
#ifndef SHMEMI_FAULT_H
#define SHMEMI_FAULT_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Puts handlers in front of Go's, once the core is loaded. */
void shmemi_fault_open(void);

#pragma GCC visibility pop

#endif
