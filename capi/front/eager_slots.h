/* eager_slots.h: where slots of eager transfers are, and the host's paths to them. */
#ifndef SHMEMI_EAGER_SLOTS_H
#define SHMEMI_EAGER_SLOTS_H

#include "base.h"

#include <shmemx.h>

#pragma GCC visibility push(hidden)

/* Returns the address of a slot of this PE, which is symmetric. Ends the job if there is no such
 * slot. */
char *shmemi_eager_place(const shmemx_eager_t *e, uint32_t slot, const char *call);

/* Reports whether this PE's CPU reaches a PE only over the network. */
bool shmemi_eager_is_far(int pe);

/* Returns the size of the largest tile (piece of a token) that becomes visible all at once on the
 * host's path to a PE: the reader sees either none or all of its bytes. */
int shmemi_eager_host_tile(int pe);

/* Reports whether slots of this PE are in the memory of a GPU, where the host reads and sends no
 * tiles. */
bool shmemi_eager_on_gpu(void);

/* Reports whether the host sends tokens over a network. */
bool shmemi_eager_goes_far(void);

/* Reports whether kernels of this PE can store into the slots of a PE. */
bool shmemi_eager_is_direct(int pe);

/* Returns the size of the largest tile (piece of a token) that becomes visible all at once on the
 * kernels' path to a PE. */
int shmemi_eager_kernels_tile(int pe);

/* Reports whether kernels have separate buffers, after the slots: some PE of the job has a GPU,
 * whose atomic operations are not atomic with those of the host. Otherwise kernels run as threads
 * of the host, and share its buffers. */
SHMEMI_INLINE bool shmemi_eager_buffers_apart(void)
{
    return shmemi_state.notify_stores != NULL;
}

#pragma GCC visibility pop

#endif
