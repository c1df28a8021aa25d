/*
 * mesh.c: the table of the core's functions for meshes. All but the log are in Go.
 */
#include "core.h"

#include "_cgo_export.h"

const struct shmemi_mesh shmemi_core_meshes = {
    .open = (int (*)(const struct shmemi_mesh_options *, uint64_t *, char *))shmemgoMeshOpen,
    .close = shmemgoMeshClose,
    .address = shmemgoMeshAddress,
    .add = (int (*)(uint64_t, const void *, size_t, int *, char *))shmemgoMeshAdd,
    .remove_ = shmemgoMeshRemove,
    .status = shmemgoMeshStatus,
    .register_ = shmemgoMeshRegister,
    .describe = shmemgoMeshDescribe,
    .unregister = shmemgoMeshUnregister,
    .import = (int (*)(uint64_t, const void *, size_t, uint64_t *, size_t *, uint64_t *,
                       char *))shmemgoMeshImport,
    .put = (int (*)(uint64_t, int, uint64_t, const struct shmemi_mesh_block *, size_t,
                    const struct shmemi_mesh_signal *, int, uint64_t *, char *))shmemgoMeshPut,
    .get = (int (*)(uint64_t, int, uint64_t, const struct shmemi_mesh_block *, size_t, uint64_t *,
                    char *))shmemgoMeshGet,
    .flush = shmemgoMeshFlush,
    .wait = shmemgoMeshWait,
    .send = (int (*)(uint64_t, int, const void *, size_t, uint64_t *, char *))shmemgoMeshSend,
    .receive = shmemgoMeshReceive,
};

/* Calls a program's function for log lines: Go cannot call a C function by its address. */
void shmemi_core_mesh_log(void (*log)(const char *text, void *arg), const char *text, void *arg)
{
    log(text, arg);
}
