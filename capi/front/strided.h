/*
 * strided.h: put and get of blocks at equal distances (iput, iget, ibput, ibget).
 */
#ifndef SHMEMI_STRIDED_H
#define SHMEMI_STRIDED_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Puts nblocks blocks of bsize elements of `size` bytes. A stride (dst, sst) is the distance from
 * the start of a block to that of the next, in elements, and at least 1. When it returns, the
 * source may be reused. */
void shmemi_iput(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                 size_t bsize, size_t nblocks, size_t size, int pe, const char *call);
/* Gets nblocks blocks of bsize elements of `size` bytes, with strides as in shmemi_iput. */
void shmemi_iget(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                 size_t bsize, size_t nblocks, size_t size, int pe, const char *call);

#pragma GCC visibility pop

#endif
