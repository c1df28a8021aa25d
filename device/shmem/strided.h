/*
 * strided.h: strided copies. Each element goes by itself, as p and g do, spread over the threads of
 * the scope.
 */
#ifndef SHMEM_STRIDED_H
#define SHMEM_STRIDED_H

#include "rma.h"

#ifdef SHMEMI_KERNEL

/* The type of an element of SIZE bytes. */
template <int SIZE> struct shmemi_parts {
    typedef typename shmemi_bits<(SIZE < 8 ? SIZE : 8)>::type type;
    static constexpr ptrdiff_t count = SIZE < 8 ? 1 : SIZE / 8;
};

template <class SCOPE, int SIZE>
SHMEMI_COLD void shmemi_iput(const struct shmemi_device_image *image, uint32_t call, void *dest,
                             const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                             int pe)
{
    typedef typename shmemi_parts<SIZE>::type part;
    const ptrdiff_t count = shmemi_parts<SIZE>::count;
    SCOPE::meet();
#pragma unroll 1
    for (size_t i = SCOPE::rank(); i < nelems; i += SCOPE::size())
        for (ptrdiff_t k = 0; k < count; k++)
            shmemi_p<part>(image, call, (part *)dest + (ptrdiff_t)i * dst * count + k,
                           ((const part *)source)[(ptrdiff_t)i * sst * count + k], pe);
    SCOPE::meet();
}

template <class SCOPE, int SIZE>
SHMEMI_COLD void shmemi_iget(const struct shmemi_device_image *image, uint32_t call, void *dest,
                             const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                             int pe)
{
    typedef typename shmemi_parts<SIZE>::type part;
    const ptrdiff_t count = shmemi_parts<SIZE>::count;
    SCOPE::meet();
#pragma unroll 1
    for (size_t i = SCOPE::rank(); i < nelems; i += SCOPE::size())
        for (ptrdiff_t k = 0; k < count; k++)
            ((part *)dest)[(ptrdiff_t)i * dst * count + k] = shmemi_g<part>(
                image, call, (const part *)source + (ptrdiff_t)i * sst * count + k, pe);
    SCOPE::meet();
}

#endif

#endif
