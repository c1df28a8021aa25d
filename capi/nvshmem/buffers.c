/*
 * buffers.c: hints about buffers and regions, which libshmem does not need. Any memory may be
 * a local source or destination of it.
 */
#include "own.h"

int nvshmemi_buffer_register(void *buffer, size_t length)
{
    return buffer == NULL || length == 0 ? NVSHMEMX_ERROR_INVALID_VALUE : 0;
}

int nvshmemi_buffer_unregister(void *buffer)
{
    return buffer == NULL ? NVSHMEMX_ERROR_INVALID_VALUE : 0;
}

int nvshmemi_region_start(nvshmemx_region_handle_t *handle, const nvshmemx_region_attrs_t *attrs)
{
    if (handle == NULL || attrs == NULL)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    *handle = 0;
    return 0;
}

int nvshmemi_region_stop(nvshmemx_region_handle_t handle)
{
    (void)handle;
    return 0;
}

int nvshmemi_region_is_active(uint32_t hints, int *active)
{
    (void)hints;
    if (active == NULL)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    *active = 0;
    return 0;
}
