/*
 * strided.c: strided copies on a stream, as copies of their elements.
 */
#include "own.h"

#include <shmem.h>
#include <shmemx.h>

typedef void copy(void *dest, const void *source, size_t nbytes, int pe,
                  struct CUstream_st *stream);

/* Copies nelems elements of size bytes on the stream, by the function `copy_bytes`: each element by
 * its own call, or all by one call if they have no gaps. dst and sst are the strides of dest and
 * source, in elements. Ends the job if a stride is less than 1. */
static void copy_elements(copy *copy_bytes, char *dest, const char *source, ptrdiff_t dst,
                          ptrdiff_t sst, size_t nelems, size_t size, int pe,
                          struct CUstream_st *stream, const char *call)
{
    if (dst < 1 || sst < 1) {
        fprintf(stderr, "shmem: PE %d: %s: strides of %td and %td (use 1 or more)\n", shmem_my_pe(),
                call, dst, sst);
        shmem_global_exit(1);
    }
    if (dst == 1 && sst == 1) {
        copy_bytes(dest, source, nelems * size, pe, stream);
        return;
    }
    for (size_t i = 0; i < nelems; i++)
        copy_bytes(dest + i * (size_t)dst * size, source + i * (size_t)sst * size, size, pe,
                   stream);
}

/* Enqueues a strided put on a stream, as one put for each element. */
void nvshmemi_iput_on_stream(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                             size_t nelems, size_t size, int pe, struct CUstream_st *stream,
                             const char *call)
{
    copy_elements(shmemx_putmem_on_stream, dest, source, dst, sst, nelems, size, pe, stream, call);
}

/* Enqueues a strided get on a stream, as one get for each element. */
void nvshmemi_iget_on_stream(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                             size_t nelems, size_t size, int pe, struct CUstream_st *stream,
                             const char *call)
{
    copy_elements(shmemx_getmem_on_stream, dest, source, dst, sst, nelems, size, pe, stream, call);
}
