/*
 * start.h: how a program joins a job by what it knows itself.
 */
#ifndef SHMEMI_START_H
#define SHMEMI_START_H

#include "base.h"

#include <shmemx.h>

#pragma GCC visibility push(hidden)

int shmemi_get_uniqueid(shmemx_uniqueid_t *uid, const char *call);
int shmemi_set_attr_uniqueid_args(int myrank, int nranks, const shmemx_uniqueid_t *uid,
                                  shmemx_init_attr_t *attr, const char *call);
int shmemi_init_attr(unsigned int flags, const shmemx_init_attr_t *attr, const char *call);

/* In lifecycle.c: joins the job that is given, NULL for the launcher's. 0, or -1 after a
 * message. */
struct shmemi_given {
    const shmemx_uniqueid_t *uid; /* NULL: none */
    int pe;
    int n_pes;
    const void *mpi_comm; /* NULL: none */
};
int shmemi_init_given(const struct shmemi_given *given, const char *call);
/* In lifecycle.c: how often the process has joined a job, and whether it was given the last. */
uint32_t shmemi_joined(void);
bool shmemi_joined_as_given(void);
/* In lifecycle.c: has finalize called when the program ends well. */
void shmemi_finalize_at_exit(const char *call);
/* In lifecycle.c: makes an id; 0, or -1 after a message. */
int shmemi_make_uniqueid(shmemx_uniqueid_t *uid, const char *call);

#pragma GCC visibility pop

#endif
