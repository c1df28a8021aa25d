/*
 * shmemx_bootstrap.h: what a bootstrap of one's own has.
 *
 * A shared library with these five functions, whose file SHMEM_BOOTSTRAP_PLUGIN names, brings the
 * PEs of a job together by whatever they have. The library loads it at the first init and
 * never unloads it; it may be asked again after finalize. Its functions are called one at a
 * time, in the thread of shmem_init or shmem_finalize, but for abort, which may come from any
 * thread while another one is in a call.
 *
 * examples/plugins/bootstrap/plugin.c is one.
 */
#ifndef SHMEMX_BOOTSTRAP_H
#define SHMEMX_BOOTSTRAP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What allgather and barrier answer:
 *
 * 0: done. Above 0: the PE of this number less one did not come within timeout_ms
 * milliseconds. Below 0: it failed in another way, and has said so.
 */

/* The number of this PE, from 0, and how many there are. */
int shmemx_bootstrap_rank(void);
int shmemx_bootstrap_size(void);

/* Collects nbytes bytes from each PE, the same number on each, in order of rank. all has
 * room for those of all PEs. */
int shmemx_bootstrap_allgather(const void *mine, void *all, size_t nbytes, int timeout_ms);

/* Returns when every PE has called it. */
int shmemx_bootstrap_barrier(int timeout_ms);

/* Ends the other PEs, if it can. This one ends itself with the status: that of
 * shmem_global_exit, or 134 where the library ends the job. The reason is for people, and
 * empty where this PE has printed it. */
void shmemx_bootstrap_abort(int status, const char *reason);

#ifdef __cplusplus
}
#endif

#endif
