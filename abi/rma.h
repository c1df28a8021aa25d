/*
 * rma.h: the functions of the core for groups, the meshes of libshmem_rma.so. All ranks of a group
 * connect, and register memory, together (runtime/rma). Everything else is done by the functions of
 * mesh.h, on the mesh of the group.
 *
 * Handles, results and errors are those of mesh.h.
 */
#ifndef SHMEMI_RMA_H
#define SHMEMI_RMA_H

#include <stddef.h>
#include <stdint.h>

enum { SHMEMI_RMA_ID = 128 }; /* bytes of a unique id */

/* The kind of registered memory. */
enum {
    SHMEMI_RMA_GPU = 1,  /* of a GPU */
    SHMEMI_RMA_WORDS = 2 /* only signals of ranks change its words, and no kernel does */
};

struct shmemi_rma_options {
    const char *const *environ_; /* settings */
    const void *id;              /* of rank 0's listener */
    int rank, size;
    void (*log)(const char *text, void *arg);
    void *log_arg;
};

struct shmemi_rma {
    /* Makes a unique id, and listens for ranks until all have joined and left, or it is closed. */
    int (*listen)(const char *const *environ_, void *id, uint64_t *listener, char *error);
    /* used: the ranks have met at it, so that it ends when all have left. */
    int (*close_listener)(uint64_t listener, int used, char *error);
    /* If the calling thread uses a GPU, that may have memory of this rank. */
    int (*connect)(const struct shmemi_rma_options *o, uint64_t *group, uint64_t *mesh,
                   char *error);
    int (*close)(uint64_t group, char *error);
    /* remotes has room for a remote region of each rank, which is 0 where a rank has registered no
     * bytes. */
    int (*register_)(uint64_t group, void *base, size_t nbytes, int kind, uint64_t *memory,
                     uint64_t *remotes, char *error);
    int (*unregister)(uint64_t memory, char *error);
    int (*contexts)(uint64_t group, int n, int *first, char *error);
};

#endif
