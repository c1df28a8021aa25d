/*
 * tile.h: parts of arrays of up to five dimensions with different strides in two memories: copied
 * to a PE or from one, sent to all of a team, and reduced over it. Sizes and distances are bytes,
 * except those of an extent, so that one function serves all types.
 *
 * Loads and stores move the data if this GPU can address the PE's memory, and all threads of the
 * scope share the elements of all rows. Through a ring the data is moved row by row, and one thread
 * pushes each row.
 */
#ifndef SHMEM_TILE_H
#define SHMEM_TILE_H

#include "reduce.h"
#include "rma.h"

#ifdef SHMEMI_KERNEL

#define SHMEMI_TILE_DIMS 5

/*
 * The caller's description of a tile: for each dimension the number of elements, and the distance
 * from one to the next at the destination and at the source, in elements. A dimension that the tile
 * lacks has one element; with 0 elements or fewer in any dimension the tile is empty.
 */
struct shmemi_extent {
    int64_t n[SHMEMI_TILE_DIMS], to[SHMEMI_TILE_DIMS], from[SHMEMI_TILE_DIMS];
    int major; /* the dimension whose elements are contiguous, if there is one */
};

/* A set of rows, each of them contiguous on both sides of a copy. */
struct shmemi_rows {
    uint64_t bytes, count;
    int64_t to, from; /* bytes from a row to the next */
};

/* A tile: a set of rows that repeats along the dimensions with a count of more than 1. */
struct shmemi_tile {
    struct shmemi_rows rows;
    uint64_t count[SHMEMI_TILE_DIMS];
    int64_t to[SHMEMI_TILE_DIMS], from[SHMEMI_TILE_DIMS];
};

/*
 * Makes one longer row of the rows along dimension d, if they follow each other without a gap on
 * both sides: longer rows are copied faster.
 */
SHMEMI_D void shmemi_tile_join(struct shmemi_tile *t, int d)
{
    if (t->count[d] > 1 && t->to[d] == (int64_t)t->rows.bytes &&
        t->from[d] == (int64_t)t->rows.bytes) {
        t->rows.bytes *= t->count[d];
        t->count[d] = 1;
    }
}

/*
 * Divides an extent into a row, the rows of a set, and the repeats of the set. size: bytes of an
 * element. Not inlined, and its result stays in memory: with all of it in registers a kernel would
 * need more than each of 1024 threads has.
 */
SHMEMI_COLD void shmemi_tile_of(struct shmemi_tile *t, const struct shmemi_extent *e, uint64_t size)
{
    t->rows.bytes = size;
    t->rows.count = 1;
    t->rows.to = 0;
    t->rows.from = 0;
#pragma unroll 1
    for (int d = 0; d < SHMEMI_TILE_DIMS; d++) {
        t->count[d] = e->n[d] > 0 ? (uint64_t)e->n[d] : 0;
        t->to[d] = e->to[d] * (int64_t)size;
        t->from[d] = e->from[d] * (int64_t)size;
        if (t->count[d] == 0)
            t->rows.count = 0;
    }
    /* Row-major and column-major tiles: in either order of the dimensions. */
    shmemi_tile_join(t, e->major);
#pragma unroll 1
    for (int d = 0; d < SHMEMI_TILE_DIMS; d++)
        shmemi_tile_join(t, d);
#pragma unroll 1
    for (int d = SHMEMI_TILE_DIMS - 1; d >= 0; d--)
        shmemi_tile_join(t, d);
#pragma unroll 1
    for (int d = 0; d < SHMEMI_TILE_DIMS; d++)
        if (t->count[d] > 1) {
            t->rows.count *= t->count[d];
            t->rows.to = t->to[d];
            t->rows.from = t->from[d];
            t->count[d] = 1;
            break;
        }
}

/* Returns the number of repeats of a tile's set of rows; 0 for an empty tile. */
SHMEMI_D uint64_t shmemi_tile_groups(const struct shmemi_tile *t)
{
    uint64_t n = t->rows.count != 0;
#pragma unroll
    for (int d = 0; d < SHMEMI_TILE_DIMS; d++)
        n *= t->count[d];
    return n;
}

/*
 * Returns the distance in bytes of the rows of one repeat from those of the first. Most tiles have
 * one repeat.
 */
SHMEMI_COLD struct shmemi_place shmemi_tile_place_of(const struct shmemi_tile *t, uint64_t group)
{
    struct shmemi_place at = {0, 0};
#pragma unroll 1
    for (int d = 0; d < SHMEMI_TILE_DIMS; d++)
        if (t->count[d] > 1) {
            int64_t i = (int64_t)(group % t->count[d]);
            group /= t->count[d];
            at.to += i * t->to[d];
            at.from += i * t->from[d];
        }
    return at;
}

/* Returns the distance in bytes of the rows of one repeat of a tile from those of the first. */
SHMEMI_D struct shmemi_place shmemi_tile_place(const struct shmemi_tile *t, uint64_t group)
{
    struct shmemi_place at = {0, 0};
    return group == 0 ? at : shmemi_tile_place_of(t, group);
}

/*
 * With SHMEM_CHECKS=full (job.checks is 2): stops the kernel if the tile at address is not within
 * the user heap. at_dest: address is the tile's destination, else its source. The range begins at
 * the lowest address, which is before `address` if a distance is negative. In the loop, -1 stands
 * for the rows of the set, and the other numbers for the dimensions along which it repeats.
 */
SHMEMI_COLD void shmemi_tile_check(const struct shmemi_device_image *image, uint32_t call, int pe,
                                   const struct shmemi_tile *t, const char *address, int at_dest)
{
    uint64_t last = t->rows.bytes;
    if (image->job.checks <= 1 || shmemi_tile_groups(t) == 0)
        return;
    for (int d = -1; d < SHMEMI_TILE_DIMS; d++) {
        uint64_t count = d < 0 ? t->rows.count : t->count[d];
        int64_t to = d < 0 ? t->rows.to : t->to[d], from = d < 0 ? t->rows.from : t->from[d];
        int64_t beyond = (int64_t)(count - 1) * (at_dest ? to : from);
        address += beyond < 0 ? beyond : 0;
        last += (uint64_t)(beyond < 0 ? -beyond : beyond);
    }
    shmemi_check_range(image, call, pe, address, last);
}

/* Returns the tile that a put has written, described as a source: the strides of the destination
 * are now on both sides. */
SHMEMI_D struct shmemi_tile shmemi_tile_again(const struct shmemi_tile *t)
{
    struct shmemi_tile again = *t;
    again.rows.from = again.rows.to;
#pragma unroll
    for (int d = 0; d < SHMEMI_TILE_DIMS; d++)
        again.from[d] = again.to[d];
    return again;
}

/* Returns the bytes of the widest word, up to 16, that divides the addresses, the strides and the
 * length of all rows on both sides. */
SHMEMI_D uint32_t shmemi_rows_unit(const struct shmemi_rows *r, const void *to, const void *from)
{
    uint64_t bits = (uint64_t)(uintptr_t)to | (uint64_t)(uintptr_t)from | r->bytes;
    return shmemi_alignment(r->count > 1 ? bits | (uint64_t)r->to | (uint64_t)r->from : bits);
}

/* Returns the quotient and sets *rest to the remainder. If both numbers fit into 32 bits, it uses a
 * division of 32 bits, which is much faster on a GPU. */
SHMEMI_D uint64_t shmemi_divide(uint64_t i, uint64_t by, uint64_t *rest)
{
    if (((i | by) >> 32) == 0) {
        *rest = (uint32_t)i % (uint32_t)by;
        return (uint32_t)i / (uint32_t)by;
    }
    *rest = i % by;
    return i / by;
}

/* The places of words that are counted over all rows. */
template <class W> struct shmemi_words_of_rows {
    typedef struct shmemi_place place;
    uint64_t across;         /* words of a row */
    int64_t down, down_from; /* bytes from a row to the next, on either side */
    __device__ __forceinline__ struct shmemi_place at(uint64_t i) const
    {
        uint64_t column, row = shmemi_divide(i, across, &column);
        struct shmemi_place p = {(int64_t)(row * down + column * sizeof(W)),
                                 (int64_t)(row * down_from + column * sizeof(W))};
        return p;
    }
};

/* Copies rows by words of type W, which must divide them; each thread of the scope copies its part.
 * FAR: the source is a peer's memory. */
template <class SCOPE, class W, int FAR>
SHMEMI_D void shmemi_rows_words(const struct shmemi_rows *r, char *to, const char *from)
{
    const struct shmemi_words_of_rows<W> words = {
        r->bytes / sizeof(W), r->to, r->from
    };
    shmemi_copy_units<W, FAR, 4 /* BATCH */>(words, to, from, (uint64_t)SCOPE::rank(),
                                             words.across * r->count, (uint64_t)SCOPE::size());
}

/*
 * Copies rows by the widest words that divide them. The last bytes of a single row are copied
 * separately, so that they do not make all words narrow. It does not call shmemi_copy: the
 * registers of all functions in the call chain add up.
 */
template <class SCOPE, int FAR>
SHMEMI_COLD void shmemi_rows_copy(const struct shmemi_rows *r, char *to, const char *from)
{
    struct shmemi_rows part = *r;
    uint64_t rest = part.count == 1 && part.bytes > 16 ? part.bytes & 15 : 0;
    part.bytes -= rest;
#pragma unroll 1
    for (;;) {
        switch (shmemi_rows_unit(&part, to, from)) {
        case 1:
            shmemi_rows_words<SCOPE, uint8_t, FAR>(&part, to, from);
            break;
        case 2:
            shmemi_rows_words<SCOPE, uint16_t, FAR>(&part, to, from);
            break;
        case 4:
            shmemi_rows_words<SCOPE, uint32_t, FAR>(&part, to, from);
            break;
        case 8:
            shmemi_rows_words<SCOPE, uint64_t, FAR>(&part, to, from);
            break;
        default:
            shmemi_rows_words<SCOPE, shmemi_wide, FAR>(&part, to, from);
        }
        if (rest == 0)
            return;
        to += part.bytes;
        from += part.bytes;
        part.bytes = rest;
        rest = 0;
    }
}

/* Copies a tile by loads and stores. Each thread of the scope copies its part, and they are not
 * synchronised. FAR: the source is a peer's memory. */
template <class SCOPE, int FAR>
SHMEMI_D void shmemi_tile_copy(const struct shmemi_tile *t, char *to, const char *from)
{
    uint64_t groups = shmemi_tile_groups(t);
#pragma unroll 1
    for (uint64_t g = 0; g < groups; g++) {
        struct shmemi_place at = shmemi_tile_place(t, g);
        shmemi_rows_copy<SCOPE, FAR>(&t->rows, to + at.to, from + at.from);
    }
}

/* Puts rows to a PE whose memory this GPU cannot address: each thread pushes some of the rows into
 * its ring. The threads have synchronised since the source was written. */
template <class SCOPE>
SHMEMI_D void shmemi_rows_send(const struct shmemi_device_image *image, const struct shmemi_rows *r,
                               char *dest, const char *source, int pe)
{
#pragma unroll 1
    for (uint64_t i = SCOPE::rank(); i < r->count; i += SCOPE::size())
        shmemi_put_ring<1 /* NBI */>(image, dest + (int64_t)i * r->to,
                                     source + (int64_t)i * r->from, r->bytes, pe);
}

/* Begins to get rows from a PE whose memory this GPU cannot address: each thread pushes some of the
 * rows into its ring. A quiet completes them. dest and source are addresses in this PE's memory. */
template <class SCOPE>
SHMEMI_D void shmemi_rows_fetch(const struct shmemi_device_image *image,
                                const struct shmemi_rows *r, char *dest, const char *source, int pe)
{
#pragma unroll 1
    for (uint64_t i = SCOPE::rank(); i < r->count; i += SCOPE::size())
        shmemi_send_get<1 /* NBI */>(image, dest + (int64_t)i * r->to,
                                     shmemi_offset(image, source + (int64_t)i * r->from), r->bytes,
                                     pe);
}

/* Puts a tile through rings, row by row, to a PE whose memory this GPU cannot address. A tile is a
 * set of rows that repeats along its outer dimensions; groups counts the repeats. */
template <class SCOPE>
SHMEMI_D void shmemi_tile_send(const struct shmemi_device_image *image, const struct shmemi_tile *t,
                               char *dest, const char *source, int pe)
{
    uint64_t groups = shmemi_tile_groups(t);
#pragma unroll 1
    for (uint64_t g = 0; g < groups; g++) {
        struct shmemi_place at = shmemi_tile_place(t, g);
        shmemi_rows_send<SCOPE>(image, &t->rows, dest + at.to, source + at.from, pe);
    }
}

/* Puts a tile to PE pe, by stores if this GPU can address the PE's memory. It is nonblocking:
 * through a ring it is complete after a quiet. shmemi_tile_check checks the range, so shmemi_reach
 * gets none (0 bytes). */
template <class SCOPE>
SHMEMI_D void shmemi_tile_put(const struct shmemi_device_image *image, uint32_t call,
                              const struct shmemi_tile *t, char *dest, const char *source, int pe)
{
    char *to = shmemi_reach(image, call, dest, 0, pe);
    shmemi_tile_check(image, call, pe, t, dest, 1 /* at_dest */);
    if (to != NULL) {
        shmemi_tile_copy<SCOPE, 0 /* FAR */>(t, to, source);
    } else {
        SCOPE::sync();
        shmemi_tile_send<SCOPE>(image, t, dest, source, pe);
    }
    SCOPE::sync();
}

/* Gets a tile from PE pe, by loads if this GPU can address the PE's memory. It is nonblocking:
 * through a ring it is complete after a quiet. It checks the range as shmemi_tile_put does. */
template <class SCOPE>
SHMEMI_D void shmemi_tile_get(const struct shmemi_device_image *image, uint32_t call,
                              const struct shmemi_tile *t, char *dest, const char *source, int pe)
{
    const char *from = shmemi_reach(image, call, source, 0, pe);
    shmemi_tile_check(image, call, pe, t, source, 0 /* at_dest */);
    if (from != NULL) {
        shmemi_tile_copy<SCOPE, 1 /* FAR */>(t, dest, from);
    } else {
        uint64_t groups = shmemi_tile_groups(t);
        SCOPE::sync();
#pragma unroll 1
        for (uint64_t g = 0; g < groups; g++) {
            struct shmemi_place at = shmemi_tile_place(t, g);
            shmemi_rows_fetch<SCOPE>(image, &t->rows, dest + at.to, source + at.from, pe);
        }
    }
    SCOPE::sync();
}

/*
 * Sends a tile to all PEs of a team, the next one first, and to this one if SELF is 1. It has
 * arrived when all have passed a barrier.
 */
template <class SCOPE, int SELF>
SHMEMI_D void shmemi_tile_push(const struct shmemi_device_image *image,
                               const struct shmemi_members *m, const struct shmemi_tile *t,
                               char *dest, const char *source)
{
    SCOPE::sync();
#pragma unroll 1
    for (int i = 1; i <= m->n; i++) {
        int rank = (m->me + i) % m->n;
        if (rank == m->me) {
            if (SELF && dest != source)
                shmemi_tile_copy<SCOPE, 0 /* FAR */>(t, dest, source);
            continue;
        }
        int pe = shmemi_pe_of(m, rank);
        char *to = shmemi_direct(image, dest, pe);
        if (to != NULL)
            shmemi_tile_copy<SCOPE, 0 /* FAR */>(t, to, source);
        else
            shmemi_tile_send<SCOPE>(image, t, dest, source, pe);
    }
    SCOPE::sync();
}

/*
 * Waits for the tile collectives that the scope has started on a team. PUSHED: in them PEs have
 * written to each other, so it waits for all PEs of the team; else each PE has read the tiles of
 * the others and written only its own, so it waits for none, and does not read team. Returns 0, or
 * with PUSHED -1 for SHMEM_TEAM_INVALID.
 */
template <class SCOPE, int PUSHED>
SHMEMI_D int shmemi_tile_wait(const struct shmemi_device_image *image, uint32_t call,
                              shmemi_team_t team)
{
    if (PUSHED)
        return shmemi_sync<SCOPE, 1 /* COMPLETE */>(image, call, team);
    shmemi_check_init(image, call);
    shmemi_fence_system();
    SCOPE::sync();
    return 0;
}

#endif

#endif
