/*
 * bounce.h: bounce buffers for operands that the driver ties to the program's context, such as
 * memory of cudaMalloc. While the program loads a kernel beside a running one, the driver carries
 * out no copy of such memory, so the proxies cannot read or write it. A kernel that already runs
 * can. It copies the operand through bounce buffers, piece by piece, and the proxies copy those:
 * the buffers are memory that no context owns.
 *
 * All kernels of the PE share the buffers. A kernel that waits for a free buffer waits for running
 * kernels, and each of those waits for the proxies only.
 */
#ifndef SHMEM_KERNELS_BOUNCE_H
#define SHMEM_KERNELS_BOUNCE_H

#include "share.h"

#include <shmem/notify.h>

/*
 * Reserves a bounce buffer for this block, until shmemi_bounce_release, and returns its number.
 * taken has a bit for each buffer that is in use.
 */
SHMEMI_D uint32_t shmemi_bounce_reserve(uint32_t *taken)
{
    __shared__ uint32_t buffer;
    if (threadIdx.x == 0) {
        uint32_t polls = 0, i = blockIdx.x % SHMEMI_BOUNCE_BUFFERS;
        while (shmemi_claim_near(taken, 1u << i) >> i & 1) { /* it was in use before */
            i = (i + 1) % SHMEMI_BOUNCE_BUFFERS;
            shmemi_pause_near(&polls);
        }
        buffer = i;
    }
    __syncthreads();
    return buffer;
}

/* Releases a bounce buffer, after all threads of the block have used it. */
SHMEMI_D void shmemi_bounce_release(uint32_t *taken, uint32_t buffer)
{
    __syncthreads();
    if (threadIdx.x == 0)
        shmemi_release_claim(taken, 1u << buffer);
}

/* Called by all threads of a block after a blocking put on a stream: waits until its bytes are at
 * the PE, if they go over the network. Stores of a kernel are visible when the kernel has ended. */
SHMEMI_D void shmemi_complete_put(const struct shmemi_stream_call *c)
{
    if (shmemi_direct(&shmemi_job, (const void *)(uintptr_t)c->dest, c->pe) == NULL)
        shmemi_quiet_together<shmemi_by_block>(&shmemi_job, c->call);
}

enum shmemi_bounced {
    SHMEMI_BOUNCED_PUT,
    SHMEMI_BOUNCED_GET,
    SHMEMI_BOUNCED_PUT_SIGNAL,
    SHMEMI_BOUNCED_PUT_NOTIFY
};

/*
 * Carries out a put or get whose operand the proxies cannot reach, piece by piece through a bounce
 * buffer. Block b moves pieces b, b + gridDim.x, ... A put with signal or notification uses one
 * block only, and has 1 byte or more, since its last piece takes the signal along. All puts and
 * gets here wait (NBI is 0): a put until the buffer may be used again, a get until the bytes are in
 * it.
 */
template <enum shmemi_bounced WHAT> SHMEMI_D void shmemi_bounce(const struct shmemi_stream_call *c)
{
    uint32_t *taken = (uint32_t *)(uintptr_t)c->bounce;
    uint32_t buffer = shmemi_bounce_reserve(taken);
    char *at = (char *)taken + SHMEMI_BOUNCE_HEAD + buffer * (uint64_t)SHMEMI_BOUNCE_BYTES;
    char *dest = (char *)(uintptr_t)c->dest;
    const char *source = (const char *)(uintptr_t)c->source;
    const uint64_t step = gridDim.x * (uint64_t)SHMEMI_BOUNCE_BYTES;
    for (uint64_t i = blockIdx.x * (uint64_t)SHMEMI_BOUNCE_BYTES; i < c->count; i += step) {
        uint64_t n = c->count - i < SHMEMI_BOUNCE_BYTES ? c->count - i : SHMEMI_BOUNCE_BYTES;
        if (WHAT == SHMEMI_BOUNCED_GET) {
            shmemi_get<shmemi_by_block, 0>(&shmemi_job, c->call, at, source + i, n, c->pe);
            shmemi_copy<shmemi_by_block, 0 /* FAR */>(dest + i, at, n);
            continue; /* the next get, by the ring, begins with a sync of all threads */
        }
        shmemi_copy<shmemi_by_block, 0 /* FAR */>(at, source + i, n);
        if (WHAT == SHMEMI_BOUNCED_PUT || i + n < c->count) {
            shmemi_put<shmemi_by_block, 0>(&shmemi_job, c->call, dest + i, at, n, c->pe);
            continue; /* the proxy has read the buffer when this put returns */
        }
        /* A signal follows only the bytes of its own put: earlier pieces need the fence. */
        if (i > 0 && threadIdx.x == 0)
            shmemi_fence(&shmemi_job, c->call);
        if (WHAT == SHMEMI_BOUNCED_PUT_NOTIFY)
            shmemi_put_notify<shmemi_by_block, 0>(&shmemi_job, c->call, dest + i, at, n, c->op,
                                                  c->pe);
        else
            shmemi_put_signal<shmemi_by_block, 0>(&shmemi_job, c->call, dest + i, at, n,
                                                  (uint64_t *)(uintptr_t)c->signal, c->value, c->op,
                                                  c->pe);
    }
    shmemi_bounce_release(taken, buffer);
    if (WHAT == SHMEMI_BOUNCED_PUT && !c->nbi)
        shmemi_complete_put(c);
}

#endif
