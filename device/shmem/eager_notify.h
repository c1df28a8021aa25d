/*
 * eager_notify.h: tokens of kernels that their reader counts (SHMEMX_EAGER_NOTIFY): the bytes with
 * their signal, and an addition to the counter of the slot behind them.
 *
 * Where the slot has an address, the bytes are stored and the addition has release order. By the
 * ring both are one operation, whose source is the whole of what the slot has: it is laid out in a
 * buffer of this PE. The signal alone means nothing. Behind the counter it shows an epoch that was
 * skipped, and a token of another size.
 */
#ifndef SHMEM_EAGER_NOTIFY_H
#define SHMEM_EAGER_NOTIFY_H

#include "atoms.h"
#include "copy.h"
#include "eager_layout.h"
#include "notify.h"

#include <shmemx.h>

#ifdef SHMEMI_KERNEL

/* How many counters of slots there are, behind those of the program. */
SHMEMI_D uint32_t shmemi_eager_counters(const struct shmemi_device_image *image)
{
    const uint32_t rest = SHMEMI_MOST_COUNTERS - image->job.notify_count;
    if (image->job.notify_count == 0)
        return 0; /* kernels have none of either kind */
    return rest < SHMEMI_EAGER_COUNTERS ? rest : SHMEMI_EAGER_COUNTERS;
}

/* The number of a slot's counter. */
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
 * The signal of a token, and its count, behind all of its data: the threads of the scope meet, and
 * one stores the signal and adds with release. place is the slot's address here, and to its address
 * at the target, whose counters are as far away.
 */
template <class SCOPE>
SHMEMI_D void shmemi_eager_count(const struct shmemi_device_image *image, int counter,
                                 const char *place, char *to, uint32_t nbytes, uint32_t epoch)
{
    SCOPE::meet();
    if (SCOPE::rank() != 0)
        return;
    shmemi_store_element(to + shmemi_eager_signal_at(0, nbytes, SHMEMI_EAGER_NOTIFY),
                         shmemi_eager_signal(nbytes, epoch));
    shmemi_add_signal((char *)shmemi_counter(image, counter) + (to - place), 1);
}

/* As shmemi_eager_count, by one thread and by the ring, behind words that went one by one. */
SHMEMI_COLD void shmemi_eager_count_ring(const struct shmemi_device_image *image, uint32_t call,
                                         int counter, char *place, uint32_t nbytes, uint32_t epoch,
                                         int pe)
{
    char *at = place + shmemi_eager_signal_at(0, nbytes, SHMEMI_EAGER_NOTIFY);
    shmemi_p<uint64_t>(image, call, (uint64_t *)at, shmemi_eager_signal(nbytes, epoch), pe);
    shmemi_fence(image, call);
    shmemi_put_notify_ring(image, NULL, NULL, 0, counter, pe, 0);
}

/*
 * The thread that has changed the word of a buffer to TAKEN owns the buffer. The fences: the proxy
 * has read the bytes of the token before, when this thread stores those of the next.
 */
SHMEMI_COLD void shmemi_eager_take_buffer(const struct shmemi_device_image *image, char *buffer)
{
    uint32_t looks = 0;
    while (shmemi_cswap_at(buffer, (uint32_t)SHMEMI_EAGER_FREE, (uint32_t)SHMEMI_EAGER_TAKEN) !=
           SHMEMI_EAGER_FREE)
        shmemi_keep_waiting(image, &looks);
    shmemi_fence_system();
}

SHMEMI_D void shmemi_eager_give_buffer(char *buffer)
{
    shmemi_fence_system();
    (void)shmemi_swap_at(buffer, (uint32_t)SHMEMI_EAGER_FREE);
}

/*
 * A token by the ring. Its slot and target select the buffer, so that all threads of the scope know
 * it, and so that the write of the token before in the same slot has ended (decision 0048).
 */
template <class SCOPE>
SHMEMI_COLD void shmemi_eager_send_ring(const struct shmemi_device_image *image, uint32_t call,
                                        const shmemx_eager_t *e, uint32_t slot, const void *source,
                                        uint32_t epoch, int pe)
{
    const int counter = shmemi_eager_counter(image, call, e, slot);
    char *place = (char *)e->slots + (uint64_t)slot * e->stride;
    if (e->buffers == 0)
        shmemi_fault(image, SHMEMI_FAULT_KEEP, call, pe, (uint64_t)(uintptr_t)place, e->tile);
    const uint32_t number = (uint32_t)(((uint64_t)slot + (uint32_t)pe) % e->buffers);
    char *buffer =
        (char *)e->slots + (uint64_t)e->count * e->stride + number * shmemi_eager_buffer(e->stride);
    char *bytes = buffer + SHMEMI_EAGER_BUFFER_HEAD;
    if (SCOPE::rank() == 0)
        shmemi_eager_take_buffer(image, buffer);
    SCOPE::meet();
    shmemi_copy<SCOPE, 0>(bytes, source, e->nbytes);
    if (SCOPE::rank() == 0)
        shmemi_store_element(bytes + shmemi_eager_signal_at(0, e->nbytes, SHMEMI_EAGER_NOTIFY),
                             shmemi_eager_signal(e->nbytes, epoch));
    SCOPE::meet();
    if (SCOPE::rank() == 0) {
        shmemi_put_notify_ring(image, place, bytes,
                               shmemi_eager_bytes(e->nbytes, SHMEMI_EAGER_NOTIFY), counter, pe, 0);
        shmemi_eager_give_buffer(buffer);
    }
    SCOPE::meet();
}

#endif

#endif
