/*
 * tile_reduce.h: reductions of tiles. A PE reads the tile of each PE of a team, in the order of
 * their numbers, so that all PEs that compute a result have the same one to the last bit.
 *
 * Tiles of PEs whose memory this GPU can address are read in place. The rows of the others are
 * fetched into the team's buffers, a part at a time, into the one of the two buffers to which no PE
 * sends: that of the last round of data. The next round is sent to the other buffer, and the round
 * after that begins only after this PE has sent its part of the next one.
 */
#ifndef SHMEM_TILE_REDUCE_H
#define SHMEM_TILE_REDUCE_H

#include "tile.h"

#ifdef SHMEMI_KERNEL

/*
 * How values are combined: in which type, and by which operation. A sum of 16-bit floating-point
 * numbers is computed in float and rounded once, by a specialisation where those types are defined.
 */
template <class OP, class T> struct shmemi_fold {
    typedef T sum;
    SHMEMI_D T first(T v)
    {
        return v;
    }
    SHMEMI_D T next(T s, T v)
    {
        return OP::template apply<T>(s, v);
    }
    SHMEMI_D T last(T s)
    {
        return s;
    }
};

/* A word, and the elements in it. */
template <class W, class T> union shmemi_elements {
    W word;
    T of[sizeof(W) / sizeof(T)];
    __device__ shmemi_elements()
    {
    }
};

/* The rows that one step of a reduction combines, and where they are. */
struct shmemi_fold_part {
    const struct shmemi_device_image *image;
    const struct shmemi_members *team;
    struct shmemi_rows rows;
    char *to;
    const char *from; /* symmetric */
    char *fetched;    /* rows of PEs without an address, chunk bytes from one to the next */
    uint64_t chunk;
};

/* Returns the address of a row of a rank's tile: in place, or in the memory into which it was
 * fetched. */
SHMEMI_D const char *shmemi_fold_row(const struct shmemi_fold_part *p, int rank, uint64_t row)
{
    const char *mine = p->from + (int64_t)row * p->rows.from;
    if (rank == p->team->me)
        return mine;
    const char *at = shmemi_direct(p->image, mine, shmemi_pe_of(p->team, rank));
    return at != NULL ? at : p->fetched + (uint64_t)rank * p->chunk + row * p->rows.bytes;
}

/* Combines the rows of all PEs by words of type W, in the order of the PEs. Loads from four PEs are
 * under way at once, because each takes long. They are strong (access.h): a row may be a peer's. */
template <class SCOPE, class FOLD, class T, class W>
SHMEMI_D void shmemi_fold_words(const struct shmemi_fold_part *p)
{
    const uint64_t across = p->rows.bytes / sizeof(W), n = across * p->rows.count;
    const int pes = p->team->n;
    typename FOLD::sum sums[sizeof(W) / sizeof(T)] = {};
    shmemi_elements<W, T> v[4], out;
#pragma unroll 1
    for (uint64_t i = SCOPE::rank(); i < n; i += SCOPE::size()) {
        uint64_t column, row = shmemi_divide(i, across, &column);
#pragma unroll 1
        for (int rank = 0; rank < pes; rank += 4) {
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (rank + k < pes)
                    shmemi_load_element(shmemi_fold_row(p, rank + k, row) + column * sizeof(W),
                                        &v[k].word);
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (rank + k < pes)
#pragma unroll
                    for (uint32_t e = 0; e < sizeof(W) / sizeof(T); e++)
                        sums[e] = rank + k == 0 ? FOLD::first(v[k].of[e])
                                                : FOLD::next(sums[e], v[k].of[e]);
        }
#pragma unroll
        for (uint32_t e = 0; e < sizeof(W) / sizeof(T); e++)
            out.of[e] = FOLD::last(sums[e]);
        shmemi_store_weak(p->to + (int64_t)row * p->rows.to + column * sizeof(W), out.word);
    }
}

/* Combines the same rows of the tiles of all PEs, which this thread can load already: in words of
 * 16 bytes where all rows are aligned for that, else element by element. Fetched rows are
 * contiguous from an aligned address on, so their length decides, and it is among what the unit
 * divides. */
template <class SCOPE, class FOLD, class T>
SHMEMI_COLD void shmemi_fold_part_of(const struct shmemi_fold_part *p)
{
    if (shmemi_rows_unit(&p->rows, p->to, p->from) == 16)
        shmemi_fold_words<SCOPE, FOLD, T, shmemi_wide>(p);
    else
        shmemi_fold_words<SCOPE, FOLD, T, typename shmemi_bits<sizeof(T)>::type>(p);
}

/* Fetches the rows of all PEs whose memory this GPU cannot address into the work memory, and waits
 * until all threads of the scope can read them. */
template <class SCOPE> SHMEMI_COLD void shmemi_fold_fetch(const struct shmemi_fold_part *p)
{
    const struct shmemi_members *m = p->team;
    struct shmemi_rows rows = p->rows;
    rows.to = (int64_t)rows.bytes;
#pragma unroll 1
    for (int rank = 0; rank < m->n; rank++) {
        int pe = shmemi_pe_of(m, rank);
        if (rank != m->me && shmemi_direct(p->image, p->from, pe) == NULL)
            shmemi_rows_fetch<SCOPE>(p->image, &rows, p->fetched + (uint64_t)rank * p->chunk,
                                     p->from, pe);
    }
    SCOPE::sync();
    if (SCOPE::rank() == 0) {
        shmemi_quiet_rings(p->image);
        shmemi_complete_system();
    }
    SCOPE::sync();
}

/*
 * Combines rows of which some must be fetched: as many at a time as fit into a chunk, or a part of
 * one row. A row has at least one element. A chunk has a whole number of elements, because the
 * bytes of both are powers of two; so no step ends within an element.
 */
template <class SCOPE, class FOLD, class T>
SHMEMI_COLD void shmemi_fold_parts(const struct shmemi_fold_part *whole)
{
    const struct shmemi_rows *all = &whole->rows;
    struct shmemi_fold_part p = *whole;
    const uint64_t wide = all->bytes < p.chunk ? all->bytes : p.chunk;
    const uint64_t high = p.chunk / wide;
    for (uint64_t row = 0; row < all->count; row += high)
        for (uint64_t column = 0; column < all->bytes; column += wide) {
            p.rows.bytes = all->bytes - column < wide ? all->bytes - column : wide;
            p.rows.count = all->count - row < high ? all->count - row : high;
            p.to = whole->to + (int64_t)row * all->to + column;
            p.from = whole->from + (int64_t)row * all->from + column;
            shmemi_fold_fetch<SCOPE>(&p);
            shmemi_fold_part_of<SCOPE, FOLD, T>(&p);
            SCOPE::sync();
        }
}

/*
 * Combines the tiles of all PEs of a team into this PE's dest, a group of rows at a time. A job has
 * rings to the proxy only if this GPU may be unable to address the memory of some PEs. Then it
 * fetches their rows into the work memory, which has two sets of buffers for collectives that
 * follow each other.
 */
template <class SCOPE, class FOLD, class T>
SHMEMI_D void shmemi_tile_fold(const struct shmemi_device_image *image,
                               const struct shmemi_members *m, const struct shmemi_tile *t,
                               char *dest, const char *source)
{
    struct shmemi_fold_part p;
    p.image = image;
    p.team = m;
    p.chunk = shmemi_work_fit((uint64_t)m->n, m->data);
    p.fetched = m->work.buffers + (shmemi_load_near(m->work.round) & 1) * (uint64_t)m->n * p.chunk;
    const uint64_t groups = shmemi_tile_groups(t);
#pragma unroll 1
    for (uint64_t g = 0; g < groups; g++) {
        struct shmemi_place at = shmemi_tile_place(t, g);
        p.rows = t->rows;
        p.to = dest + at.to;
        p.from = source + at.from;
        if (image->job.ring_count == 0 || m->n == 1)
            shmemi_fold_part_of<SCOPE, FOLD, T>(&p);
        else
            shmemi_fold_parts<SCOPE, FOLD, T>(&p);
    }
    SCOPE::sync();
}

#define SHMEMI_TILE_EACH 0   /* each PE makes the result for itself; there is no root */
#define SHMEMI_TILE_ROOT 1   /* the root alone makes it */
#define SHMEMI_TILE_SPREAD 2 /* the root makes it and sends it to all */

/*
 * Waits until all PEs of the team have called, and combines their sources. Each PE that computes a
 * result has it in its own dest. The program leaves a source unchanged until it knows that every
 * reader has finished. KIND is SHMEMI_TILE_..., and root counts only if there is one. Returns 0, or
 * -1 for SHMEM_TEAM_INVALID.
 */
template <class SCOPE, class FOLD, class T, int KIND>
SHMEMI_COLD int shmemi_tile_reduce(const struct shmemi_device_image *image, uint32_t call,
                                   shmemi_team_t team, const struct shmemi_tile *t, char *dest,
                                   const char *source, int root)
{
    struct shmemi_members m;
    struct shmemi_tile again = shmemi_tile_again(t);
    if (shmemi_team_open(image, call, team, &m) != 0)
        return -1;
    if (KIND != SHMEMI_TILE_EACH && (uint32_t)root >= (uint32_t)m.n)
        shmemi_fault(image, SHMEMI_FAULT_ROOT, call, root, (uint64_t)(uintptr_t)dest,
                     (uint64_t)m.n);
    shmemi_tile_check(image, call, image->job.me, t, source, 0 /* at_dest */);
    if (KIND == SHMEMI_TILE_SPREAD)
        shmemi_tile_check(image, call, image->job.me, t, dest, 1 /* at_dest */);
    shmemi_sync_members<SCOPE, 0 /* COMPLETE */>(image, &m);
    if (KIND != SHMEMI_TILE_EACH && root != m.me)
        return 0;
    shmemi_tile_fold<SCOPE, FOLD, T>(image, &m, t, dest, source);
    if (KIND == SHMEMI_TILE_SPREAD)
        shmemi_tile_push<SCOPE, 0 /* SELF */>(image, &m, &again, dest, dest);
    return 0;
}

#endif

#endif
