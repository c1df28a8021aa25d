/*
 * rma.c: the table of the core's functions for groups of libshmem_rma.so. All are in Go.
 */
#include "core.h"

#include "_cgo_export.h"

const struct shmemi_rma shmemi_core_rma = {
    .listen = (int (*)(const char *const *, void *, uint64_t *, char *))shmemgoRMAListen,
    .close_listener = shmemgoRMACloseListener,
    .connect = (int (*)(const struct shmemi_rma_options *, uint64_t *, char *))shmemgoRMAConnect,
    .close = shmemgoRMAClose,
    .register_ = shmemgoRMARegister,
    .unregister = shmemgoRMAUnregister,
    .contexts = shmemgoRMAContexts,
    .wake = shmemgoRMAWake,
    .failure = shmemgoRMAFailure,
};
