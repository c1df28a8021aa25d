/*
 * archive.c: the functions of the host library that NVIDIA's device archive, libnvshmem_device.a,
 * calls. The device code in it reads the state of NVIDIA's host library, so init refuses a program
 * that was linked with the archive.
 */
#include "own.h"

#include <stdio.h>

#pragma GCC visibility push(default)
/* A variable of NVIDIA's library. Programs that were linked with NVSHMEM 3.7 or later have a copy
 * of it, which nothing reads. */
int nvshmem_selected_device_transport;

int nvshmemid_hostlib_init_attr(int requested, int *provided, unsigned int flags,
                                nvshmemx_init_attr_t *attr, nvshmemi_version_t archive,
                                int (*state)(void *, void *));
void nvshmemid_hostlib_finalize(void *device, void *transport);
int nvshmemid_init_status(void);
#pragma GCC visibility pop

/* Called at init by programs whose device code is of NVIDIA's archive, which does not fit this
 * library: prints that, and returns an error. */
int nvshmemid_hostlib_init_attr(int requested, int *provided, unsigned int flags,
                                nvshmemx_init_attr_t *attr, nvshmemi_version_t archive,
                                int (*state)(void *, void *))
{
    (void)requested;
    (void)provided;
    (void)flags;
    (void)attr;
    (void)state;
    fprintf(stderr,
            "shmem: nvshmem_init: the program's device code is of NVIDIA's archive, NVSHMEM "
            "%d.%d.%d, which does not fit this library (compile it against the headers of this "
            "one, docs/start/from-nvshmem.md)\n",
            archive.major, archive.minor, archive.patch);
    return NVSHMEMX_ERROR_NOT_SUPPORTED;
}

/* Called by NVIDIA's device archive. Its init was refused, so there is nothing to finalize. */
void nvshmemid_hostlib_finalize(void *device, void *transport)
{
    (void)device;
    (void)transport;
}

/* Called by NVIDIA's device archive, whose init was refused. */
int nvshmemid_init_status(void)
{
    return NVSHMEM_STATUS_NOT_INITIALIZED;
}
