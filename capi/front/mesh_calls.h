/*
 * mesh_calls.h: the functions of shmemx_mesh_..., for meshes of processes that form no job. They
 * pass the calls to the core, need no job, end no process, and touch no state of a job.
 */
#ifndef SHMEMI_MESH_CALLS_H
#define SHMEMI_MESH_CALLS_H

#include "base.h"

#include <shmemx.h>

#pragma GCC visibility push(hidden)

/* These implement the shmemx_ functions of the same names. */
int shmemi_mesh_open(const shmemx_mesh_options_t *options, uint64_t *mesh, const char *call);
int shmemi_mesh_close(uint64_t mesh, const char *call);
int shmemi_mesh_address(uint64_t mesh, void *blob, size_t *nbytes, const char *call);
int shmemi_mesh_add(uint64_t mesh, const void *blob, size_t nbytes, int *member, const char *call);
int shmemi_mesh_remove(uint64_t mesh, int member, const char *call);
int shmemi_mesh_status(uint64_t mesh, int member, const char *call);
int shmemi_mesh_register(uint64_t mesh, void *base, size_t nbytes, uint64_t *region,
                         const char *call);
int shmemi_mesh_describe(uint64_t region, void *blob, size_t *nbytes, const char *call);
int shmemi_mesh_unregister(uint64_t region, uint64_t *request, const char *call);
int shmemi_mesh_import(uint64_t mesh, const void *blob, size_t nbytes, uint64_t *remote,
                       size_t *length, uint64_t *request, const char *call);
int shmemi_mesh_put(uint64_t mesh, int context, uint64_t remote, const shmemx_mesh_block_t *blocks,
                    size_t nblocks, const shmemx_mesh_signal_t *signal, int flags,
                    uint64_t *request, const char *call);
int shmemi_mesh_put_signal(uint64_t mesh, int context, uint64_t remote,
                           const shmemx_mesh_block_t *blocks, size_t nblocks,
                           const shmemx_mesh_signal_t *signal, int flags, uint64_t *request,
                           const char *call);
int shmemi_mesh_notify(uint64_t mesh, int context, const shmemx_mesh_signal_t *signal, int flags,
                       uint64_t *request, const char *call);
int shmemi_mesh_get(uint64_t mesh, int context, uint64_t remote, const shmemx_mesh_block_t *blocks,
                    size_t nblocks, uint64_t *request, const char *call);
int shmemi_mesh_flush(uint64_t mesh, int context, int member, uint64_t *request, const char *call);
int shmemi_mesh_send(uint64_t mesh, int member, const void *data, size_t nbytes, uint64_t *request,
                     const char *call);
int shmemi_mesh_receive(uint64_t mesh, void *data, size_t *nbytes, int *member, int timeout_ms,
                        const char *call);
int shmemi_mesh_test(uint64_t *request, const char *call);
int shmemi_mesh_wait(uint64_t *request, int timeout_ms, const char *call);
const char *shmemi_mesh_error_text(const char *call);

#pragma GCC visibility pop

#endif
