/*
 * eager_notify.h: tokens of kernels whose arrival a notification counter counts
 * (SHMEMX_EAGER_NOTIFY): the bytes with their signal, and then an addition to the counter of the
 * slot. If this GPU can address the slot, the bytes are stored and the addition has release order.
 * The signal may be visible before the bytes, so a reader waits for the counter. Then it compares
 * the signal, which shows whether an epoch was skipped or the token has another size.
 */
#ifndef SHMEM_EAGER_NOTIFY_H
#define SHMEM_EAGER_NOTIFY_H

#include "atoms.h"
#include "copy.h"
#include "eager_layout.h"
#include "notify.h"

#include <shmemx.h>

#ifdef SHMEMI_KERNEL

/* Returns how many notification counters there are for slots of eager transfers, after those of the
 * program. */
SHMEMI_D uint32_t shmemi_eager_counters(const struct shmemi_device_image *image)
{
    const uint32_t rest = SHMEMI_MOST_COUNTERS - image->job.notify_count;
    if (image->job.notify_count == 0)
        return 0; /* kernels have no counters at all */
    return rest < SHMEMI_EAGER_COUNTERS ? rest : SHMEMI_EAGER_COUNTERS;
}

/* Returns the number of the notification counter that counts a slot's tokens. Stops the kernel if
 * there is no such counter. The counters of one shmemx_eager_t are consecutive, from e->counter on;
 * the caller has checked the slot. */
SHMEMI_D int shmemi_eager_counter(const struct shmemi_device_image *image, uint32_t call,
                                  const shmemx_eager_t *e, uint32_t slot)
{
    const uint64_t at = (uint64_t)e->counter + slot;
    const uint32_t n = shmemi_eager_counters(image);
    if (at >= n)
        shmemi_fault(image, SHMEMI_FAULT_COUNTER, call, image->job.me, at, n);
    return (int)(image->job.notify_count + at);
}

/*
 * Completes a token that its slot's counter counts, after all of its data: the threads of the scope
 * synchronise, and one of them stores the signal and adds to the counter with a release. place is
 * the slot's address on this GPU and `to` its address at the target, whose counters have the same
 * distance from ours.
 */
template <class SCOPE>
SHMEMI_D void shmemi_eager_count(const struct shmemi_device_image *image, int counter,
                                 const char *place, char *to, uint32_t nbytes, uint32_t epoch)
{
    SCOPE::sync();
    if (SCOPE::rank() != 0)
        return;
    shmemi_store_element(to + shmemi_eager_signal_at(0 /* tile */, nbytes, SHMEMI_EAGER_NOTIFY),
                         shmemi_eager_signal(nbytes, epoch));
    shmemi_add_signal((char *)shmemi_counter(image, counter) + (to - place), 1 /* value */);
}

#endif

#endif
