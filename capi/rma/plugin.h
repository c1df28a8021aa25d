/*
 * plugin.h: the functions of libshmem_rma.so, a network plugin of NCCL. The tables for the versions
 * of NCCL's interface (versions.c) have most of them unchanged.
 */
#ifndef SHMEMI_RMA_PLUGIN_H
#define SHMEMI_RMA_PLUGIN_H

#include "nccl.h"

/* A put, with a signal if op is not 0, or a get: the arguments that all versions of NCCL's
 * interface have. */
struct transfer {
    void *context;         /* of createContext */
    int number;            /* of one of its contexts */
    uint64_t local_offset; /* bytes from the begin of local */
    void *local;           /* registered memory of this rank; NULL: no bytes */
    size_t bytes;
    uint64_t offset;        /* bytes from the begin of rank's part of memory */
    void *memory;           /* registered memory, of which rank's part is the other side */
    uint32_t rank;          /* the target */
    uint64_t signal_offset; /* bytes from the begin of rank's part of signal */
    void *signal;           /* registered memory, of which rank's part has the signal's word */
    uint64_t value;         /* that NCCL_SIGNAL_ADD adds to the word */
    uint32_t op;            /* 0: no signal, or NCCL_SIGNAL_INC or NCCL_SIGNAL_ADD */
    bool strong; /* the signal follows all earlier operations of the context on the rank */
};

/* Each implements the function of NCCL's interface that plugin.c names. */
nccl_result plugin_init(void **ctx, uint64_t comm, nccl_logger log);
nccl_result plugin_devices(int *count);
nccl_result plugin_properties(int device, struct nccl_properties *properties);
nccl_result plugin_listen(void *ctx, int device, void *handle, void **listener);
nccl_result plugin_connect(void *ctx, void *handles[], int ranks, int rank, void *listener,
                           void **coll);
nccl_result plugin_contexts(void *coll, int contexts, void **context);
nccl_result plugin_register(void *coll, void *base, size_t bytes, int type, uint64_t flags,
                            void **memory);
nccl_result plugin_unregister(void *coll, void *memory);
nccl_result plugin_destroy_context(void *context);
nccl_result plugin_close(void *coll);
nccl_result plugin_close_listen(void *listener);
nccl_result plugin_put(const struct transfer *t, void **request);
nccl_result plugin_get(const struct transfer *t, void **request);
nccl_result plugin_flush(void *context, int number, void *memory, uint32_t rank, void **request);
nccl_result plugin_test(void *coll, void *request, int *done);
nccl_result plugin_progress(void *context);
nccl_result plugin_last_error(void *context, bool *failed);
nccl_result plugin_finalize(void *ctx);

#endif
