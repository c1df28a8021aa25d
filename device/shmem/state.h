/*
 * state.h: how threads of the host find the rings and the other PEs.
 *
 * A program that is linked with libshmem.so calls shmemi_device_state between
 * shmem_init and shmem_finalize; ring.h does the rest. Kernels get a state of
 * their own.
 */
#ifndef SHMEM_STATE_H
#define SHMEM_STATE_H

#include "ring.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The state for threads of this process, which stays valid until shmem_finalize. The first call
 * makes the rings. Ends the job with a message when the library is of another version than the
 * header, or when there is no memory for the rings.
 */
const void *shmemi_device_state(uint32_t version, uint32_t size);

#ifdef __cplusplus
}
#endif

/* Returns the job's state for threads of this process, after a check of its version. */
static inline const struct shmemi_device_state *shmemi_host_state(void)
{
    return (const struct shmemi_device_state *)shmemi_device_state(
        SHMEMI_WIRE_VERSION, (uint32_t)sizeof(struct shmemi_device_state));
}

#endif
