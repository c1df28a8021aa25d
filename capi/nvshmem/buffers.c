/*
 * buffers.c: registration of local buffers and hints about regions of code, which libshmem does not
 * need: any memory may be a local source or destination. Handles of queue pairs.
 */
#include "own.h"

#include <shmem.h>

#include <stdlib.h>

/* Implements nvshmemx_buffer_register. It only checks its arguments: libshmem needs no registration
 * of a local buffer. */
int nvshmemi_buffer_register(void *buffer, size_t length)
{
    return buffer == NULL || length == 0 ? NVSHMEMX_ERROR_INVALID_VALUE : 0;
}

/* Implements nvshmemx_buffer_unregister: local buffers need no registration. */
int nvshmemi_buffer_unregister(void *buffer)
{
    return buffer == NULL ? NVSHMEMX_ERROR_INVALID_VALUE : 0;
}

/* Makes n handles, numbers after NVSHMEMX_QP_DEFAULT. It needs no resources: kernels map a handle
 * to one of the rings that the job has. */
int nvshmemi_qp_create(int n, nvshmemx_qp_handle_t **handles)
{
    if (n < 1 || handles == NULL)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    nvshmemx_qp_handle_t *made = calloc((size_t)n, sizeof *made);
    if (made == NULL)
        return NVSHMEMX_ERROR_OUT_OF_MEMORY;
    for (int i = 0; i < n; i++)
        made[i] = NVSHMEMX_QP_DEFAULT + 1 + i;
    *handles = made;
    return 0;
}

/* Sets the counter of counted signals to 0, which is complete on return. */
void nvshmemi_signal_counted_reset(uint64_t *counter)
{
    shmem_uint64_atomic_set(counter, 0, shmem_my_pe());
    shmem_quiet();
}

/* Begins a region of code with hints. libshmem uses none of them, so no region is ever active. */
int nvshmemi_region_start(nvshmemx_region_handle_t *handle, const nvshmemx_region_attrs_t *attrs)
{
    if (handle == NULL || attrs == NULL)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    *handle = 0;
    return 0;
}

/* Implements nvshmemx_region_stop, the end of a region of code with hints. No region is ever
 * active, so it does nothing. */
int nvshmemi_region_stop(nvshmemx_region_handle_t handle)
{
    (void)handle;
    return 0;
}

/* Stores 0 in *active: no region is ever active. */
int nvshmemi_region_is_active(uint32_t hints, int *active)
{
    (void)hints;
    if (active == NULL)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    *active = 0;
    return 0;
}
