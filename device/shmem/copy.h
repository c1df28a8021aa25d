/*
 * copy.h: bulk data between a PE's memory and another's, by the threads of a
 * scope.
 */
#ifndef SHMEM_COPY_H
#define SHMEM_COPY_H

#include "scope.h"

#ifdef SHMEMI_KERNEL

/* FAR: from a peer's memory. */
template <class W, int FAR> SHMEMI_D void shmemi_load_bulk(const void *at, W *v)
{
    if (FAR)
        shmemi_move<W>::load_far(at, v);
    else
        shmemi_move<W>::load(at, v);
}

/* Element i, i + step, ... of n, both sides aligned; four under way at once. */
template <class W, int FAR>
SHMEMI_D void shmemi_copy_words(char *to, const char *from, uint64_t n, uint32_t i0, uint32_t step)
{
    uint64_t i = i0;
    W v[4];
#pragma unroll 1
    for (; i + 3 * (uint64_t)step < n; i += 4 * (uint64_t)step) {
#pragma unroll
        for (uint32_t k = 0; k < 4; k++)
            shmemi_load_bulk<W, FAR>(from + (i + k * (uint64_t)step) * sizeof(W), &v[k]);
#pragma unroll
        for (uint32_t k = 0; k < 4; k++)
            shmemi_move<W>::store(to + (i + k * (uint64_t)step) * sizeof(W), v[k]);
    }
#pragma unroll 1
    for (; i < n; i += step) {
        shmemi_load_bulk<W, FAR>(from + i * sizeof(W), &v[0]);
        shmemi_move<W>::store(to + i * sizeof(W), v[0]);
    }
}

/* The largest power of two, up to 16, that divides all values that were or-ed together. */
SHMEMI_D uint32_t shmemi_alignment(uint64_t bits)
{
    return (uint32_t)((bits | 16) & (~(bits | 16) + 1));
}

/* Copies by words of width bytes, at most 8. */
template <int FAR>
SHMEMI_D void shmemi_copy_by(uint32_t width, char *to, const char *from, uint64_t bytes,
                             uint32_t rank, uint32_t size)
{
    switch (width) {
    case 1:
        shmemi_copy_words<uint8_t, FAR>(to, from, bytes, rank, size);
        break;
    case 2:
        shmemi_copy_words<uint16_t, FAR>(to, from, bytes / 2, rank, size);
        break;
    case 4:
        shmemi_copy_words<uint32_t, FAR>(to, from, bytes / 4, rank, size);
        break;
    default:
        shmemi_copy_words<uint64_t, FAR>(to, from, bytes / 8, rank, size);
    }
}

/*
 * Copies at any alignment. The ends are copied in the largest unit that divides both addresses and
 * the length, so that no reader ever sees half of an element; the middle is copied in the widest
 * words that both sides allow. One function for all scopes and not inlined: such copies need not be
 * fast, and the code of a kernel stays small.
 */
template <int FAR>
SHMEMI_COLD void shmemi_copy_ragged(char *to, const char *from, uint64_t bytes, uint32_t rank,
                                    uint32_t size)
{
    uint64_t a = (uint64_t)(uintptr_t)to, b = (uint64_t)(uintptr_t)from;
    uint32_t unit = shmemi_alignment(a | b | bytes), wide = shmemi_alignment(a ^ b);
    if (unit == bytes) {
        if (rank == 0)
            shmemi_copy_by<FAR>(unit, to, from, bytes, 0, 1);
        return;
    }
    uint64_t head = (0 - a) & (wide - 1);
    head = head < bytes ? head : bytes;
    uint64_t middle = (bytes - head) & ~(uint64_t)(wide - 1);
    uint64_t rest = head + middle;
    shmemi_copy_by<FAR>(unit, to, from, head, rank, size);
    if (wide == 16)
        shmemi_copy_words<shmemi_wide, FAR>(to + head, from + head, middle / 16, rank, size);
    else
        shmemi_copy_by<FAR>(wide, to + head, from + head, middle, rank, size);
    shmemi_copy_by<FAR>(unit, to + rest, from + rest, bytes - rest, rank, size);
}

/*
 * Copies whole 16-byte words, less than 4 GiB of them: with 64-bit indices there would be twice as
 * many additions. Predicates let all loads of a batch leave before the first store; the loads of a
 * loop would wait for each other. The first load goes ahead of the tests for the others, since a
 * thread of a block often has one word in all: on an H200 a get of 2 KiB by a block of 1024 took
 * 1.18 us with the load behind the tests and takes 1.08.
 */
template <class SCOPE, int FAR>
SHMEMI_D void shmemi_copy_wide(char *to, const char *from, uint32_t n)
{
    uint32_t i = SCOPE::rank();
    if (i >= n)
        return;
    const uint32_t step = SCOPE::size();
    shmemi_wide v[SCOPE::batch];
#pragma unroll 1
    for (; i < n; i += SCOPE::batch * step) {
        shmemi_load_bulk<shmemi_wide, FAR>(from + 16 * (uint64_t)i, &v[0]);
        if (i + step >= n) {
            shmemi_move<shmemi_wide>::store(to + 16 * (uint64_t)i, v[0]);
            return;
        }
#pragma unroll
        for (uint32_t k = 1; k < SCOPE::batch; k++) {
            const char *at = from + 16 * (uint64_t)(i + k * step);
            if (FAR)
                shmemi_move<shmemi_wide>::load_far_if(i + k * step < n, at, &v[k]);
            else
                shmemi_move<shmemi_wide>::load_if(i + k * step < n, at, &v[k]);
        }
        shmemi_move<shmemi_wide>::store(to + 16 * (uint64_t)i, v[0]);
#pragma unroll
        for (uint32_t k = 1; k < SCOPE::batch; k++)
            shmemi_move<shmemi_wide>::store_if(i + k * step < n, to + 16 * (uint64_t)(i + k * step),
                                               v[k]);
    }
}

/*
 * Not 0 if an address or the length is not a multiple of 16 bytes, or the length is 4 GiB or more.
 */
SHMEMI_D uint32_t shmemi_not_wide(const void *to, const void *from, uint64_t bytes)
{
    return (((uint32_t)(uintptr_t)to | (uint32_t)(uintptr_t)from | (uint32_t)bytes) & 15) |
           (uint32_t)(bytes >> 32);
}

/* Each thread of the scope copies its part. The threads do not meet. */
template <class SCOPE, int FAR>
SHMEMI_D void shmemi_copy_part(void *to, const void *from, uint64_t bytes)
{
    if (__builtin_expect(shmemi_not_wide(to, from, bytes) == 0, 1))
        shmemi_copy_wide<SCOPE, FAR>((char *)to, (const char *)from, (uint32_t)bytes / 16);
    else
        shmemi_copy_ragged<FAR>((char *)to, (const char *)from, bytes, SCOPE::rank(),
                                SCOPE::size());
}

/*
 * Reports whether this thread has no part in a copy except to meet the others: its words are beyond
 * the end, and there is no ring, so no other thread needs its help. The first thread then makes the
 * checks. In a block with 32 warps, most of which have no word of a few KiB, it pays to find that
 * out first.
 */
template <class SCOPE>
SHMEMI_D int shmemi_idle(const struct shmemi_device_image *image, const void *to, const void *from,
                         uint64_t bytes)
{
    if (!SCOPE::inlined || image->job.ring_count != 0)
        return 0;
    uint64_t unit = shmemi_not_wide(to, from, bytes) == 0 ? 16 : 1;
    return SCOPE::rank() != 0 && SCOPE::rank() * unit >= bytes;
}

template <class SCOPE, int FAR>
SHMEMI_COLD void shmemi_copy_call(void *to, const void *from, uint64_t bytes)
{
    shmemi_copy_part<SCOPE, FAR>(to, from, bytes);
}

/*
 * Copies; FAR when the source is a peer's. A block copies a few KiB so fast that a function call
 * would count, so that copy is inlined; the copies of other scopes are not, to keep kernels small.
 */
template <class SCOPE, int FAR>
SHMEMI_D void shmemi_copy(void *to, const void *from, uint64_t bytes)
{
    if (SCOPE::inlined)
        shmemi_copy_part<SCOPE, FAR>(to, from, bytes);
    else
        shmemi_copy_call<SCOPE, FAR>(to, from, bytes);
}

#endif

#endif
