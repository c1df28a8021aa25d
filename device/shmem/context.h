/*
 * context.h: an explicit context: the job as an argument of a kernel, for code that cannot rely on
 * libshmem.so having copied the job's state into its translation unit (unit.h).
 *
 *   auto ctx = shmem_ctx(target);            on the host, target symmetric
 *   kernel<<<...>>>(ctx, target);
 *   shmem_int_p(ctx, target, value, pe);     in the kernel
 *
 * A context of a queue (queue.h) has an order and a completion of its own.
 */
#ifndef SHMEM_CONTEXT_H
#define SHMEM_CONTEXT_H

#include "fault.h"
#include "zz_words.h"

#ifndef __CUDACC_RTC__
#ifdef __cplusplus
extern "C" {
#endif
/*
 * Fills a shmem_context of size bytes for the heap that contains target, and returns 0. Ends the
 * job with a message if no heap contains target, if this PE has no GPU, or if the program's
 * shmem_context has another size than the library's.
 */
int shmemi_context(const void *target, void *context, size_t size);
#ifdef __cplusplus
}
#endif
#endif

#ifdef __cplusplus
/* The address of the job's state for kernels, and the heap that it was made for. */
struct shmem_context {
    const struct shmemi_device_image *image;
    uint64_t heap;

#ifdef __CUDACC__
    __host__ __device__ shmem_context() : image(NULL), heap(0)
    {
    }

    /* Any valid shmem_ctx_t of the C interface stands for the job of the calling translation unit,
     * whose state is in shmemi_here. */
    __device__ __forceinline__ shmem_context(shmemi_ctx_t ctx)
        : image(ctx == SHMEMI_CTX_INVALID ? NULL : &shmemi_here), heap(shmemi_here.job.heap)
    {
    }
#endif
};

#ifndef __CUDACC_RTC__
/* Returns the context for the heap that contains target, on the host. */
static inline struct shmem_context shmem_ctx(const void *target)
{
    struct shmem_context context;
    (void)shmemi_context(target, &context, sizeof context);
    return context;
}
#endif
#endif

#ifdef __CUDACC__
/*
 * Returns the state of the job that a context stands for. Stops the kernel if the context is
 * invalid, or was made for a heap that no longer exists. The report names no PE (-1), and as
 * address the heap of the context.
 */
SHMEMI_D const struct shmemi_device_image *shmemi_open(struct shmem_context ctx, uint32_t call)
{
    if (ctx.image == NULL)
        shmemi_fault(&shmemi_here, SHMEMI_FAULT_CONTEXT, call, -1, 0, 0);
    if (ctx.heap != ctx.image->job.heap)
        shmemi_fault(ctx.image, SHMEMI_FAULT_CONTEXT, call, -1, ctx.heap, 0);
    return ctx.image;
}

/* Returns the context by which a program names this state of the job in its calls. */
SHMEMI_D struct shmem_context shmemi_context_of(const struct shmemi_device_image *image)
{
    struct shmem_context context;
    context.image = image;
    context.heap = image->job.heap;
    return context;
}
#endif

#endif
