/*
 * mesh.h: the functions of the core for meshes. libshmem.so has them as shmemx_mesh_..., which
 * include/shmemx.h describes. They need no job.
 *
 * Handles are numbers that no other object of the process has had. Each function returns 0, or one
 * of the SHMEMX_MESH constants with the reason in error, which has SHMEMI_MESH_TEXT bytes. The
 * structs have the members of shmemx_mesh_options_t, shmemx_mesh_block_t and shmemx_mesh_signal_t.
 */
#ifndef SHMEMI_MESH_H
#define SHMEMI_MESH_H

#include <stddef.h>
#include <stdint.h>

#define SHMEMI_MESH_TEXT 512 /* bytes that each `error` has room for; it is not NULL */

/* The SHMEMX_MESH constants of the same names. */
enum {
    SHMEMI_MESH_PENDING = 1,
    SHMEMI_MESH_ARGUMENT,
    SHMEMI_MESH_MEMBER,
    SHMEMI_MESH_CLOSED,
    SHMEMI_MESH_VERSION,
    SHMEMI_MESH_NETWORK,
    SHMEMI_MESH_TIMEOUT
};

enum { SHMEMI_MESH_GPU_OTHERS = 1, SHMEMI_MESH_GPU_OWN };

/* The structs have the layouts of shmemx_mesh_options_t and so on, whose members shmemx.h explains.
 */

struct shmemi_mesh_options {
    size_t size; /* bytes of this struct, as the caller knows it */
    int member;
    int most;
    const void *secret;
    size_t secret_nbytes;
    int contexts;
    int timeout_ms;
    const char *provider;
    const char *nics;
    const char *library;
    void (*log)(const char *text, void *arg);
    void *log_arg;
    int gpu;
    int reserved;
};

struct shmemi_mesh_block {
    void *local;
    uint64_t offset;
    size_t nbytes;
};

struct shmemi_mesh_signal {
    uint64_t remote;
    uint64_t offset;
    uint64_t value;
    int op;
    int reserved;
};

struct shmemi_mesh {
    int (*open)(const struct shmemi_mesh_options *o, uint64_t *mesh, char *error);
    int (*close)(uint64_t mesh, char *error);
    /* blob has room for *nbytes; sets *nbytes to the size of the blob. blob NULL: does only that.
     */
    int (*address)(uint64_t mesh, void *blob, size_t *nbytes, char *error);
    int (*add)(uint64_t mesh, const void *blob, size_t nbytes, int *member, char *error);
    int (*remove_)(uint64_t mesh, int member, char *error);
    int (*status)(uint64_t mesh, int member, char *error);
    int (*register_)(uint64_t mesh, void *base, size_t nbytes, uint64_t *region, char *error);
    int (*describe)(uint64_t region, void *blob, size_t *nbytes, char *error);
    int (*unregister)(uint64_t region, uint64_t *request, char *error);
    int (*import)(uint64_t mesh, const void *blob, size_t nbytes, uint64_t *remote, size_t *length,
                  uint64_t *request, char *error);
    int (*put)(uint64_t mesh, int context, uint64_t remote, const struct shmemi_mesh_block *blocks,
               size_t nblocks, const struct shmemi_mesh_signal *then, int ordered,
               uint64_t *request, char *error);
    int (*get)(uint64_t mesh, int context, uint64_t remote, const struct shmemi_mesh_block *blocks,
               size_t nblocks, uint64_t *request, char *error);
    int (*flush)(uint64_t mesh, int context, int member, uint64_t *request, char *error);
    /* timeout_ns 0: tests once. Sets *request to 0 when it has ended. */
    int (*wait)(uint64_t *request, int64_t timeout_ns, char *error);
    int (*send)(uint64_t mesh, int member, const void *data, size_t nbytes, uint64_t *request,
                char *error);
    /* data has room for *nbytes; sets *nbytes and *member. SHMEMI_MESH_PENDING: none has arrived.
     */
    int (*receive)(uint64_t mesh, void *data, size_t *nbytes, int *member, int64_t timeout_ns,
                   char *error);
};

#endif
