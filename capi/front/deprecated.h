/*
 * deprecated.h: functions of deprecated names only.
 */
#ifndef SHMEMI_DEPRECATED_H
#define SHMEMI_DEPRECATED_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* As shmemi_init, with finalize when the program ends well. */
void shmemi_start_pes(int npes, const char *call);
void shmemi_coherent(const char *call);

#pragma GCC visibility pop

#endif
