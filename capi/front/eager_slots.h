/* eager_slots.h: what the senders and the readers of eager transfers share. */
#ifndef SHMEMI_EAGER_SLOTS_H
#define SHMEMI_EAGER_SLOTS_H

#include "base.h"

#include <shmemx.h>

#pragma GCC visibility push(hidden)

/* The place of a slot of this PE, as a symmetric address. Ends the job when there is no such slot.
 */
char *shmemi_eager_place(const shmemx_eager_t *e, uint32_t slot, const char *call);

/* The largest tile that the host's route to a PE keeps. */
int shmemi_eager_host_keeps(int pe);

/* Reports whether the host sends tokens by a network. */
bool shmemi_eager_goes_far(void);

/* The bytes that buffers for the network take behind the slots of a PE, and the wait until none of
 * them is under way. */
size_t shmemi_eager_boxes_size(const shmemx_eager_t *e);
void shmemi_eager_boxes_close(const shmemx_eager_t *e, const char *call);

#pragma GCC visibility pop

#endif
