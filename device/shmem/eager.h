/*
 * eager.h: eager transfers of kernels, by the threads of a scope: tokens, rows of bytes whose
 * signals travel within the bytes (eager_layout.h).
 *
 * A packet is one strong store of 8 bytes, which no reader sees in part, so packets need no fence.
 * Tiles are moved by weak stores; the threads synchronise, and those that store signals run a fence
 * of system scope before. A reader acquires each signal. Both are right by the memory model of the
 * GPU on every direct path. Through the ring a token is one write (eager_ring.h), or a put with a
 * signal.
 */
#ifndef SHMEM_EAGER_H
#define SHMEM_EAGER_H

#include "copy.h"
#include "eager_layout.h"
#include "eager_notify.h"
#include "eager_ring.h"
#include "eager_tiles.h"
#include "signal.h"
#include "wait.h"

#include <shmemx.h>

#ifdef SHMEMI_KERNEL

/* ---------------------------------------------------------------- arguments */

/* Returns the address of one of this PE's slots, each of which holds a token. Stops the kernel if
 * there is no such slot. */
SHMEMI_D char *shmemi_eager_slot(const struct shmemi_device_image *image, uint32_t call,
                                 const shmemx_eager_t *e, uint32_t slot)
{
    shmemi_check_init(image, call);
    if (slot >= e->count)
        shmemi_fault(image, SHMEMI_FAULT_SLOT, call, image->job.me, slot, e->count);
    char *at = (char *)e->slots + (uint64_t)slot * e->stride;
    shmemi_check_range(image, call, image->job.me, at, e->stride);
    return at;
}

/* Returns the size of the largest piece of a token (a tile) whose bytes arrive in order on the path
 * to a PE, so that the signal at its end arrives last. Where this GPU has an address for the start
 * of the PE's heap, it has one for all of it. */
SHMEMI_D int shmemi_eager_tile(const struct shmemi_device_image *image, uint32_t call, int pe)
{
    shmemi_check_pe(image, call, pe, NULL, 0 /* no range */);
    return shmemi_direct(image, (const void *)(uintptr_t)image->job.heap, pe) != NULL
               ? SHMEMI_EAGER_BLOCK
               : (int)shmemi_eager_ring_tile(image, pe);
}

/* Stops the kernel if tiles of this size do not exist, or if a token (the data of one eager
 * transfer) may not have nbytes bytes. */
SHMEMI_D void shmemi_eager_check_tile(const struct shmemi_device_image *image, uint32_t call,
                                      uint64_t nbytes, int tile)
{
    if (nbytes == 0 || nbytes > SHMEMI_EAGER_MOST)
        shmemi_fault(image, SHMEMI_FAULT_BYTES, call, image->job.me, 0 /* no address */, nbytes);
    if (!shmemi_eager_tile_valid(tile))
        shmemi_fault(image, SHMEMI_FAULT_NO_TILE, call, image->job.me, 0 /* no address */,
                     (uint64_t)(int64_t)tile);
}

/* Returns the bytes that a token of nbytes takes in a slot, its signals included, if it is laid out
 * in tiles of a size. */
SHMEMI_D size_t shmemi_eager_size(const struct shmemi_device_image *image, uint32_t call,
                                  size_t nbytes, int tile)
{
    shmemi_eager_check_tile(image, call, nbytes, tile);
    return shmemi_eager_bytes((uint32_t)nbytes, (uint32_t)tile);
}

/* Sends a token, the data of one eager transfer, to the slot of this number at PE pe. The signals
 * by which its reader finds it travel within its bytes, so no flag follows. epoch is the token's
 * number in its slot. A PE whose memory this GPU can address (`to`) gets the token by stores into
 * its slot; for another one it is laid out in a buffer of this PE, from which one write of the
 * network sends it. Only without tiles (SHMEMI_EAGER_NONE) it is a put with a signal on both paths.
 */
template <class SCOPE>
SHMEMI_D void shmemi_eager_send(const struct shmemi_device_image *image, uint32_t call,
                                const shmemx_eager_t *e, uint32_t slot, const void *source,
                                uint32_t epoch, int pe)
{
    /* At most five 16-byte loads of a thread are under way at once. Six took 68 registers on sm_75,
     * and a block of 1,024 threads has 64 for each. */
    typedef shmemi_fewer<SCOPE, 5> fewer;
    char *at = shmemi_eager_slot(image, call, e, slot), *buffer = NULL;
    char *to = shmemi_reach(image, call, at, e->stride, pe);
    const uint32_t nbytes = e->nbytes;
    if (e->tile == SHMEMI_EAGER_NONE) {
        shmemi_put_signal<fewer, 0 /* NBI */>(
            image, call, at, source, nbytes,
            (uint64_t *)(at +
                         shmemi_eager_signal_at(0 /* the only one */, nbytes, SHMEMI_EAGER_NONE)),
            shmemi_eager_signal(nbytes, epoch), SHMEMI_SIGNAL_SET, pe);
        return;
    }
    if (to == NULL && image->job.ring_count != 0) {
        buffer = shmemi_eager_buffer_for<SCOPE>(image, call, e, slot, at, pe);
        to = buffer + shmemi_eager_head(e->tile);
    }
    if (e->tile != SHMEMI_EAGER_NOTIFY) {
        shmemi_eager_fill<fewer>(to, source, nbytes, e->tile, epoch);
    } else {
        shmemi_copy<fewer, 0 /* FAR */>(to, source, nbytes);
        if (buffer == NULL)
            shmemi_eager_count<SCOPE>(image, shmemi_eager_counter(image, call, e, slot), at, to,
                                      nbytes, epoch);
        else if (SCOPE::rank() == 0)
            shmemi_store_element(
                to + shmemi_eager_signal_at(0 /* tile */, nbytes, SHMEMI_EAGER_NOTIFY),
                shmemi_eager_signal(nbytes, epoch));
    }
    if (buffer == NULL)
        return;
    SCOPE::sync(); /* the token is complete in the buffer */
    if (SCOPE::rank() == 0)
        shmemi_eager_write_buffer(image, call, e, slot, buffer, pe);
    SCOPE::sync();
}

/* ------------------------------------------------------------------- reading */

/* A token that a thread waits for: its slot, the size and epoch that are expected there, and what a
 * report of a wrong token needs. */
struct shmemi_eager_reading {
    const struct shmemi_device_image *image;
    char *slot;
    uint32_t call, nbytes, tile, epoch;
    int counter; /* of the slot, with SHMEMI_EAGER_NOTIFY */
};

/* Checks the arguments of a wait for a token, and returns what the functions that read its slot
 * need. */
SHMEMI_D struct shmemi_eager_reading shmemi_eager_read(const struct shmemi_device_image *image,
                                                       uint32_t call, const shmemx_eager_t *e,
                                                       uint32_t slot, uint32_t epoch)
{
    struct shmemi_eager_reading r;
    r.image = image;
    r.slot = shmemi_eager_slot(image, call, e, slot);
    r.call = call;
    r.nbytes = e->nbytes;
    r.tile = e->tile;
    r.epoch = epoch;
    r.counter = e->tile == SHMEMI_EAGER_NOTIFY ? shmemi_eager_counter(image, call, e, slot) : 0;
    return r;
}

/*
 * Stops the kernel because a slot has a token of another size, or of an epoch that is neither the
 * expected one nor the one before it. nbytes and epoch are expected; seen is the token's epoch, and
 * size its bytes, which count only if seen is the expected epoch. It takes values instead of a
 * struct shmemi_eager_reading, whose address would force the caller's values into memory.
 */
SHMEMI_COLD void shmemi_eager_refuse(const struct shmemi_device_image *image, uint32_t call,
                                     uint32_t nbytes, uint32_t epoch, uint32_t seen, uint32_t size)
{
    if (seen == epoch)
        shmemi_fault(image, SHMEMI_FAULT_TOKEN, call, image->job.me, size, nbytes);
    shmemi_fault(image, SHMEMI_FAULT_EPOCH, call, image->job.me, seen, epoch);
}

/*
 * Reports whether a slot's counter has counted the token of an epoch (the number of the token in
 * its slot). Each token adds 1, so the lower half of the counter is the epoch of the last one.
 * Stops the kernel if it has counted a later one. polls and *main are those of shmemi_notified: the
 * polls of a wait so far, and a copy of the counter's word in main memory.
 */
SHMEMI_D int shmemi_eager_counted(const struct shmemi_device_image *image, uint32_t call,
                                  int counter, uint32_t nbytes, uint32_t epoch, uint32_t polls,
                                  uint64_t *main)
{
    uint32_t seen = (uint32_t)shmemi_notified(image, counter, polls, main);
    enum shmemi_eager_found found = shmemi_eager_check_epoch(seen, epoch);
    if (found > SHMEMI_EAGER_NOT_YET)
        shmemi_eager_refuse(image, call, nbytes, epoch, seen, 0 /* size: not known */);
    return found == SHMEMI_EAGER_THERE;
}

/* Reports whether a slot's counter has counted the token with this number (epoch), by one check
 * that is not part of a wait. */
SHMEMI_COLD int shmemi_eager_is_counted(const struct shmemi_device_image *image, uint32_t call,
                                        int counter, uint32_t nbytes, uint32_t epoch)
{
    uint64_t main = 0;
    return shmemi_eager_counted(image, call, counter, nbytes, epoch, 0 /* polls so far */, &main);
}

/* Waits until a slot's counter has counted the token of an epoch: the network adds to it when the
 * token's bytes have arrived. */
SHMEMI_COLD void shmemi_eager_await_count(const struct shmemi_device_image *image, uint32_t call,
                                          int counter, uint32_t nbytes, uint32_t epoch)
{
    uint32_t polls = 0;
    uint64_t main = 0;
    while (!shmemi_eager_counted(image, call, counter, nbytes, epoch, polls, &main))
        shmemi_keep_waiting(image, &polls);
}

/*
 * Reports whether signal k of a token has arrived; the data before it is then visible. With
 * SHMEMI_EAGER_NOTIFY the slot's counter has counted the token before, so a signal that has not
 * arrived stops the kernel.
 */
SHMEMI_D int shmemi_eager_signal_arrived(const struct shmemi_eager_reading *r, uint32_t k)
{
    uint64_t seen;
    shmemi_load_flag(r->slot + shmemi_eager_signal_at(k, r->nbytes, r->tile), &seen);
    enum shmemi_eager_found found = shmemi_eager_check(seen, r->nbytes, r->epoch);
    if (found > SHMEMI_EAGER_NOT_YET ||
        (found == SHMEMI_EAGER_NOT_YET && r->tile == SHMEMI_EAGER_NOTIFY))
        shmemi_eager_refuse(r->image, r->call, r->nbytes, r->epoch, (uint32_t)seen,
                            (uint32_t)(seen >> 32));
    return found == SHMEMI_EAGER_THERE;
}

/*
 * Reports whether a packet, 4 bytes of data and an epoch, has the expected epoch. Stops the kernel
 * if the epoch is neither that one nor the one before it.
 */
SHMEMI_D int shmemi_eager_packet_arrived(const struct shmemi_eager_reading *r, uint64_t packet)
{
    uint32_t seen = (uint32_t)(packet >> 32);
    enum shmemi_eager_found found = shmemi_eager_check_epoch(seen, r->epoch);
    if (found > SHMEMI_EAGER_NOT_YET)
        shmemi_eager_refuse(r->image, r->call, r->nbytes, r->epoch, seen, 0 /* size: not known */);
    return found == SHMEMI_EAGER_THERE;
}

/*
 * Loads BATCH pairs of packets, those of the token's bytes first, first + step, ..., all at once,
 * and stores their data in v. A packet of 8 bytes has 4 bytes of data, so byte `at` of the token is
 * in the packet at 2 * at. Packets beyond the end of the token are not loaded, and count as
 * arrived. Returns 1 if all of them have arrived, else 0.
 */
template <uint32_t BATCH>
SHMEMI_D int shmemi_eager_load_pairs(const struct shmemi_eager_reading *r, uint32_t first,
                                     uint32_t step, uint64_t *v)
{
    int there = 1;
    uint64_t a[BATCH], b[BATCH];
#pragma unroll
    for (uint32_t k = 0; k < BATCH; k++) {
        uint32_t at = first + k * step;
        a[k] = b[k] = shmemi_eager_packet(0 /* data */, r->epoch);
        if (at + SHMEMI_EAGER_PACKET_SIGNAL < r->nbytes)
            shmemi_load_pair(r->slot + 2 * (uint64_t)at, &a[k], &b[k]);
        else if (at < r->nbytes)
            shmemi_load_element(r->slot + 2 * (uint64_t)at, &a[k]);
    }
#pragma unroll
    for (uint32_t k = 0; k < BATCH; k++) {
        there &= shmemi_eager_packet_arrived(r, a[k]) & shmemi_eager_packet_arrived(r, b[k]);
        v[k] = (uint32_t)a[k] | b[k] << 32;
    }
    return there;
}

/* Waits for this thread's packets of a token (4 bytes of data with the epoch each) and copies their
 * data to dest. If dest is NULL it only waits. */
template <class SCOPE>
SHMEMI_D void shmemi_eager_take_packets(const struct shmemi_eager_reading *r, char *dest)
{
    const uint32_t step = SHMEMI_EAGER_PAIR * SCOPE::size();
    uint32_t polls = 0;
#pragma unroll 1
    for (uint32_t i = SHMEMI_EAGER_PAIR * SCOPE::rank(); i < r->nbytes; i += SCOPE::batch * step) {
        uint64_t v[SCOPE::batch];
        while (!shmemi_eager_load_pairs<SCOPE::batch>(r, i, step, v))
            shmemi_keep_waiting(r->image, &polls);
        if (dest == NULL)
            continue;
#pragma unroll
        for (uint32_t k = 0; k < SCOPE::batch; k++) {
            uint32_t at = i + k * step;
            if (shmemi_eager_is_word(dest, at, r->nbytes))
                shmemi_store_weak(dest + at, v[k]);
            else
                shmemi_eager_scatter(dest, at, r->nbytes, v[k]);
        }
    }
}

/*
 * Does this thread's part of a wait for a token: the threads of the scope divide its packets, or
 * the signals of its tiles. A token without tiles (SHMEMI_EAGER_NONE, SHMEMI_EAGER_NOTIFY) has one
 * signal, which the first thread checks, after its wait for the counter if there is one.
 */
template <class SCOPE> SHMEMI_D void shmemi_eager_wait_part(const struct shmemi_eager_reading *r)
{
    uint32_t polls = 0;
    if (r->tile == SHMEMI_EAGER_PACKET) {
        shmemi_eager_take_packets<shmemi_fewer<SCOPE>>(r, NULL /* only wait */);
        return;
    }
    if (r->tile == SHMEMI_EAGER_NOTIFY && SCOPE::rank() == 0)
        shmemi_eager_await_count(r->image, r->call, r->counter, r->nbytes, r->epoch);
    const uint32_t n = shmemi_eager_tiles(r->nbytes, r->tile);
    for (uint32_t k = SCOPE::rank(); k < n; k += SCOPE::size())
        while (!shmemi_eager_signal_arrived(r, k))
            shmemi_keep_waiting(r->image, &polls);
}

/*
 * Waits until the token with this number (epoch) is complete in its slot, without copying it. When
 * the threads of the scope have synchronised, each sees the data whose signals the others have
 * acquired.
 */
template <class SCOPE>
SHMEMI_D void shmemi_eager_wait(const struct shmemi_device_image *image, uint32_t call,
                                const shmemx_eager_t *e, uint32_t slot, uint32_t epoch)
{
    struct shmemi_eager_reading r = shmemi_eager_read(image, call, e, slot, epoch);
    shmemi_eager_wait_part<SCOPE>(&r);
    SCOPE::sync();
}

/*
 * Reports to all threads of the scope whether the token with this number (epoch) is complete in its
 * slot. It does not wait for it.
 */
template <class SCOPE>
SHMEMI_D int shmemi_eager_ready(const struct shmemi_device_image *image, uint32_t call,
                                const shmemx_eager_t *e, uint32_t slot, uint32_t epoch)
{
    struct shmemi_eager_reading r = shmemi_eager_read(image, call, e, slot, epoch);
    int there = 1;
    if (r.tile == SHMEMI_EAGER_PACKET) {
        const uint32_t step = SHMEMI_EAGER_PAIR * SCOPE::size();
        for (uint32_t i = SHMEMI_EAGER_PAIR * SCOPE::rank(); there && i < r.nbytes;
             i += SCOPE::batch * step) {
            uint64_t v[SCOPE::batch];
            there = shmemi_eager_load_pairs<SCOPE::batch>(&r, i, step, v);
        }
    } else {
        const uint32_t n = shmemi_eager_tiles(r.nbytes, r.tile);
        if (r.tile == SHMEMI_EAGER_NOTIFY && SCOPE::rank() == 0)
            there = shmemi_eager_is_counted(r.image, r.call, r.counter, r.nbytes, r.epoch);
        for (uint32_t k = SCOPE::rank(); there && k < n; k += SCOPE::size())
            there = shmemi_eager_signal_arrived(&r, k);
    }
    return SCOPE::all(there);
}

/* Waits for the token with this number (epoch) in a slot and copies its data, without the signals,
 * to dest. Afterwards the slot may get another token. */
template <class SCOPE>
SHMEMI_D void shmemi_eager_recv(const struct shmemi_device_image *image, uint32_t call,
                                const shmemx_eager_t *e, uint32_t slot, void *dest, uint32_t epoch)
{
    struct shmemi_eager_reading r = shmemi_eager_read(image, call, e, slot, epoch);
    if (r.tile == SHMEMI_EAGER_PACKET) {
        shmemi_eager_take_packets<shmemi_fewer<SCOPE>>(&r, (char *)dest);
        SCOPE::sync();
        return;
    }
    shmemi_eager_wait_part<SCOPE>(&r);
    SCOPE::sync();
    if (r.tile == SHMEMI_EAGER_LINE)
        shmemi_eager_move_tiles<shmemi_fewer<SCOPE>, SHMEMI_EAGER_LINE, 1 /* OUT */>(
            r.slot, (char *)dest, r.nbytes);
    else if (r.tile == SHMEMI_EAGER_BLOCK)
        shmemi_eager_move_tiles<shmemi_fewer<SCOPE>, SHMEMI_EAGER_BLOCK, 1 /* OUT */>(
            r.slot, (char *)dest, r.nbytes);
    else
        shmemi_copy<shmemi_fewer<SCOPE>, 0 /* FAR */>(dest, r.slot, r.nbytes);
    SCOPE::sync(); /* the slot is free, and dest is complete, for all threads */
}

#endif

#endif
