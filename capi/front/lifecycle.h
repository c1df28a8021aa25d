/* lifecycle.h: init and finalize. */
#ifndef SHMEMI_LIFECYCLE_H
#define SHMEMI_LIFECYCLE_H

#include "base.h"

#include <shmemx.h>

#pragma GCC visibility push(hidden)

/* These implement shmem_init, shmem_init_thread, shmem_finalize and shmem_global_exit. shmemi_init
 * ends the process if it fails; shmemi_init_thread then returns non-zero after a message. */
void shmemi_init(const char *call);
int shmemi_init_thread(int requested, int *provided, const char *call);
void shmemi_finalize(const char *call);
void shmemi_global_exit(int status, const char *call) __attribute__((noreturn));

/* A job that the program chooses, by a unique ID or an MPI communicator. shmemi_init_chosen_job
 * joins it, or the launcher's job if job is NULL. It returns 0, or -1 after it has printed an
 * error. */
struct shmemi_chosen_job {
    const shmemx_uniqueid_t *uid; /* NULL: none */
    int pe;                       /* with uid: the number of this PE in the job */
    int n_pes;                    /* with uid: how many PEs the job has */
    const void *mpi_comm;         /* NULL: none */
};
int shmemi_init_chosen_job(const struct shmemi_chosen_job *job, const char *call);
/* Returns how often the process has joined a job. */
uint32_t shmemi_join_count(void);
/* Reports whether the program chose the last job itself, by a unique ID or by MPI. */
bool shmemi_joined_by_program(void);
/* Makes the process call finalize at exit, if it exits with status 0. */
void shmemi_finalize_at_exit(const char *call);
/* Loads the core for calls that need no job; NULL: error has the reason. */
const struct shmemi_core *shmemi_load_core(char *error, size_t size);
/* Makes a unique ID for shmemi_init_chosen_job; 0, or -1 after a message. */
int shmemi_make_uniqueid(shmemx_uniqueid_t *uid, const char *call);

#pragma GCC visibility pop

#endif
