/*
 * device/nvshmemi_own.h: functions for kernels that are more than a function of shmem.cuh under
 * another name. Part of nvshmem_defines.h.
 */
#ifndef NVSHMEM_DEVICE_NVSHMEMI_OWN_H
#define NVSHMEM_DEVICE_NVSHMEMI_OWN_H

#include "../host/nvshmem_api.h"

#ifdef SHMEMI_KERNEL

/* Every number but that of set adds: programs may have the numbers of older releases. */
SHMEMI_D int nvshmemi_signal_of(int op)
{
    return op == SHMEMI_SIGNAL_SET ? SHMEMI_SIGNAL_SET : SHMEMI_SIGNAL_ADD;
}

/*
 * Handles of nvshmemx_qp_create are queues; the predefined handles stand for all queues of the PE.
 */
SHMEMI_D const struct shmemi_device_image *nvshmemi_queue(const struct shmemi_device_image *image,
                                                          nvshmemx_qp_handle_t handle)
{
    return handle <= NVSHMEMX_QP_DEFAULT || handle == NVSHMEMX_QP_ANY
               ? image
               : shmemi_queue(image, (uint32_t)(handle - NVSHMEMX_QP_DEFAULT - 1));
}

/* Completes the earlier operations in n queues, one queue after the other. All threads of the scope
 * call it; one of them does the work for the operations of all. */
template <class SCOPE>
SHMEMI_D void nvshmemi_quiet_queues(const struct shmemi_device_image *image, uint32_t call,
                                    const nvshmemx_qp_handle_t *handles, int n)
{
    SCOPE::sync();
    for (int i = 0; SCOPE::rank() == 0 && i < n; i++)
        shmemi_quiet(nvshmemi_queue(image, handles[i]), call);
    SCOPE::sync();
}

/* Orders the earlier operations in each of n queues before later ones in the same queue. All
 * threads of the scope call it. */
template <class SCOPE>
SHMEMI_D void nvshmemi_fence_queues(const struct shmemi_device_image *image, uint32_t call,
                                    const nvshmemx_qp_handle_t *handles, int n)
{
    SCOPE::sync();
    for (int i = 0; SCOPE::rank() == 0 && i < n; i++)
        shmemi_fence(nvshmemi_queue(image, handles[i]), call);
    SCOPE::sync();
}

/* The version of NVSHMEM's interface that these headers have. */
SHMEMI_D void nvshmemi_get_version(int *major, int *minor)
{
    *major = NVSHMEM_MAJOR_VERSION;
    *minor = NVSHMEM_MINOR_VERSION;
}

/* The release of NVSHMEM whose names these headers have. */
SHMEMI_D void nvshmemi_get_vendor(int *major, int *minor, int *patch)
{
    *major = NVSHMEM_VENDOR_MAJOR_VERSION;
    *minor = NVSHMEM_VENDOR_MINOR_VERSION;
    *patch = NVSHMEM_VENDOR_PATCH_VERSION;
}

/* Copies the name of the library, and its final zero, to NVSHMEM_MAX_NAME_LEN bytes. */
SHMEMI_COLD void nvshmemi_get_name(char *name)
{
    const char *text = NVSHMEM_VENDOR_STRING;
    for (size_t i = 0; i < sizeof NVSHMEM_VENDOR_STRING; i++)
        name[i] = text[i];
}

/* Begins a region of a kernel, for which attrs has hints about shared memory. They have no effect
 * here, so that every region has the handle 0. */
SHMEMI_D int nvshmemi_start_region(nvshmemx_region_handle_t *handle,
                                   const nvshmemx_region_attrs_t *attrs)
{
    if (handle == NULL || attrs == NULL)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    *handle = 0;
    return NVSHMEMX_SUCCESS;
}

/* Reports whether hints of a region are active: sets *active to 0, because they have no effect. */
SHMEMI_D int nvshmemi_no_region(uint32_t hints, int *active)
{
    (void)hints;
    if (active == NULL)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    *active = 0;
    return NVSHMEMX_SUCCESS;
}

#endif

#endif
