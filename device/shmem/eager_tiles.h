/*
 * eager_tiles.h: copies of a token into tiles and out of them, by the threads of a scope: in a
 * slot, or in a buffer from which one write copies them to a slot.
 */
#ifndef SHMEM_EAGER_TILES_H
#define SHMEM_EAGER_TILES_H

#include "copy.h"
#include "eager_layout.h"

#ifdef SHMEMI_KERNEL

/*
 * A tile consists of units of the size of its signal: `per` of data, and then the signal. `unit` is
 * a type that moves one. So unit i of a token is at unit i + i / per of its slot.
 */
template <int TILE> struct shmemi_eager_units;
template <> struct shmemi_eager_units<SHMEMI_EAGER_PACKET> {
    typedef uint32_t unit;
    static constexpr uint32_t per = 1;
};
template <> struct shmemi_eager_units<SHMEMI_EAGER_LINE> {
    typedef uint64_t unit;
    static constexpr uint32_t per = 15;
};
template <> struct shmemi_eager_units<SHMEMI_EAGER_BLOCK> {
    typedef shmemi_wide unit;
    static constexpr uint32_t per = 255;
};

/* The data of two packets. */
#define SHMEMI_EAGER_PAIR (2 * SHMEMI_EAGER_PACKET_SIGNAL)

/* Loads bytes `at` to at + 7 of a token, or those up to its end, from a source of any alignment,
 * one byte after the other. */
SHMEMI_COLD uint64_t shmemi_eager_gather(const char *source, uint32_t at, uint32_t nbytes)
{
    uint64_t v = 0;
    for (uint32_t k = 0; k < SHMEMI_EAGER_PAIR && at + k < nbytes; k++) {
        uint8_t byte;
        shmemi_load_weak(source + at + k, &byte);
        v |= (uint64_t)byte << (8 * k);
    }
    return v;
}

/* Stores bytes `at` to at + 7 of a token, or those up to its end, to a destination of any
 * alignment, one byte after the other. */
SHMEMI_COLD void shmemi_eager_scatter(char *dest, uint32_t at, uint32_t nbytes, uint64_t v)
{
    for (uint32_t k = 0; k < SHMEMI_EAGER_PAIR && at + k < nbytes; k++)
        shmemi_store_weak(dest + at + k, (uint8_t)(v >> (8 * k)));
}

/*
 * Reports whether the 8 bytes at `at` are all within the token, and aligned at plain, so that one
 * access moves them.
 */
SHMEMI_D int shmemi_eager_is_word(const void *plain, uint32_t at, uint32_t nbytes)
{
    return at + SHMEMI_EAGER_PAIR <= nbytes && ((uintptr_t)plain & (SHMEMI_EAGER_PAIR - 1)) == 0;
}

/* Returns a packet, the smallest piece of a token: 4 bytes of data, and above them the token's
 * number in its slot (epoch). */
SHMEMI_D uint64_t shmemi_eager_packet(uint32_t data, uint32_t epoch)
{
    return (uint64_t)epoch << 32 | data;
}

/*
 * Stores a token as packets, each 4 bytes of data and the epoch, two in one store; a reader sees
 * each packet whole. Byte `at` of the token is in the packet at 2 * at, because half of a packet is
 * data. The loads of a batch are issued before its first store, because loads after a store would
 * wait for each other.
 */
template <class SCOPE>
SHMEMI_D void shmemi_eager_send_packets(char *to, const char *source, uint32_t nbytes,
                                        uint32_t epoch)
{
    const uint32_t step = SHMEMI_EAGER_PAIR * SCOPE::size();
#pragma unroll 1
    for (uint32_t i = SHMEMI_EAGER_PAIR * SCOPE::rank(); i < nbytes; i += SCOPE::batch * step) {
        uint64_t v[SCOPE::batch];
#pragma unroll
        for (uint32_t k = 0; k < SCOPE::batch; k++) {
            uint32_t at = i + k * step;
            if (shmemi_eager_is_word(source, at, nbytes))
                shmemi_load_weak(source + at, &v[k]);
            else
                v[k] = shmemi_eager_gather(source, at, nbytes);
        }
#pragma unroll
        for (uint32_t k = 0; k < SCOPE::batch; k++) {
            uint32_t at = i + k * step;
            uint64_t a = shmemi_eager_packet((uint32_t)v[k], epoch);
            if (at + SHMEMI_EAGER_PACKET_SIGNAL < nbytes)
                shmemi_store_slot(to + 2 * (uint64_t)at, a,
                                  shmemi_eager_packet((uint32_t)(v[k] >> 32), epoch));
            else if (at < nbytes)
                shmemi_store_element(to + 2 * (uint64_t)at, a);
        }
    }
}

/* The places of a token's units, for a copy out of its slot (OUT) or into it. */
template <int TILE, int OUT> struct shmemi_units_of_tiles {
    struct place {
        uint32_t to, from;
    };
    SHMEMI_D struct place at(uint32_t i)
    {
        typedef shmemi_eager_units<TILE> units;
        uint32_t plain = i * (uint32_t)sizeof(typename units::unit);
        uint32_t slot = (i + i / units::per) * (uint32_t)sizeof(typename units::unit);
        struct place p = {OUT ? plain : slot, OUT ? slot : plain};
        return p;
    }
};

/*
 * Does one thread's part of a copy into tiles or out of them (OUT) of the bytes that are not copied
 * by units: all bytes of a token whose plain side is not aligned to units, or the bytes after its
 * last whole unit. The copy begins at byte `at` of the token. It moves the largest elements that
 * divide the place and the length, one after the other: several loads at once would take registers
 * of every kernel that moves tokens. In the slot, data is aligned at least as it is in the token.
 */
template <int OUT>
SHMEMI_COLD void shmemi_eager_move_rest(char *slot, char *plain, uint32_t at, uint32_t nbytes,
                                        uint32_t tile, uint32_t rank, uint32_t step)
{
    const uint32_t width = shmemi_alignment((uint64_t)(uintptr_t)plain | at | nbytes);
#pragma unroll 1
    for (at += rank * width; at < nbytes; at += step * width) {
        char *in_slot = slot + shmemi_eager_data_at(at, nbytes, tile);
        shmemi_copy_element<0 /* FAR */>(width, OUT ? plain + at : in_slot,
                                         OUT ? in_slot : plain + at);
    }
}

/*
 * Copies the data of a token between memory without signals (plain) and the tiles of a slot, each
 * of which ends with a signal: out of the slot if OUT is 1. plain may have any alignment. The
 * source is never a peer's memory, so FAR is 0.
 */
template <class SCOPE, int TILE, int OUT>
SHMEMI_D void shmemi_eager_move_tiles(char *slot, char *plain, uint32_t nbytes)
{
    typedef typename shmemi_eager_units<TILE>::unit unit;
    constexpr uint32_t size = sizeof(unit);
    const uint32_t rank = SCOPE::rank(), step = SCOPE::size();
    const uint32_t n = ((uintptr_t)plain & (size - 1)) == 0 ? nbytes / size : 0;
    shmemi_copy_units<unit, 0 /* FAR */, SCOPE::batch>(
        shmemi_units_of_tiles<TILE, OUT>(), OUT ? plain : slot, OUT ? slot : plain, rank, n, step);
    if (n * size != nbytes)
        shmemi_eager_move_rest<OUT>(slot, plain, n * size, nbytes, TILE, rank, step);
}

/*
 * Stores the signals of a token, after all of its data: the threads of the scope synchronise, and
 * each thread that stores signals orders the writes of all threads before its signals.
 */
template <class SCOPE>
SHMEMI_D void shmemi_eager_signals(char *to, uint32_t nbytes, uint32_t tile, uint32_t epoch)
{
    uint32_t n = shmemi_eager_tiles(nbytes, tile), k = SCOPE::rank();
    SCOPE::sync();
    if (k >= n)
        return;
    shmemi_fence_system();
    for (; k < n; k += SCOPE::size())
        shmemi_store_element(to + shmemi_eager_signal_at(k, nbytes, tile),
                             shmemi_eager_signal(nbytes, epoch));
}

/* Lays a token out in tiles at `to`, a slot or a buffer: copies its data and stores the signal at
 * the end of each tile, after its data. tile is one of the sizes of tiles. The casts drop const for
 * a function that also copies the other way (OUT). */
template <class SCOPE>
SHMEMI_D void shmemi_eager_fill(char *to, const void *source, uint32_t nbytes, uint32_t tile,
                                uint32_t epoch)
{
    switch (tile) {
    case SHMEMI_EAGER_PACKET:
        shmemi_eager_send_packets<SCOPE>(to, (const char *)source, nbytes, epoch);
        return;
    case SHMEMI_EAGER_LINE:
        shmemi_eager_move_tiles<SCOPE, SHMEMI_EAGER_LINE, 0 /* OUT */>(to, (char *)source, nbytes);
        shmemi_eager_signals<SCOPE>(to, nbytes, SHMEMI_EAGER_LINE, epoch);
        return;
    default:
        shmemi_eager_move_tiles<SCOPE, SHMEMI_EAGER_BLOCK, 0 /* OUT */>(to, (char *)source, nbytes);
        shmemi_eager_signals<SCOPE>(to, nbytes, SHMEMI_EAGER_BLOCK, epoch);
    }
}

#endif

#endif
