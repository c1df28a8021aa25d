/*
 * shmemx_bootstrap.h: the interface of a bootstrap plugin.
 *
 * A bootstrap plugin is a shared library with these five functions, by which the PEs of a job find
 * each other. SHMEM_BOOTSTRAP_PLUGIN names its file. libshmem loads it at the first init and never
 * unloads it; a later init after finalize calls it again. libshmem calls its functions one at a
 * time, in the thread of shmem_init or shmem_finalize, except abort, which it may call from any
 * thread while another one is in a call.
 *
 * examples/plugins/bootstrap/plugin.c is an example.
 */
#ifndef SHMEMX_BOOTSTRAP_H
#define SHMEMX_BOOTSTRAP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The results of allgather and barrier:
 *
 * 0: done. r > 0: PE r - 1 did not come within timeout_ms milliseconds. Below 0: the call failed
 * in another way, and has printed the cause.
 */

/* This PE's number, from 0, and how many PEs the job has. */
int shmemx_bootstrap_rank(void);
int shmemx_bootstrap_size(void);

/* Collects nbytes bytes from each PE, equally many on each, in order of rank. all has room for the
 * bytes of all PEs. */
int shmemx_bootstrap_allgather(const void *mine, void *all, size_t nbytes, int timeout_ms);

/* Returns when every PE has called it. */
int shmemx_bootstrap_barrier(int timeout_ms);

/* Ends the other PEs, if it can. This PE then ends itself with the status: that of
 * shmem_global_exit, or 134 when the library ends the job. The reason is a text for users, and
 * empty when this PE has printed it. */
void shmemx_bootstrap_abort(int status, const char *reason);

#ifdef __cplusplus
}
#endif

#endif
