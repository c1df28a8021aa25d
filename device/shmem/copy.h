/*
 * copy.h: bulk data between a PE's memory and another's, by the threads of a
 * scope.
 */
#ifndef SHMEM_COPY_H
#define SHMEM_COPY_H

#include "scope.h"
#include "unit.h"

#ifdef SHMEMI_KERNEL

/* Loads a word of a bulk copy. FAR: from a peer's memory, by a strong load (access.h). */
template <int FAR, class W> SHMEMI_D void shmemi_load_bulk(const void *at, W *v)
{
    if (FAR)
        shmemi_load_element(at, v);
    else
        shmemi_load_weak(at, v);
}

/*
 * The position of a unit of a copy: its distance in bytes from the first unit, at the destination
 * and at the source.
 */
struct shmemi_place {
    int64_t to, from;
};

/*
 * Copies units i, i + step, ... of n units; units.at(i) returns the place of unit i. N is the
 * integer type of these numbers, which none of them overflows. All loads of a batch (BATCH units)
 * are issued before its first store, and the assembler gives them predicates instead of branches.
 * The first load is issued before the tests for the others, since a thread of a block often has one
 * unit in all: on an H200 a get of 2 KiB by a block of 1024 took 1.18 us with the load after the
 * tests and takes 1.08.
 */
template <class W, int FAR, uint32_t BATCH, class UNITS, class N>
SHMEMI_D void shmemi_copy_units(const UNITS &units, char *to, const char *from, N i, N n, N step)
{
    typename UNITS::place at[BATCH];
    W v[BATCH];
#pragma unroll 1
    for (; i < n; i += BATCH * step) {
        at[0] = units.at(i);
        shmemi_load_bulk<FAR>(from + at[0].from, &v[0]);
        if (i + step >= n) {
            shmemi_store_weak(to + at[0].to, v[0]);
            return;
        }
#pragma unroll
        for (uint32_t k = 1; k < BATCH; k++) {
            at[k] = units.at(i + k * step);
            if (i + k * step < n)
                shmemi_load_bulk<FAR>(from + at[k].from, &v[k]);
        }
        shmemi_store_weak(to + at[0].to, v[0]);
#pragma unroll
        for (uint32_t k = 1; k < BATCH; k++)
            if (i + k * step < n)
                shmemi_store_weak(to + at[k].to, v[k]);
    }
}

/* The places of units that are contiguous at both sides. */
template <class W> struct shmemi_side_by_side {
    typedef struct shmemi_place place;
    SHMEMI_D struct shmemi_place at(uint32_t i)
    {
        struct shmemi_place p = {(int64_t)(i * (uint64_t)sizeof(W)),
                                 (int64_t)(i * (uint64_t)sizeof(W))};
        return p;
    }
};

/* Copies one word of type W at aligned addresses. FAR: the source is a peer's memory. */
template <class W, int FAR> SHMEMI_D void shmemi_copy_word(char *to, const char *from)
{
    W v;
    shmemi_load_bulk<FAR>(from, &v);
    shmemi_store_weak(to, v);
}

/* The places of contiguous units, numbered by the addresses of their source. */
struct shmemi_by_address {
    typedef struct shmemi_place place;
    SHMEMI_D struct shmemi_place at(uint64_t i)
    {
        struct shmemi_place p = {(int64_t)i, (int64_t)i};
        return p;
    }
};

/*
 * Does one thread's part of a copy: it copies words rank, rank + size, ... Both sides are aligned
 * to a word, and bytes is a multiple of it. Three loads are under way at once. More take more
 * registers: on sm_120 a put by a block takes 62 with four loads, and 92 with eight. Fewer take
 * more time: a copy of 1 MiB by 8-byte words, by 256 threads of an H200, took 1.7 times as long
 * with two as with four. Words are numbered by the addresses of their source: with indices of 64
 * bits a broadcast took 67 registers on sm_90.
 */
template <class W, int FAR>
SHMEMI_D void shmemi_copy_words(char *to, const char *from, uint64_t bytes, uint32_t rank,
                                uint32_t size)
{
    const uint64_t first = (uint64_t)(uintptr_t)from, width = sizeof(W);
    shmemi_copy_units<W, FAR, 3>(shmemi_by_address(), to - first, from - first,
                                 first + rank * width, first + bytes, size * width);
}

/*
 * A copy by 16-byte words has fewer bytes than this (32 GiB): its words, and the index of a word a
 * batch further on, then fit into 32 bits. Longer copies use words of 8 bytes.
 */
#define SHMEMI_MAX_WIDE_COPY ((uint64_t)1 << 35)

/* Returns the largest power of two, up to 16, that divides several values: addresses and sizes
 * whose bits the caller has or-ed together. */
SHMEMI_D uint32_t shmemi_alignment(uint64_t bits)
{
    return (uint32_t)((bits | 16) & (~(bits | 16) + 1));
}

/* Copies this thread's part (words rank, rank + size, ...) of bytes by words of width bytes: 1, 2,
 * 4 or 8. A width of 16 comes from a copy that is too long for such words (SHMEMI_MAX_WIDE_COPY),
 * and is then 8. */
template <int FAR>
SHMEMI_COLD void shmemi_copy_by(uint32_t width, char *to, const char *from, uint64_t bytes,
                                uint32_t rank, uint32_t size)
{
    switch (width) {
    case 1:
        shmemi_copy_words<uint8_t, FAR>(to, from, bytes, rank, size);
        break;
    case 2:
        shmemi_copy_words<uint16_t, FAR>(to, from, bytes, rank, size);
        break;
    case 4:
        shmemi_copy_words<uint32_t, FAR>(to, from, bytes, rank, size);
        break;
    default:
        shmemi_copy_words<uint64_t, FAR>(to, from, bytes, rank, size);
    }
}

/* Copies one element of width bytes: 1, 2, 4 or 8. FAR: from a peer's memory. */
template <int FAR> SHMEMI_D void shmemi_copy_element(uint32_t width, char *to, const char *from)
{
    switch (width) {
    case 1:
        shmemi_copy_word<uint8_t, FAR>(to, from);
        break;
    case 2:
        shmemi_copy_word<uint16_t, FAR>(to, from);
        break;
    case 4:
        shmemi_copy_word<uint32_t, FAR>(to, from);
        break;
    default:
        shmemi_copy_word<uint64_t, FAR>(to, from);
    }
}

/* The aligned middle of a copy: it begins after `head` bytes, fewer than a word has, and has
 * `bytes` bytes, which are whole words of `width` bytes. */
struct shmemi_middle {
    uint64_t bytes;
    uint32_t head, width;
};

/* Finds the part of a copy that can be moved by the widest words that both sides allow: where it
 * begins, its bytes and the width of the words. Before it and after it are bytes that must be moved
 * singly. */
SHMEMI_D struct shmemi_middle shmemi_middle_of(const char *to, const char *from, uint64_t bytes)
{
    uint32_t wide = shmemi_alignment((uint64_t)(uintptr_t)to ^ (uint64_t)(uintptr_t)from);
    uint32_t head = (0 - (uint32_t)(uintptr_t)to) & (wide - 1);
    head = head < bytes ? head : (uint32_t)bytes;
    struct shmemi_middle m = {(bytes - head) & ~(uint64_t)(wide - 1), head, wide};
    return m;
}

/* Reports whether the middle is copied by 16-byte words. */
SHMEMI_D int shmemi_is_wide(const struct shmemi_middle *m)
{
    return m->width == 16 && m->bytes < SHMEMI_MAX_WIDE_COPY;
}

/*
 * Does one thread's part of the copy of the bytes before and after the aligned middle, and returns
 * the middle. It copies the bytes in the largest unit that divides both addresses and the length,
 * so that no reader ever sees half of an element.
 */
template <int FAR>
SHMEMI_COLD struct shmemi_middle shmemi_copy_ends(char *to, const char *from, uint64_t bytes,
                                                  uint32_t rank, uint32_t size)
{
    struct shmemi_middle m = shmemi_middle_of(to, from, bytes);
    uint32_t unit = shmemi_alignment((uint64_t)(uintptr_t)to | (uint64_t)(uintptr_t)from | bytes);
    uint32_t ends = (uint32_t)(bytes - m.bytes);
#pragma unroll 1
    for (uint32_t i = rank * unit; i < ends; i += size * unit) {
        uint64_t at = i < m.head ? i : i + m.bytes;
        shmemi_copy_element<FAR>(unit, to + at, from + at);
    }
    return m;
}

/* Copies n 16-byte words, less than SHMEMI_MAX_WIDE_COPY bytes in all, by the threads of a scope,
 * at aligned addresses. n is 32 bits wide, because wider indices take registers. */
template <class SCOPE, int FAR>
SHMEMI_D void shmemi_copy_wide(char *to, const char *from, uint32_t n)
{
    shmemi_copy_units<shmemi_wide, FAR, SCOPE::batch>(shmemi_side_by_side<shmemi_wide>(), to, from,
                                                      SCOPE::rank(), n, SCOPE::size());
}

/*
 * Returns 0 if shmemi_copy_wide alone can make a copy: both addresses and the length are multiples
 * of 16 bytes, and the length is less than 4 GiB.
 */
SHMEMI_D uint32_t shmemi_not_wide(const void *to, const void *from, uint64_t bytes)
{
    return (((uint32_t)(uintptr_t)to | (uint32_t)(uintptr_t)from | (uint32_t)bytes) & 15) |
           (uint32_t)(bytes >> 32);
}

/*
 * Copies bytes by the threads of a scope, each a part, without synchronising them. FAR: from a
 * peer's memory. The loop for words of 16 bytes is inlined: a function has 32 registers that need
 * not be saved, too few for a batch of loads. Other alignments need not be fast, and their
 * functions keep kernels small.
 */
template <class SCOPE, int FAR>
SHMEMI_D void shmemi_copy(void *to, const void *from, uint64_t bytes)
{
    char *t = (char *)to;
    const char *f = (const char *)from;
    if (__builtin_expect(shmemi_not_wide(to, from, bytes) != 0, 0)) {
        struct shmemi_middle m = shmemi_copy_ends<FAR>(t, f, bytes, SCOPE::rank(), SCOPE::size());
        t += m.head;
        f += m.head;
        bytes = m.bytes;
        if (!shmemi_is_wide(&m)) {
            shmemi_copy_by<FAR>(m.width, t, f, bytes, SCOPE::rank(), SCOPE::size());
            return;
        }
    }
    shmemi_copy_wide<SCOPE, FAR>(t, f, (uint32_t)(bytes / 16));
}

/*
 * Reports whether this thread has nothing to copy and need only synchronise with the others: its
 * words would be beyond the end of the copy, and there is no ring through which the threads pass
 * operations together. The first thread then makes the checks of the arguments, and the others are
 * spared them: in a copy of a few KiB most warps of a block with 32 have no word. SCOPE::crowd: the
 * scope is a block; other scopes have too few threads to gain. A word has at least 1 byte, so the
 * answer is right for a copy by wider words, too.
 */
template <class SCOPE>
SHMEMI_D int shmemi_idle(const struct shmemi_device_image *image, const void *to, const void *from,
                         uint64_t bytes)
{
    if (!SCOPE::crowd || image->job.ring_count != 0)
        return 0;
    uint64_t unit = shmemi_not_wide(to, from, bytes) == 0 ? 16 : 1;
    return SCOPE::rank() != 0 && SCOPE::rank() * unit >= bytes;
}

#endif

#endif
