/*
 * buffers.c: registration of local buffers and hints about regions of code, which libshmem does not
 * need: any memory may be a local source or destination. Handles of queue pairs.
 */
#include "own.h"

#include <shmem.h>

#include <stdlib.h>

/* Implements nvshmemx_buffer_register. It only checks its arguments, and returns 0 or
 * NVSHMEMX_ERROR_INVALID_VALUE: libshmem needs no registration of a local buffer. */
int nvshmemi_buffer_register(void *buffer, size_t length)
{
    return buffer == NULL || length == 0 ? NVSHMEMX_ERROR_INVALID_VALUE : 0;
}

/* Implements nvshmemx_buffer_unregister: local buffers need no registration. It accepts any address
 * but NULL. */
int nvshmemi_buffer_unregister(void *buffer)
{
    return buffer == NULL ? NVSHMEMX_ERROR_INVALID_VALUE : 0;
}

/* Implements nvshmemx_qp_create: makes n handles of queue pairs, the numbers after
 * NVSHMEMX_QP_DEFAULT. Each call makes the same numbers, as handles name no resources: kernels map
 * a handle to one of the job's rings (queues of operations for the proxy). The program frees the
 * array *handles. Returns 0 or an NVSHMEMX_ERROR_. */
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

/* Implements nvshmemx_signal_counted_reset: sets this PE's counter of counted signals to 0. This,
 * and all earlier operations on the default context, is complete on return. */
void nvshmemi_signal_counted_reset(uint64_t *counter)
{
    shmem_uint64_atomic_set(counter, 0, shmem_my_pe());
    shmem_quiet();
}

/* Implements nvshmemx_region_start, the begin of a region of code with hints. libshmem uses none of
 * them, so no region is ever active, and all handles are 0. */
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

/* Implements nvshmemx_region_is_active: stores 0 in *active, as no region is ever active. */
int nvshmemi_region_is_active(uint32_t hints, int *active)
{
    (void)hints;
    if (active == NULL)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    *active = 0;
    return 0;
}
