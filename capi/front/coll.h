/*
 * coll.h: what the collectives are made of.
 */
#ifndef SHMEMI_COLL_H
#define SHMEMI_COLL_H

#include "team.h"

#pragma GCC visibility push(hidden)

/* barrier.c. Starts counting again; at init. */
void shmemi_barrier_open(void);

#pragma GCC visibility pop

#endif
