/*
 * copies.h: copies of a list in one crossing from Go: a call of the driver for each, or one call
 * for all.
 */
#ifndef SHMEMI_CUDA_COPIES_H
#define SHMEMI_CUDA_COPIES_H

#include "driver.h"

/* Reports whether the rows of a copy have no gaps between them at source and destination. */
static inline bool shmemi_cuda_packed(const struct shmemi_cuda_copy *c)
{
    return c->rows == 1 || (c->to_pitch == c->n && c->from_pitch == c->n);
}

/* Starts copies on a stream of the context `within` until the driver refuses one; *done: how many
 * it has accepted. If two_rows, a copy of fewer bytes than SHMEMI_CUDA_FEW_ROWS is made as rows,
 * one row as two halves, so that a copy engine makes it; the bytes of one row must then be even in
 * number. */
static inline struct shmemi_cuda_outcome
shmemi_cuda_in_copies(const struct shmemi_cuda *driver, void *within,
                      const struct shmemi_cuda_copy *copies, unsigned n, bool two_rows,
                      void *stream, unsigned *done)
{
    struct shmemi_cuda_outcome out = {0, 0, 0};
    void *before;
    unsigned i = 0;
    struct shmemi_cuda_mark *mark = shmemi_cuda_begin(driver->marks, "cuMemcpyAsync");
    if ((out.push = driver->context_push(within)) == 0) {
        int mode = shmemi_cuda_capture_as(driver, SHMEMI_CUDA_CAPTURE_RELAXED);
        if (shmemi_cuda_gone(driver, within))
            out.call = SHMEMI_CUDA_CONTEXT_IS_DESTROYED;
        for (; i < n && out.call == 0; i += out.call == 0) {
            const struct shmemi_cuda_copy *c = &copies[i];
            uint64_t width = c->n, count = c->rows, n = width * count;
            uint64_t to_pitch = c->to_pitch, from_pitch = c->from_pitch;
            if (shmemi_cuda_packed(c) && !(two_rows && n < SHMEMI_CUDA_FEW_ROWS)) {
                out.call = driver->copy_any(c->to, c->from, n, stream);
                continue;
            }
            if (count == 1) {
                to_pitch = from_pitch = width /= 2;
                count = 2;
            }
            const struct shmemi_cuda_rows rows = {
                .from = {.type = SHMEMI_CUDA_TYPE_UNIFIED, .at = c->from, .pitch = from_pitch},
                .to = {.type = SHMEMI_CUDA_TYPE_UNIFIED, .at = c->to, .pitch = to_pitch},
                .width = width,
                .count = count,
            };
            out.call = driver->copy_rows(&rows, stream);
        }
        shmemi_cuda_capture_as(driver, mode);
        out.pop = driver->context_pop(&before);
    }
    shmemi_cuda_end(mark);
    *done = i;
    return out;
}

/* Starts copies on a stream of the context `within` by one call, of at most SHMEMI_CUDA_BATCH rows;
 * rows without gaps between them count as one. beside: copy engines shall make the copies, beside
 * kernels. The driver makes them in any order, after what was in the stream before the call and
 * before what comes later. If it refuses the call, it has started none. */
static inline struct shmemi_cuda_outcome shmemi_cuda_in_batch(const struct shmemi_cuda *driver,
                                                              void *within,
                                                              const struct shmemi_cuda_copy *copies,
                                                              unsigned count, bool beside,
                                                              void *stream)
{
    uint64_t to[SHMEMI_CUDA_BATCH], from[SHMEMI_CUDA_BATCH];
    size_t n[SHMEMI_CUDA_BATCH], parts = 0, first = 0;
    struct shmemi_cuda_manner manner = {.source_order = SHMEMI_CUDA_SOURCE_IN_STREAM_ORDER,
                                        .flags = beside ? SHMEMI_CUDA_BESIDE_KERNELS : 0};
    for (unsigned i = 0; i < count; i++) {
        const struct shmemi_cuda_copy *c = &copies[i];
        bool packed = shmemi_cuda_packed(c);
        uint64_t rows = packed ? 1 : c->rows;
        for (uint64_t row = 0; row < rows; row++, parts++) {
            to[parts] = c->to + row * c->to_pitch;
            from[parts] = c->from + row * c->from_pitch;
            n[parts] = packed ? c->n * c->rows : c->n;
        }
    }
    /* One manner, from copy `first` on: it holds for all copies. */
    return shmemi_cuda_in_copy_batch(driver, within, to, from, n, parts, &manner, &first, 1,
                                     stream);
}

#endif
