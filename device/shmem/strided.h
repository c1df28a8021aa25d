/*
 * strided.h: strided copies. Each element goes by itself, as p and g do, spread over the threads of
 * the scope. These synchronise before, because any of them may have written the source or used
 * dest, and afterwards.
 */
#ifndef SHMEM_STRIDED_H
#define SHMEM_STRIDED_H

#include "rma.h"

#ifdef SHMEMI_KERNEL

/* The parts in which p and g move an element of SIZE bytes: their type and their number. */
template <int SIZE> struct shmemi_parts {
    typedef typename shmemi_bits<(SIZE < 8 ? SIZE : 8)>::type type;
    static constexpr size_t count = SIZE < 8 ? 1 : SIZE / 8;
};

/* Returns the index of part i in an array whose elements are `stride` elements apart. Indices count
 * parts, of which an element has 1 or, if it is larger than 8 bytes, several. */
template <int SIZE> SHMEMI_D ptrdiff_t shmemi_part_at(size_t i, ptrdiff_t stride)
{
    const size_t count = shmemi_parts<SIZE>::count;
    return (ptrdiff_t)(i / count * count) * stride + (ptrdiff_t)(i % count);
}

/*
 * Puts elements of SIZE bytes with strides, by the threads of a scope. dst and sst are the strides
 * of dest and source, in elements.
 */
template <class SCOPE, int SIZE>
SHMEMI_COLD void shmemi_iput(const struct shmemi_device_image *image, uint32_t call, void *dest,
                             const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                             int pe)
{
    typedef typename shmemi_parts<SIZE>::type part;
    const size_t count = shmemi_parts<SIZE>::count;
    SCOPE::sync();
#pragma unroll 1
    for (size_t i = SCOPE::rank(); i < nelems * count; i += SCOPE::size())
        shmemi_p<part>(image, call, (part *)dest + shmemi_part_at<SIZE>(i, dst),
                       ((const part *)source)[shmemi_part_at<SIZE>(i, sst)], pe);
    SCOPE::sync();
}

/*
 * Gets elements of SIZE bytes with strides, by the threads of a scope. dst and sst are the strides
 * of dest and source, in elements.
 */
template <class SCOPE, int SIZE>
SHMEMI_COLD void shmemi_iget(const struct shmemi_device_image *image, uint32_t call, void *dest,
                             const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                             int pe)
{
    typedef typename shmemi_parts<SIZE>::type part;
    const size_t count = shmemi_parts<SIZE>::count;
    SCOPE::sync();
#pragma unroll 1
    for (size_t i = SCOPE::rank(); i < nelems * count; i += SCOPE::size())
        ((part *)dest)[shmemi_part_at<SIZE>(i, dst)] =
            shmemi_g<part>(image, call, (const part *)source + shmemi_part_at<SIZE>(i, sst), pe);
    SCOPE::sync();
}

#endif

#endif
