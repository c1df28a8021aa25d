/*
 * eager_ring.h: tokens of kernels that travel through the ring as one write: with a notification,
 * or in tiles if the network keeps the order of their bytes from this GPU's memory to that of the
 * target. The bytes for the slot, signals included, are first stored in a buffer of this PE, from
 * which the NIC reads them.
 */
#ifndef SHMEM_EAGER_RING_H
#define SHMEM_EAGER_RING_H

#include "eager_notify.h"
#include "eager_tiles.h"

#ifdef SHMEMI_KERNEL

/* Returns the size of the largest piece of a token (a tile) whose bytes arrive in order at a PE
 * when the network writes it, as the proxy does for an operation in a ring; 0: no tile does. The
 * caller has checked pe. */
SHMEMI_D uint32_t shmemi_eager_ring_tile(const struct shmemi_device_image *image, int pe)
{
    return ((const struct shmemi_device_peer *)image->job.peers)[pe].tile;
}

/* Stops the kernel if the token's tiles are larger than those whose bytes arrive in order at pe
 * through the ring: the reader could see the signal at the end of a tile before its data. place,
 * the slot, is only for the report. A token without tiles (a value of tile below
 * SHMEMI_EAGER_PACKET) is not checked. */
SHMEMI_D void shmemi_eager_check_ring(const struct shmemi_device_image *image, uint32_t call,
                                      const shmemx_eager_t *e, const char *place, int pe)
{
    if (e->tile > shmemi_eager_ring_tile(image, pe) && e->tile >= SHMEMI_EAGER_PACKET)
        shmemi_fault(image, SHMEMI_FAULT_KEEP, call, pe, (uint64_t)(uintptr_t)place, e->tile);
}

/*
 * Waits for a buffer and reserves it. The thread that has changed the state of a buffer to TAKEN
 * owns it. The fences, here and in shmemi_eager_release_buffer, ensure that the proxy has read the
 * previous token's bytes before this thread stores the next token's.
 */
SHMEMI_COLD void shmemi_eager_reserve_buffer(const struct shmemi_device_image *image, char *buffer)
{
    uint32_t polls = 0;
    while (shmemi_cswap_at(buffer, (uint32_t)SHMEMI_EAGER_FREE, (uint32_t)SHMEMI_EAGER_TAKEN) !=
           SHMEMI_EAGER_FREE)
        shmemi_keep_waiting(image, &polls);
    shmemi_fence_system();
}

/* Makes a buffer free for another token, after the proxy has read its bytes. The state before was
 * SHMEMI_EAGER_TAKEN, by this thread, so the result is dropped. */
SHMEMI_COLD void shmemi_eager_release_buffer(char *buffer)
{
    shmemi_fence_system();
    (void)shmemi_swap_at(buffer, (uint32_t)SHMEMI_EAGER_FREE);
}

/*
 * Reserves, for the caller's scope, the buffer from which a token goes through the ring, and
 * returns it. The buffers follow the slots (eager_layout.h). Slot and target select one, so that
 * all threads of the scope agree on it, and so that the write of the token before in the same slot
 * has completed (decision 0048).
 */
template <class SCOPE>
SHMEMI_D char *shmemi_eager_buffer_for(const struct shmemi_device_image *image, uint32_t call,
                                       const shmemx_eager_t *e, uint32_t slot, char *place, int pe)
{
    shmemi_eager_check_ring(image, call, e, place, pe);
    if (e->buffers == 0)
        shmemi_fault(image, SHMEMI_FAULT_KEEP, call, pe, (uint64_t)(uintptr_t)place, e->tile);
    const uint32_t number = (uint32_t)(((uint64_t)slot + (uint32_t)pe) % e->buffers);
    char *buffer = (char *)e->slots + (uint64_t)e->count * e->stride +
                   number * shmemi_eager_buffer(e->stride, e->tile);
    if (SCOPE::rank() == 0)
        shmemi_eager_reserve_buffer(image, buffer);
    SCOPE::sync();
    return buffer;
}

/* Writes the token in a buffer to its slot at PE pe, waits until the proxy or the NIC has read the
 * buffer, and makes it free. One thread of the scope calls it. */
SHMEMI_D void shmemi_eager_write_buffer(const struct shmemi_device_image *image, uint32_t call,
                                        const shmemx_eager_t *e, uint32_t slot, char *buffer,
                                        int pe)
{
    char *place = (char *)e->slots + (uint64_t)slot * e->stride;
    const char *bytes = buffer + shmemi_eager_head(e->tile);
    const uint32_t n = shmemi_eager_bytes(e->nbytes, e->tile);
    if (e->tile == SHMEMI_EAGER_NOTIFY)
        shmemi_put_notify_ring<0>(image, place, bytes, n,
                                  shmemi_eager_counter(image, call, e, slot), pe);
    else
        shmemi_put_range(image, place, bytes, n, pe);
    shmemi_eager_release_buffer(buffer);
}

/*
 * Sends the signals of a token, by one thread, after all its words have gone through the ring one
 * by one. The fence keeps them after the words. With SHMEMI_EAGER_NOTIFY it keeps the notification,
 * a put of no bytes, after the signal.
 */
SHMEMI_COLD void shmemi_eager_signals_ring(const struct shmemi_device_image *image, uint32_t call,
                                           shmemx_eager_t e, uint32_t slot, char *place,
                                           uint32_t epoch, int pe)
{
    const uint32_t nbytes = e.nbytes, tile = e.tile;
    const uint64_t signal = shmemi_eager_signal(nbytes, epoch);
    if (tile == SHMEMI_EAGER_NOTIFY)
        shmemi_p<uint64_t>(image, call,
                           (uint64_t *)(place + shmemi_eager_signal_at(0 /* tile */, nbytes, tile)),
                           signal, pe);
    shmemi_fence(image, call);
    if (tile == SHMEMI_EAGER_NOTIFY) {
        shmemi_put_notify_ring<0 /* NBI */>(image, NULL, NULL, 0,
                                            shmemi_eager_counter(image, call, &e, slot), pe);
        return;
    }
    for (uint32_t k = 0; k < shmemi_eager_tiles(nbytes, tile); k++)
        shmemi_p<uint64_t>(
            image, call, (uint64_t *)(place + shmemi_eager_signal_at(k, nbytes, tile)), signal, pe);
}

#endif

#endif
