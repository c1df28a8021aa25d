/*
 * order.h: fence and quiet, over loads and stores and over the rings together.
 */
#ifndef SHMEM_ORDER_H
#define SHMEM_ORDER_H

#include "path.h"
#include "scope.h"

#ifdef SHMEMI_KERNEL

/* Stops the kernel if there is no job: before init or after finalize. */
SHMEMI_D void shmemi_check_init(const struct shmemi_device_image *image, uint32_t call)
{
    if (image->job.n_pes == 0)
        shmemi_fault(image, SHMEMI_FAULT_INIT, call, -1 /* no PE */, 0, 0 /* no range */);
}

/*
 * Returns the number of the ring into which this thread pushes a quiet or fence of all rings. Any
 * ring would do; the thread's own ring is shared with the fewest other threads. The number of this
 * PE only counts where rings go by PE. There is at least one ring.
 */
SHMEMI_D uint32_t shmemi_own_ring(const struct shmemi_device_image *image)
{
    return shmemi_ring_index(&image->job, (uint32_t)image->job.me);
}

/*
 * Reports whether any ring has got operations since the last quiet. It costs two loads of near
 * memory for each ring; a quiet by the proxy costs two trips over PCIe.
 */
SHMEMI_D int shmemi_pushed(const struct shmemi_device_image *image)
{
    const struct shmemi_ring *rings = (const struct shmemi_ring *)image->job.rings;
    for (uint32_t i = 0; i < image->job.ring_count; i++) {
        const struct shmemi_ring_near *near = shmemi_near_of(&rings[i]);
        if (shmemi_load_near(&near->head) != shmemi_load_near(&near->quieted))
            return 1;
    }
    return 0;
}

/* The most rings that a quiet tracks one by one, by a bit of a 64-bit word for each. With more
 * rings, each quiet goes to the proxy. */
#define SHMEMI_QUIETED 64

/*
 * Called before a quiet: records the head of each ring that has got operations since the last one,
 * in the ring's word noted. Operations pushed later are not covered by the quiet. Returns a bit for
 * each ring that it has recorded. The word is in the ring's near memory, and the claim noting gives
 * it to one quiet at a time: an array of heads in each thread took 512 bytes of stack. If another
 * quiet has the claim, the ring is not recorded, and the next quiet goes to the proxy once more.
 * The head is read after the claim, so that a recorded head only grows. mine is the ring into which
 * the quiet is pushed, so it always counts as changed.
 */
SHMEMI_COLD uint64_t shmemi_note_heads(const struct shmemi_ring *rings, uint32_t count,
                                       uint32_t mine)
{
    uint64_t noted = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < count && count <= SHMEMI_QUIETED; i++) {
        struct shmemi_ring_near *near = shmemi_near_of(&rings[i]);
        if ((i != mine && shmemi_load_near(&near->head) == shmemi_load_near(&near->quieted)) ||
            shmemi_claim_near(&near->noting, 1 /* bits */) != 0)
            continue;
        shmemi_store_near(&near->noted, shmemi_load_near(&near->head));
        noted |= (uint64_t)1 << i;
    }
    return noted;
}

/*
 * Called after a quiet: publishes the heads that were recorded before it as quieted, since all
 * operations below them are complete, and releases their claims. The quiet itself counts as well,
 * if it is the next operation in its ring. The fence passes on what this thread has seen: a thread
 * that loads quieted and finds nothing to do makes a fence of its own (shmemi_quiet).
 */
SHMEMI_COLD void shmemi_note_quieted(const struct shmemi_ring *rings, uint64_t noted, uint32_t mine)
{
    shmemi_fence_system();
#pragma unroll 1
    for (uint32_t i = 0; i < SHMEMI_QUIETED && noted >> i != 0; i++) {
        struct shmemi_ring_near *near = shmemi_near_of(&rings[i]);
        if ((noted >> i & 1) == 0)
            continue;
        uint64_t position = shmemi_load_near(&near->noted);
        if (i == mine && shmemi_load_near(&near->head) == position + 1)
            position++;
        shmemi_store_near(&near->quieted, position);
        shmemi_release_claim(&near->noting, 1 /* bits */);
    }
}

/* Waits until the operations that any thread of this PE has pushed into rings are complete. If no
 * ring has got operations since the last quiet, nothing is pushed. If the job ends, so does the
 * thread. */
SHMEMI_COLD void shmemi_quiet_rings(const struct shmemi_device_image *image)
{
    if (!shmemi_pushed(image))
        return;
    const struct shmemi_ring *rings = (const struct shmemi_ring *)image->job.rings;
    uint32_t count = image->job.ring_count, mine = shmemi_own_ring(image);
    uint64_t noted = shmemi_note_heads(rings, count, mine);
    if (shmemi_ring_quiet(rings, count, mine, 0 /* context */) != 0)
        shmemi_end();
    shmemi_note_quieted(rings, noted, mine);
}

/* Orders the operations that were pushed before, into any ring, before the ones that are pushed
 * next. If the job ends, so does the thread. */
SHMEMI_COLD void shmemi_fence_rings(const struct shmemi_device_image *image)
{
    if (shmemi_ring_fence((const struct shmemi_ring *)image->job.rings, image->job.ring_count,
                          shmemi_own_ring(image), 0 /* context */) != 0)
        shmemi_end();
}

/* Does the part of a fence for PEs whose memory this GPU cannot address: the fence of the rings, if
 * any ring has got operations since the last quiet. */
SHMEMI_COLD void shmemi_fence_slowly(const struct shmemi_device_image *image, uint32_t call)
{
    shmemi_check_init(image, call);
    if (shmemi_pushed(image))
        shmemi_fence_rings(image);
}

/*
 * Reports whether this GPU can address the memory of all PEs of the job: then there are no rings,
 * and a fence of the GPU is enough. Without a job it is false, so that the slower path finds that
 * error.
 */
SHMEMI_D int shmemi_all_direct(const struct shmemi_device_image *image)
{
    return __builtin_expect((image->job.n_pes != 0) & (image->job.ring_count == 0), 1);
}

/*
 * Orders the earlier operations of this thread, and of the threads with which it has synchronised
 * since, before its later ones, at each PE.
 */
SHMEMI_D void shmemi_fence(const struct shmemi_device_image *image, uint32_t call)
{
    if (!shmemi_all_direct(image))
        shmemi_fence_slowly(image, call);
    shmemi_fence_system();
}

/*
 * Waits until the earlier operations of this thread, and of the threads with which it has
 * synchronised since, are complete at each PE. The quiet of the rings precedes the fence: if
 * another thread has completed the rings' operations, this thread sees after the fence what that
 * thread saw.
 */
SHMEMI_D void shmemi_quiet(const struct shmemi_device_image *image, uint32_t call)
{
    if (!shmemi_all_direct(image)) {
        shmemi_check_init(image, call);
        shmemi_quiet_rings(image);
    }
    shmemi_complete_system();
}

/* Does a quiet by the threads of a scope together, for the earlier operations of all of them. */
template <class SCOPE>
SHMEMI_D void shmemi_quiet_together(const struct shmemi_device_image *image, uint32_t call)
{
    SCOPE::sync();
    if (SCOPE::rank() == 0)
        shmemi_quiet(image, call);
    SCOPE::sync();
}

/* Does a fence by the threads of a scope together, for the operations of all of them. */
template <class SCOPE>
SHMEMI_D void shmemi_fence_together(const struct shmemi_device_image *image, uint32_t call)
{
    SCOPE::sync();
    if (SCOPE::rank() == 0)
        shmemi_fence(image, call);
    SCOPE::sync();
}

#endif

#endif
