/*
 * eager_parts.h: eager transfers for kernels that address memory themselves: single words of a
 * token in its slot, tokens that are laid out in tiles within a buffer of the kernel, and tokens in
 * shared memory.
 */
#ifndef SHMEM_EAGER_PARTS_H
#define SHMEM_EAGER_PARTS_H

#include "bulk.h"
#include "eager.h"

#ifdef SHMEMI_KERNEL

/* -------------------------------------------------------------------- words */

/* Stops the kernel if a word of a token, `size` bytes at offset `at` of its data, is not aligned,
 * or not within the token. */
SHMEMI_D void shmemi_eager_check_word(const struct shmemi_device_image *image, uint32_t call,
                                      const shmemx_eager_t *e, uint32_t at, uint32_t size)
{
    if (at % size != 0 || at > e->nbytes || size > e->nbytes - at)
        shmemi_fault(image, SHMEMI_FAULT_TOKEN, call, image->job.me, (uint64_t)at + size,
                     e->nbytes);
}

/* Returns one word, of 4 or 8 bytes, of a token that has arrived; `at` is its offset in the data.
 * A packet has 4 bytes of data and then the epoch, so byte `at` of the data is at 2 * at; a word of
 * 8 bytes is in two packets, whose epochs are left out. */
template <class T>
SHMEMI_D T shmemi_eager_load(const struct shmemi_device_image *image, uint32_t call,
                             const shmemx_eager_t *e, uint32_t slot, uint32_t at)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a word has 4 or 8 bytes");
    typedef typename shmemi_bits<sizeof(T)>::type bits;
    const char *from = shmemi_eager_slot(image, call, e, slot);
    bits v;
    shmemi_eager_check_word(image, call, e, at, sizeof(T));
    if (e->tile != SHMEMI_EAGER_PACKET) {
        shmemi_load_weak(from + shmemi_eager_data_at(at, e->nbytes, e->tile), &v);
        return shmemi_as<T>(v);
    }
    uint64_t a, b = 0;
    shmemi_load_element(from + 2 * (uint64_t)at, &a);
    if (sizeof(T) == 8)
        shmemi_load_element(from + 2 * (uint64_t)at + SHMEMI_EAGER_PACKET, &b);
    v = (bits)((uint32_t)a | b << 32);
    return shmemi_as<T>(v);
}

/* Writes one word of a token into a slot of PE pe. If the token is in packets, the word takes its
 * epoch along, and the reader sees it at once; otherwise the reader waits for the signals that
 * follow (shmemi_eager_signal_words). place is the slot's address on this GPU, by which the ring
 * names the slot at the PE, and `to` its address at the PE, or NULL. */
template <class T>
SHMEMI_D void shmemi_eager_store(const struct shmemi_device_image *image, uint32_t call,
                                 const shmemx_eager_t *e, uint32_t slot, uint32_t at, T value,
                                 uint32_t epoch, int pe)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a word has 4 or 8 bytes");
    typedef typename shmemi_bits<sizeof(T)>::type bits;
    char *place = shmemi_eager_slot(image, call, e, slot);
    char *to = shmemi_reach(image, call, place, e->stride, pe);
    const bits v = shmemi_as<bits>(value);
    shmemi_eager_check_word(image, call, e, at, sizeof(T));
    if (to == NULL)
        shmemi_eager_check_ring(image, call, e, place, pe);
    if (to == NULL && e->tile != SHMEMI_EAGER_PACKET) {
        shmemi_p<bits>(image, call, (bits *)(place + shmemi_eager_data_at(at, e->nbytes, e->tile)),
                       v, pe);
    } else if (to == NULL) {
        uint64_t *packet = (uint64_t *)(place + 2 * (uint64_t)at);
        shmemi_p<uint64_t>(image, call, packet, shmemi_eager_packet((uint32_t)v, epoch), pe);
        if (sizeof(T) == 8)
            shmemi_p<uint64_t>(image, call, packet + 1,
                               shmemi_eager_packet((uint32_t)((uint64_t)v >> 32), epoch), pe);
    } else if (e->tile != SHMEMI_EAGER_PACKET) {
        shmemi_store_weak(to + shmemi_eager_data_at(at, e->nbytes, e->tile), v);
    } else {
        uint64_t a = shmemi_eager_packet((uint32_t)v, epoch);
        if (sizeof(T) == 4)
            shmemi_store_element(to + 2 * (uint64_t)at, a);
        else
            shmemi_store_slot(to + 2 * (uint64_t)at, a,
                              shmemi_eager_packet((uint32_t)((uint64_t)v >> 32), epoch));
    }
}

/*
 * Completes a token, after its data were stored in a slot that this GPU can address: stores the
 * signals of its tiles, or one signal and a count in the slot's counter.
 */
template <class SCOPE>
SHMEMI_D void shmemi_eager_finish(const struct shmemi_device_image *image, uint32_t call,
                                  const shmemx_eager_t *e, uint32_t slot, const char *place,
                                  char *to, uint32_t epoch)
{
    if (e->tile == SHMEMI_EAGER_NOTIFY)
        shmemi_eager_count<SCOPE>(image, shmemi_eager_counter(image, call, e, slot), place, to,
                                  e->nbytes, epoch);
    else
        shmemi_eager_signals<SCOPE>(to, e->nbytes, e->tile, epoch);
}

/* Completes a token whose words the threads of a scope have stored one by one (shmemi_eager_store):
 * sends its signals after them. */
template <class SCOPE>
SHMEMI_D void shmemi_eager_signal_words(const struct shmemi_device_image *image, uint32_t call,
                                        const shmemx_eager_t *e, uint32_t slot, uint32_t epoch,
                                        int pe)
{
    char *place = shmemi_eager_slot(image, call, e, slot);
    char *to = shmemi_reach(image, call, place, e->stride, pe);
    if (e->tile == SHMEMI_EAGER_PACKET)
        return; /* a packet carries its epoch, so there are no other signals */
    if (to != NULL) {
        shmemi_eager_finish<SCOPE>(image, call, e, slot, place, to, epoch);
        return;
    }
    shmemi_eager_check_ring(image, call, e, place, pe);
    SCOPE::sync();
    if (SCOPE::rank() == 0)
        shmemi_eager_signals_ring(image, call, *e, slot, place, epoch, pe);
    SCOPE::sync();
}

/* ------------------------------------------------------------ change in place */

/*
 * Lays out a token at the start of a buffer in tiles, with its signals, in place. Units move up to
 * make space for signals, the last ones first; shmemi_eager_gather_units moves them back, the first
 * ones first. At a time one unit moves for each thread: those that a step overwrites were moved by
 * earlier steps or are in registers. All threads take all steps, because they synchronise in each.
 * The buffer is aligned to a unit and has space for shmemi_eager_bytes: the last unit is loaded
 * whole, also if the token ends within it.
 */
template <class SCOPE, int TILE>
SHMEMI_D void shmemi_eager_spread(char *buffer, uint32_t nbytes, uint32_t epoch)
{
    typedef typename shmemi_eager_units<TILE>::unit unit;
    constexpr uint32_t per = shmemi_eager_units<TILE>::per, size = sizeof(unit);
    const uint32_t n = (nbytes + size - 1) / size, step = SCOPE::size();
    SCOPE::sync();
    for (uint32_t end = n; end > 0; end = end > step ? end - step : 0) {
        const uint32_t i = (end > step ? end - step : 0) + SCOPE::rank();
        unit v = unit();
        if (i < end)
            shmemi_load_weak(buffer + i * (uint64_t)size, &v);
        SCOPE::sync();
        if (i < end)
            shmemi_store_weak(buffer + (i + i / per) * (uint64_t)size, v);
        SCOPE::sync();
    }
    for (uint32_t k = SCOPE::rank(); k < shmemi_eager_tiles(nbytes, TILE); k += step) {
        char *at = buffer + shmemi_eager_signal_at(k, nbytes, TILE);
        if (TILE == SHMEMI_EAGER_PACKET) {
            shmemi_store_weak(at, epoch);
        } else {
            shmemi_store_weak(at, shmemi_eager_signal(nbytes, epoch));
            if (TILE == SHMEMI_EAGER_BLOCK) /* its signal has 16 bytes, the others are 0 */
                shmemi_store_weak(at + 8, (uint64_t)0);
        }
    }
    SCOPE::sync();
}

/* Moves the data of a token in tiles together at the start of its buffer, over the signals: it
 * undoes shmemi_eager_spread. */
template <class SCOPE, int TILE>
SHMEMI_D void shmemi_eager_gather_units(char *buffer, uint32_t nbytes)
{
    typedef typename shmemi_eager_units<TILE>::unit unit;
    constexpr uint32_t per = shmemi_eager_units<TILE>::per, size = sizeof(unit);
    const uint32_t n = (nbytes + size - 1) / size, step = SCOPE::size();
    SCOPE::sync();
    for (uint32_t first = 0; first < n; first += step) {
        const uint32_t i = first + SCOPE::rank();
        unit v = unit();
        if (i < n)
            shmemi_load_weak(buffer + (i + i / per) * (uint64_t)size, &v);
        SCOPE::sync();
        if (i < n)
            shmemi_store_weak(buffer + i * (uint64_t)size, v);
        SCOPE::sync();
    }
}

/*
 * Converts the data at the start of a buffer, in place, into what a slot has for them: the data
 * with signals between (a token in tiles), or without tiles with one signal after them.
 * shmemi_eager_unwrap converts it back.
 */
template <class SCOPE>
SHMEMI_D void shmemi_eager_wrap(const struct shmemi_device_image *image, uint32_t call,
                                void *buffer, size_t nbytes, int tile, uint32_t epoch)
{
    shmemi_eager_check_tile(image, call, nbytes, tile);
    char *at = (char *)buffer;
    uint32_t n = (uint32_t)nbytes;
    if (tile == SHMEMI_EAGER_PACKET) {
        shmemi_eager_spread<SCOPE, SHMEMI_EAGER_PACKET>(at, n, epoch);
    } else if (tile == SHMEMI_EAGER_LINE) {
        shmemi_eager_spread<SCOPE, SHMEMI_EAGER_LINE>(at, n, epoch);
    } else if (tile == SHMEMI_EAGER_BLOCK) {
        shmemi_eager_spread<SCOPE, SHMEMI_EAGER_BLOCK>(at, n, epoch);
    } else {
        SCOPE::sync();
        if (SCOPE::rank() == 0) {
            at += shmemi_eager_signal_at(0 /* tile */, n, SHMEMI_EAGER_NONE);
            shmemi_store_weak(at, shmemi_eager_signal(n, epoch));
            shmemi_store_weak(at + 8, (uint64_t)0);
        }
        SCOPE::sync();
    }
}

/* Converts the bytes of a slot, which the program has copied to the start of a buffer, back into
 * the data without signals. */
template <class SCOPE>
SHMEMI_D void shmemi_eager_unwrap(const struct shmemi_device_image *image, uint32_t call,
                                  void *buffer, size_t nbytes, int tile)
{
    shmemi_eager_check_tile(image, call, nbytes, tile);
    char *at = (char *)buffer;
    uint32_t n = (uint32_t)nbytes;
    if (tile == SHMEMI_EAGER_PACKET)
        shmemi_eager_gather_units<SCOPE, SHMEMI_EAGER_PACKET>(at, n);
    else if (tile == SHMEMI_EAGER_LINE)
        shmemi_eager_gather_units<SCOPE, SHMEMI_EAGER_LINE>(at, n);
    else if (tile == SHMEMI_EAGER_BLOCK)
        shmemi_eager_gather_units<SCOPE, SHMEMI_EAGER_BLOCK>(at, n);
    else
        SCOPE::sync(); /* without tiles the data is in its place */
}

/* ------------------------------------------------------- tokens in shared memory
 *
 * A token is the data of one eager transfer, in a slot laid out in tiles that end with a signal. */

/*
 * Reports whether bulk copies can move a token: its address and the data of each tile are at
 * multiples of 16. The GPU stops a program whose bulk copy has another address.
 */
SHMEMI_D int shmemi_eager_in_bulk(const shmemx_eager_t *e, const void *shared)
{
    return (e->tile == SHMEMI_EAGER_BLOCK || e->tile < SHMEMI_EAGER_PACKET) &&
           (uintptr_t)shared % SHMEMI_EAGER_BLOCK_SIGNAL == 0;
}

/*
 * Sends a token from shared memory by a block. If the GPU has bulk copies (TMA, since sm_90) and
 * the token and the data of each tile are at multiples of 16, a bulk copy moves the data of each
 * tile from its place in the token to its place in the slot. The last copy is rounded up to 16
 * bytes, to which `shared` has space, and the slot, too, before the signal. The copies have no
 * order, so the signals follow when all are complete. `to` is the slot's address at PE pe.
 */
SHMEMI_D void shmemi_eager_send_shared(const struct shmemi_device_image *image, uint32_t call,
                                       const shmemx_eager_t *e, uint32_t slot, const void *shared,
                                       uint32_t epoch, int pe)
{
    shmemi_by_block::sync();
#ifdef SHMEMI_BULK
    char *place = shmemi_eager_slot(image, call, e, slot);
    char *to = shmemi_reach(image, call, place, e->stride, pe);
    if (to != NULL && shmemi_eager_in_bulk(e, shared)) {
        const uint32_t nbytes = e->nbytes, data = shmemi_eager_data(nbytes, e->tile);
        if (shmemi_by_block::rank() == 0) {
            shmemi_bulk_fence();
#pragma unroll 1
            for (uint32_t k = 0, at = 0; at < nbytes; k++, at += data)
                shmemi_bulk_store(to + (uint64_t)k * e->tile, (const char *)shared + at,
                                  nbytes - at < data ? shmemi_eager_up(nbytes - at, 16) : data);
            shmemi_bulk_stored();
        }
        shmemi_eager_finish<shmemi_by_block>(image, call, e, slot, place, to, epoch);
        return;
    }
#endif
    shmemi_eager_send<shmemi_by_block>(image, call, e, slot, shared, epoch, pe);
    shmemi_by_block::sync(); /* the threads have read shared */
}

/* Waits for a token and copies its data into the shared memory of the block. If the GPU has bulk
 * copies (TMA, since sm_90) and shared and the data of each tile are at multiples of 16, it uses
 * them. */
SHMEMI_D void shmemi_eager_recv_shared(const struct shmemi_device_image *image, uint32_t call,
                                       const shmemx_eager_t *e, uint32_t slot, void *shared,
                                       uint32_t epoch)
{
#ifdef SHMEMI_BULK
    __shared__ uint64_t barrier;
    if (shmemi_eager_in_bulk(e, shared)) {
        struct shmemi_eager_reading r = shmemi_eager_read(image, call, e, slot, epoch);
        const uint32_t nbytes = e->nbytes, data = shmemi_eager_data(nbytes, e->tile);
        shmemi_eager_wait_part<shmemi_by_block>(&r);
        shmemi_by_block::sync(); /* the token is there, and the threads have used shared before */
        if (shmemi_by_block::rank() == 0) {
            shmemi_bulk_expect(&barrier, shmemi_eager_up(nbytes, 16));
#pragma unroll 1
            for (uint32_t k = 0, at = 0; at < nbytes; k++, at += data)
                shmemi_bulk_load((char *)shared + at, r.slot + (uint64_t)k * e->tile,
                                 nbytes - at < data ? shmemi_eager_up(nbytes - at, 16) : data,
                                 &barrier);
        }
        shmemi_by_block::sync(); /* the barrier is initialised */
        shmemi_bulk_await(&barrier);
        shmemi_by_block::sync(); /* no thread waits at the barrier any more */
        if (shmemi_by_block::rank() == 0)
            shmemi_bulk_end(&barrier);
        shmemi_by_block::sync(); /* the next call may initialise it */
        return;
    }
#endif
    shmemi_eager_recv<shmemi_by_block>(image, call, e, slot, shared, epoch);
}

#endif

#endif
