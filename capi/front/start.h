/*
 * start.h: implements the calls by which a program joins a job that it forms itself, with a unique
 * ID or MPI.
 */
#ifndef SHMEMI_START_H
#define SHMEMI_START_H

#include "base.h"

#include <shmemx.h>

#pragma GCC visibility push(hidden)

/* Each implements the shmemx call of its name. They return 0, or non-zero after a message. */
int shmemi_get_uniqueid(shmemx_uniqueid_t *uid, const char *call);
int shmemi_set_attr_uniqueid_args(int myrank, int nranks, const shmemx_uniqueid_t *uid,
                                  shmemx_init_attr_t *attr, const char *call);
int shmemi_init_attr(unsigned int flags, const shmemx_init_attr_t *attr, const char *call);

#pragma GCC visibility pop

#endif
