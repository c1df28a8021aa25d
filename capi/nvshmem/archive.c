/*
 * archive.c: the functions of the host library that NVIDIA's device archive, libnvshmem_device.a,
 * calls for a program that was built with it. The device code in the program reads the state of the
 * job in a variable of the program. The archive passes a callback that finds this variable, and
 * libshmem.so stores the state in it.
 */
#define _GNU_SOURCE
#include "own.h"

#include <shmem.h>
#include <shmemx.h>

#include <dlfcn.h>

#pragma GCC visibility push(default)
/* A variable of NVIDIA's library. The callback of archives of 3.6 and later returns the state of a
 * transport only while this is 1, the number of the transport by InfiniBand queues. */
int nvshmem_selected_device_transport;

int nvshmemid_hostlib_init_attr(int requested, int *provided, unsigned int flags,
                                nvshmemx_init_attr_t *attr, nvshmemi_version_t archive,
                                int (*callback)(void **, void **));
void nvshmemid_hostlib_finalize(void *state, void *transport);
int nvshmemid_init_status(void);
#pragma GCC visibility pop

/* Sets each nvshmem_selected_device_transport that the archive may read: that of this library, that
 * of libnvshmem_host.so.3, and the copy that a program may have. number: 1, or 0 for no transport.
 */
static void select_transport(int number)
{
    /* The first one in the search order, which is the program's copy if it has one. */
    int *global = dlsym(RTLD_DEFAULT, "nvshmem_selected_device_transport");
    int *host_library = nvshmemi_host_variable("nvshmem_selected_device_transport");
    nvshmem_selected_device_transport = number;
    if (global != NULL)
        *global = number;
    if (host_library != NULL)
        *host_library = number;
}

/* Finds the variables of a program in which its device code reads the state of the job and of the
 * transport; NULL: it has none. Calls the archive's callback, and returns its status. Up to release
 * 3.4 the callback returns nothing, and the status is 0. shmemi_archive_add calls it. */
static int find_variables(const struct shmemi_archive_program *p, void **state, void **transport)
{
    int (*callback)(void **, void **) = (int (*)(void **, void **))(uintptr_t)p->callback;
    *state = *transport = NULL;
    select_transport(1);
    int rc = callback(state, transport);
    select_transport(0);
    return p->minor <= 4 ? 0 : rc;
}

/* Prints why a program is refused, and returns status. */
static int refuse(const char *why, int status)
{
    fprintf(stderr, "shmem: nvshmem_init: %s\n", why);
    return status;
}

/*
 * Called by NVIDIA's device archive when the program calls nvshmem_init or nvshmemx_init_attr:
 * joins the job, or counts one more init, and copies the state of the job to the variable that
 * callback finds. With callback NULL the archive has no variable, and the call only counts. A later
 * init fixes the GPU of each PE if that has not happened yet.
 */
int nvshmemid_hostlib_init_attr(int requested, int *provided, unsigned int flags,
                                nvshmemx_init_attr_t *attr, nvshmemi_version_t archive,
                                int (*callback)(void **, void **))
{
    char why[1024] = "";
    (void)requested;
    if (callback != NULL &&
        shmemi_archive_check(archive.major, archive.minor, archive.patch, why, sizeof why) != 0)
        return refuse(why, NVSHMEMX_ERROR_INVALID_VALUE);
    bool in_job = nvshmemi_init_status() != NVSHMEM_STATUS_NOT_INITIALIZED;
    int status =
        in_job ? shmemx_init_attr(/* flags */ 0, NULL) : nvshmemi_hostlib_init_attr(flags, attr);
    if (status != 0)
        return status;
    if (provided != NULL)
        *provided = NVSHMEM_THREAD_SERIALIZED;
    if (in_job && nvshmemi_init_status() == NVSHMEM_STATUS_IS_BOOTSTRAPPED)
        shmemi_settle_gpu("nvshmem_init");
    if (callback == NULL)
        return 0;
    struct shmemi_archive_program p = {archive.major, archive.minor, archive.patch, find_variables,
                                       (void *)(uintptr_t)callback};
    if (shmemi_archive_add(&p, why, sizeof why) == 0)
        return 0;
    /* The archive ends the process after this error. An init of a job that was joined before is
     * undone. The first one is not: its finalize would wait for the other PEs, which go on. */
    if (in_job)
        shmem_finalize();
    return refuse(why, NVSHMEMX_ERROR_NOT_SUPPORTED);
}

/* Called by NVIDIA's device archive when the program calls nvshmem_finalize: counts one init less.
 * After as many calls as inits it clears the variable at `state`, in which the program's device
 * code reads the state of the job. state is NULL if the archive has no variable. */
void nvshmemid_hostlib_finalize(void *state, void *transport)
{
    (void)transport;
    if (state != NULL)
        shmemi_archive_drop(state);
    shmem_finalize();
}

/* Called by NVIDIA's device archive: returns the status of the job, a NVSHMEM_STATUS_ number. The
 * archive prepares collective launches only if it is NVSHMEM_STATUS_IS_INITIALIZED: before that a
 * PE may still choose another GPU. */
int nvshmemid_init_status(void)
{
    return nvshmemi_init_status();
}
