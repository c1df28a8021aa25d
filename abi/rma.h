/*
 * rma.h: the functions of the core for groups, the meshes of libshmem_rma.so. All ranks of a group
 * connect, and register memory, together (runtime/rma). Threads submit operations to the group's
 * queue (zz_group.h) without a call of the core.
 *
 * Handles, results and errors are those of mesh.h.
 */
#ifndef SHMEMI_RMA_H
#define SHMEMI_RMA_H

#include "zz_group.h"

#include <stddef.h>
#include <stdint.h>

enum { SHMEMI_RMA_ID = 128 }; /* bytes of a unique id */

/* The kind of registered memory. */
enum {
    SHMEMI_RMA_GPU = 1, /* of a GPU */
    /* Only signals of ranks change its words, and no kernel does. So its owner remembers what it
     * has stored, and need not read a word of GPU memory before it adds a signal. */
    SHMEMI_RMA_WORDS = 2
};

/* signal_op of an operation: store signal_value, or add it. */
enum { SHMEMI_RMA_SET, SHMEMI_RMA_ADD };

struct shmemi_rma_options {
    const char *const *environ_;      /* as C's environ: the settings */
    const void *id;                   /* the SHMEMI_RMA_ID bytes that listen has made */
    int rank, size;                   /* this rank's number, and how many ranks there are */
    struct shmemi_group_queue *queue; /* zeroed; the group uses it until close returns */
    /* Gets errors that no call returns, from any thread, until close returns; NULL: none. */
    void (*log)(const char *text, void *arg);
    void *log_arg; /* the arg of log */
};

struct shmemi_rma {
    /* Makes a unique id of SHMEMI_RMA_ID bytes, and listens for ranks until all have joined and
     * left, or until the listener is closed. */
    int (*listen)(const char *const *environ_, void *id, uint64_t *listener, char *error);
    /* Makes the handle invalid. used: ranks have connected by the listener, which then goes on
     * until all have left; 0: closes it. */
    int (*close_listener)(uint64_t listener, int used, char *error);
    /* Connects this rank with the others. If the calling thread uses a GPU, the group can register
     * memory of that GPU. */
    int (*connect)(const struct shmemi_rma_options *o, uint64_t *group, char *error);
    /* Waits until other ranks have applied the submitted operations, for at most
     * SHMEM_BOOTSTRAP_TIMEOUT. All operations have ended when it returns. */
    int (*close)(uint64_t group, char *error);
    /* Sets *number, by which operations name the memory, and *memory, its handle. */
    int (*register_)(uint64_t group, void *base, size_t nbytes, int kind, uint64_t *memory,
                     uint64_t *number, char *error);
    int (*unregister)(uint64_t memory, char *error); /* of this rank */
    /* Opens n more contexts, with the numbers *first to *first + n - 1. */
    int (*contexts)(uint64_t group, int n, int *first, char *error);
    /* Wakes the proxy. A thread that has submitted an operation calls it if asleep is then set. */
    int (*wake)(uint64_t group, char *error);
    /* The status and the reason of the group's first failed operation, or 0. */
    int (*failure)(uint64_t group, char *error);
};

#endif
