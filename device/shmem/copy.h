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

/* The largest power of two, to 16, that divides all of what was or-ed together. */
SHMEMI_D uint32_t shmemi_alignment(uint64_t bits)
{
    return (uint32_t)((bits | 16) & (~(bits | 16) + 1));
}

/* By words of so many bytes, at most 8. */
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
 * Any alignment. The ends are copied in the largest unit that divides both
 * addresses and the length, so that no element of the caller's is ever seen in
 * halves; what is between in the widest words that both sides allow. One
 * function for all scopes and not inlined: whoever comes here is not in a hurry,
 * and the code of a kernel stays small.
 */
template <int FAR>
SHMEMI_COLD void shmemi_copy_ragged(char *to, const char *from, uint64_t bytes, uint32_t rank,
                                    uint32_t size)
{
    uint64_t a = (uint64_t)(uintptr_t)to, b = (uint64_t)(uintptr_t)from;
    uint32_t unit = shmemi_alignment(a | b | bytes), wide = shmemi_alignment(a ^ b);
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
 * Whole 16-byte words. The last batch has predicates in place of a loop: taken
 * one by one, its loads would wait for each other.
 */
template <class SCOPE, int FAR>
SHMEMI_D void shmemi_copy_wide(char *to, const char *from, uint64_t n)
{
    const uint64_t step = SCOPE::size();
    uint64_t i = SCOPE::rank();
    shmemi_wide v[SCOPE::batch];
#pragma unroll 1
    for (; i + (SCOPE::batch - 1) * step < n; i += SCOPE::batch * step) {
#pragma unroll
        for (uint32_t k = 0; k < SCOPE::batch; k++)
            shmemi_load_bulk<shmemi_wide, FAR>(from + 16 * (i + k * step), &v[k]);
#pragma unroll
        for (uint32_t k = 0; k < SCOPE::batch; k++)
            shmemi_move<shmemi_wide>::store(to + 16 * (i + k * step), v[k]);
    }
    if (i < n) {
#pragma unroll
        for (uint32_t k = 0; k < SCOPE::batch; k++) {
            if (FAR)
                shmemi_move<shmemi_wide>::load_far_if(i + k * step < n, from + 16 * (i + k * step),
                                                      &v[k]);
            else
                shmemi_move<shmemi_wide>::load_if(i + k * step < n, from + 16 * (i + k * step),
                                                  &v[k]);
        }
#pragma unroll
        for (uint32_t k = 0; k < SCOPE::batch; k++)
            shmemi_move<shmemi_wide>::store_if(i + k * step < n, to + 16 * (i + k * step), v[k]);
    }
}

/* Each thread of the scope copies its part. The threads do not meet. */
template <class SCOPE, int FAR>
SHMEMI_D void shmemi_copy_part(void *to, const void *from, uint64_t bytes)
{
    if ((((uint64_t)(uintptr_t)to | (uint64_t)(uintptr_t)from | bytes) & 15) == 0)
        shmemi_copy_wide<SCOPE, FAR>((char *)to, (const char *)from, bytes / 16);
    else
        shmemi_copy_ragged<FAR>((char *)to, (const char *)from, bytes, SCOPE::rank(),
                                SCOPE::size());
}

template <class SCOPE, int FAR>
SHMEMI_COLD void shmemi_copy_call(void *to, const void *from, uint64_t bytes)
{
    shmemi_copy_part<SCOPE, FAR>(to, from, bytes);
}

/*
 * Copies; FAR when the source is a peer's. A block's copy of a few KiB is over so
 * soon that a call would count; others' are out of line, to keep kernels small.
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
