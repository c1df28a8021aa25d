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

template <class SCOPE>
SHMEMI_D void nvshmemi_quiet_queues(const struct shmemi_device_image *image, uint32_t call,
                                    const nvshmemx_qp_handle_t *handles, int n)
{
    SCOPE::sync();
    for (int i = 0; SCOPE::rank() == 0 && i < n; i++)
        shmemi_quiet(nvshmemi_queue(image, handles[i]), call);
    SCOPE::sync();
}

template <class SCOPE>
SHMEMI_D void nvshmemi_fence_queues(const struct shmemi_device_image *image, uint32_t call,
                                    const nvshmemx_qp_handle_t *handles, int n)
{
    SCOPE::sync();
    for (int i = 0; SCOPE::rank() == 0 && i < n; i++)
        shmemi_fence(nvshmemi_queue(image, handles[i]), call);
    SCOPE::sync();
}

SHMEMI_D void nvshmemi_get_version(int *major, int *minor)
{
    *major = NVSHMEM_MAJOR_VERSION;
    *minor = NVSHMEM_MINOR_VERSION;
}

SHMEMI_D void nvshmemi_get_vendor(int *major, int *minor, int *patch)
{
    *major = NVSHMEM_VENDOR_MAJOR_VERSION;
    *minor = NVSHMEM_VENDOR_MINOR_VERSION;
    *patch = NVSHMEM_VENDOR_PATCH_VERSION;
}

SHMEMI_COLD void nvshmemi_get_name(char *name)
{
    const char *text = NVSHMEM_VENDOR_STRING;
    for (size_t i = 0; i < sizeof NVSHMEM_VENDOR_STRING; i++)
        name[i] = text[i];
}

SHMEMI_D int nvshmemi_start_region(nvshmemx_region_handle_t *handle,
                                   const nvshmemx_region_attrs_t *attrs)
{
    if (handle == NULL || attrs == NULL)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    *handle = 0;
    return NVSHMEMX_SUCCESS;
}

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
