/*
 * eager_layout.h: where the bytes and the signals of eager transfers are: one header for kernels,
 * for threads of the host, and for programs that fill or read slots themselves.
 *
 * A slot holds one token, in tiles. A tile has data and then a signal: the epoch, and above it the
 * size of the token. On a path where the bytes of a tile become visible in the order of their
 * addresses, the signal arrives last, so a reader that finds the signal of its epoch finds the
 * data. The last tile is short: its signal follows the rest of the data, which is rounded up to the
 * size of a signal.
 *
 *   tile   data   signal
 *   4096   4080   16      epoch (4), size (4), 0 (8)
 *    128    120    8      epoch (4), size (4)
 *      8      4    4      epoch
 *      1    all   16      as 4096: one write, and a notification that arrives with it
 *      0    all   16      as 4096: a put, and a signal that follows it
 *
 * A slot begins at a multiple of its tile. Tokens of a slot have one size, so the places of signals
 * never hold data, and nothing is cleared between two tokens.
 *
 * The functions take a valid tile (shmemi_eager_tile_valid) and 1 to SHMEMI_EAGER_MOST bytes of a
 * token (nbytes): so no number below is divided by 0, and all places fit into 32 bits. Without
 * tiles (0 and 1) all of the data counts as one tile, number 0.
 */
#ifndef SHMEM_EAGER_LAYOUT_H
#define SHMEM_EAGER_LAYOUT_H

#include "zz_wire.h"

/*
 * Reports whether a token may be laid out in tiles of a size, each of which has data and then a
 * signal.
 */
SHMEMI_HD int shmemi_eager_tile_valid(int64_t tile)
{
    return tile == SHMEMI_EAGER_NONE || tile == SHMEMI_EAGER_NOTIFY ||
           tile == SHMEMI_EAGER_PACKET || tile == SHMEMI_EAGER_LINE || tile == SHMEMI_EAGER_BLOCK;
}

/*
 * Returns the bytes of the signal at the end of a tile, a piece of a token. Data is moved in units
 * of the same size.
 */
SHMEMI_HD uint32_t shmemi_eager_unit(uint32_t tile)
{
    return tile == SHMEMI_EAGER_PACKET ? SHMEMI_EAGER_PACKET_SIGNAL
           : tile == SHMEMI_EAGER_LINE ? SHMEMI_EAGER_LINE_SIGNAL
                                       : SHMEMI_EAGER_BLOCK_SIGNAL;
}

/* Returns n, rounded up to a multiple of `to`. */
SHMEMI_HD uint32_t shmemi_eager_up(uint32_t n, uint32_t to)
{
    return (n + to - 1) / to * to;
}

/* Returns how many bytes of a token's data each of its tiles has, without the signal. The last tile
 * may have fewer. */
SHMEMI_HD uint32_t shmemi_eager_data(uint32_t nbytes, uint32_t tile)
{
    return tile < SHMEMI_EAGER_PACKET ? shmemi_eager_up(nbytes, SHMEMI_EAGER_BLOCK_SIGNAL)
                                      : tile - shmemi_eager_unit(tile);
}

/* Returns the number of tiles, each with a signal, in which a token of nbytes is laid out. */
SHMEMI_HD uint32_t shmemi_eager_tiles(uint32_t nbytes, uint32_t tile)
{
    uint32_t data = shmemi_eager_data(nbytes, tile);
    return (nbytes + data - 1) / data;
}

/* Returns where the signal of tile k begins, in bytes from the start of the slot: after the data of
 * the tile. */
SHMEMI_HD uint32_t shmemi_eager_signal_at(uint32_t k, uint32_t nbytes, uint32_t tile)
{
    uint32_t data = shmemi_eager_data(nbytes, tile), rest = nbytes - k * data;
    return k * tile + (rest < data ? shmemi_eager_up(rest, shmemi_eager_unit(tile)) : data);
}

/* Returns where byte `at` of a token's data is, in bytes from the start of the slot: the signals of
 * earlier tiles are before it. */
SHMEMI_HD uint32_t shmemi_eager_data_at(uint32_t at, uint32_t nbytes, uint32_t tile)
{
    uint32_t data = shmemi_eager_data(nbytes, tile);
    return at / data * tile + at % data;
}

/* Returns how many bytes of a slot a token of nbytes takes, with the signals of its tiles. */
SHMEMI_HD uint32_t shmemi_eager_bytes(uint32_t nbytes, uint32_t tile)
{
    return shmemi_eager_signal_at(shmemi_eager_tiles(nbytes, tile) - 1, nbytes, tile) +
           shmemi_eager_unit(tile);
}

/* Returns the distance in bytes from a slot to the next: whole tiles of SHMEMI_EAGER_BLOCK or
 * SHMEMI_EAGER_LINE bytes, also for shorter tiles, so that no cache line is in two slots. */
SHMEMI_HD uint32_t shmemi_eager_stride(uint32_t nbytes, uint32_t tile)
{
    return shmemi_eager_up(shmemi_eager_bytes(nbytes, tile),
                           tile == SHMEMI_EAGER_BLOCK ? SHMEMI_EAGER_BLOCK : SHMEMI_EAGER_LINE);
}

/*
 * A buffer holds a token, laid out with its signals, before one write copies it to a slot. A PE's
 * buffers follow its slots. A buffer has a head, in cache lines of its own, and the bytes of a
 * slot, which begin at a multiple of the tile, as slots do. So no tile is in two parts of a heap
 * that has grown, even if a part ends within the buffers. The head begins with the state, a word of
 * 32 bits. A kernel waits for the write of a buffer; the host may do other work while it is under
 * way.
 */
enum shmemi_eager_buffer_state {
    SHMEMI_EAGER_FREE,     /* as at first: the memory is zero */
    SHMEMI_EAGER_TAKEN,    /* the thread that has set this owns the buffer */
    SHMEMI_EAGER_UNDER_WAY /* of the host alone: a write for which no thread waits */
};

/* Returns the size of a buffer's head, which precedes the token that the buffer holds. */
SHMEMI_HD uint32_t shmemi_eager_head(uint32_t tile)
{
    return tile == SHMEMI_EAGER_BLOCK ? SHMEMI_EAGER_BLOCK : SHMEMI_EAGER_LINE;
}

/* Returns the bytes of a buffer in which a token is laid out before one write sends it, with the
 * buffer's head. */
SHMEMI_HD uint64_t shmemi_eager_buffer(uint32_t stride, uint32_t tile)
{
    return shmemi_eager_head(tile) + (uint64_t)stride;
}

/*
 * Returns the first 8 bytes of a tile's signal: the epoch, which counts the tokens of a slot, and
 * above it the size of the token. A packet's signal is the epoch alone.
 */
SHMEMI_HD uint64_t shmemi_eager_signal(uint32_t nbytes, uint32_t epoch)
{
    return (uint64_t)nbytes << 32 | epoch;
}

/* The result of the check of a signal by a reader that waits for an epoch. */
enum shmemi_eager_found {
    SHMEMI_EAGER_THERE,    /* the data of the tile has arrived */
    SHMEMI_EAGER_NOT_YET,  /* the slot has the epoch before */
    SHMEMI_EAGER_SKIPPED,  /* the slot has another epoch */
    SHMEMI_EAGER_DIFFERENT /* the token has another size */
};

/* Compares the epoch in a signal with the one that a reader of the slot waits for. */
SHMEMI_HD enum shmemi_eager_found shmemi_eager_check_epoch(uint32_t seen, uint32_t epoch)
{
    return seen == epoch       ? SHMEMI_EAGER_THERE
           : seen + 1 == epoch ? SHMEMI_EAGER_NOT_YET
                               : SHMEMI_EAGER_SKIPPED;
}

/*
 * Compares the first 8 bytes of a signal with the size and the epoch that a reader of the slot
 * waits for.
 */
SHMEMI_HD enum shmemi_eager_found shmemi_eager_check(uint64_t seen, uint32_t nbytes, uint32_t epoch)
{
    enum shmemi_eager_found found = shmemi_eager_check_epoch((uint32_t)seen, epoch);
    return found == SHMEMI_EAGER_THERE && seen >> 32 != nbytes ? SHMEMI_EAGER_DIFFERENT : found;
}

#endif
