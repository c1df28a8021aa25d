/*
 * memory.c: the symmetric heap's collective calls.
 *
 * Every PE makes the same calls, so the core's allocator, which is pure arithmetic, gives every PE
 * the same offset without communication. PEs can differ in whether they have the memory to back it:
 * when the heap grows the PEs vote, and one refusal is a NULL on all of them.
 */
#include "memory.h"

#include "address.h"
#include "barrier.h"
#include "below.h"
#include "buffers.h"
#include "caller.h"
#include "error.h"
#include "exchange.h"
#include "failure.h"
#include "front.h"
#include "gpu.h"
#include "collective_arguments.h"
#include "sync.h"
#include "team.h"

#include <stdio.h>

/* Ends the program if it is not in a job. */
static void check_initialised(const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
}

/*
 * Agrees with all PEs on an allocation of size bytes, for which this PE's allocator has returned
 * offset. Returns the offset if every PE has the memory, else a negative value, the same on all
 * PEs. No PE returns before all have begun, so this is also the barrier at the end of the call.
 */
static int64_t agree_on_allocation(int64_t offset, size_t size, const char *call)
{
    static const struct shmemi_reducer least = {shmemi_min_i64, sizeof(int64_t)};
    /* The minimum over all PEs of the offset, of the size and of the negated size. */
    int64_t mine[3] = {offset, (int64_t)size, -(int64_t)size}, all[3];
    shmemi_exchange(&shmemi_world, all, mine, 3, &least, call);
    if (!shmemi_collective_unbroken())
        return -1; /* a PE was lost before it voted */
    if (all[1] != -all[2] && shmemi_state.checks == SHMEMI_CHECKS_FULL)
        shmemi_abort(call, "make the same call with the same size on every PE",
                     "the PEs ask for different sizes, %lld to %lld bytes", (long long)all[1],
                     (long long)-all[2]);
    return all[0];
}

/* Reports that an allocation has failed, and returns NULL. offset is what the core's allocator has
 * returned on this PE: a negative number for the reason. */
static void *report_no_memory(int64_t offset, size_t size, const char *call)
{
    shmemi_allocation_failed(size, call);
    if (offset == SHMEMI_REPORT_MEMORY && !shmemi_host_language_raises()) {
        char line[1200];
        snprintf(line, sizeof line, "%s: %s", call, shmemi_state.core->error());
        shmemi_state.core->report(line);
    }
    return NULL;
}

/* Allocates a block of the symmetric heap on every PE: all compute the same offset, and agree in
 * one reduction whether all have memory for it. Returns NULL on all if any has none. It first
 * completes the caller's operations; the agreement is the barrier at the end. align: a power of two
 * or DEFAULT_ALIGN. hints: SHMEM_MALLOC_ bits; 0: none. zero: the block's bytes become 0. */
static void *allocate(size_t size, size_t align, long hints, bool zero, const char *call)
{
    check_initialised(call);
    if (size == 0)
        return NULL; /* OpenSHMEM: it "performs no action", so there is no barrier either */
    if (!shmemi_collective_begin(&shmemi_world, call))
        return NULL;
    /* Compares the names of the calls alone: there are no arrays, and no further argument. */
    shmemi_coll_check_arguments(&shmemi_world, NULL, NULL, 0, "", 0, call);
    shmemi_quiet(SHMEM_CTX_DEFAULT, call);
    /* If some heap is in GPU memory, heap_alloc grows the heaps of a node together, and fails if a
     * PE does not come in time. This sync waits for late PEs first, without a limit. */
    if (shmemi_state.grows_together)
        shmemi_sync_members(&shmemi_world, call);
    int64_t offset = shmemi_state.core->heap_alloc(size, align, hints);
    if (zero && offset >= 0)
        shmemi_clear((char *)shmemi_state.heap_base + offset, size, call);
    int64_t agreed = agree_on_allocation(offset, size, call);
    shmemi_collective_end();
    if (agreed < 0) {
        if (offset >= 0)
            shmemi_state.core->heap_free(offset);
        return report_no_memory(offset, size, call);
    }
    return (char *)shmemi_state.heap_base + offset;
}

#define DEFAULT_ALIGN 0 /* the alignment that the allocator chooses */

/* Implements shmem_malloc. It and the next three return what allocate returns. */
void *shmemi_malloc(size_t size, const char *call)
{
    return allocate(size, DEFAULT_ALIGN, /* hints */ 0, /* zero */ false, call);
}

/* Implements shmem_calloc: the bytes of the block become 0. */
void *shmemi_calloc(size_t count, size_t size, const char *call)
{
    return allocate(shmemi_bytes(count, size), DEFAULT_ALIGN, 0, true, call);
}

/* Implements shmem_align. Ends the program if alignment is no power of two; a smaller one than that
 * of pointers is raised to it. */
void *shmemi_align(size_t alignment, size_t size, const char *call)
{
    check_initialised(call);
    if (alignment == 0 || (alignment & (alignment - 1)) != 0)
        shmemi_abort(call, "use a power of two", "alignment %zu is not usable", alignment);
    return allocate(size, alignment < sizeof(void *) ? sizeof(void *) : alignment, /* hints */ 0,
                    /* zero */ false, call);
}

/* Implements shmem_malloc_with_hints. hints: SHMEM_MALLOC_ bits. */
void *shmemi_malloc_with_hints(size_t size, long hints, const char *call)
{
    /* Hints of a later specification are ignored. */
    hints &= SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE;
    return allocate(size, DEFAULT_ALIGN, hints, /* zero */ false, call);
}

/* Under full checks, ends the job unless all PEs free or resize the same block: the heap offset of
 * ptr is the same on all of them. */
static void check_same_block(const void *ptr, const char *call)
{
    int64_t offset = ptr == NULL ? -1 : (int64_t)((uintptr_t)ptr - shmemi_state.heap_base);
    shmemi_coll_check_arguments(&shmemi_world, NULL, NULL, 0, "the heap offset of the block",
                                offset, call);
}

/* Returns the offset of a block that the program passes. Ends the job if it is outside the heap or
 * is a registered buffer's block. */
static int64_t offset_of(const void *ptr, const char *call)
{
    uintptr_t offset = (uintptr_t)ptr - shmemi_state.heap_base;
    if (offset >= shmemi_state.heap_size)
        shmemi_abort(call, "pass a pointer that shmem_malloc, calloc, align or realloc returned",
                     "%p is not in the symmetric heap", ptr);
    if (shmemi_buffer_block((int64_t)offset))
        shmemi_abort(call, "use shmemx_buffer_unregister_symmetric",
                     "%p is the symmetric address of a buffer that is registered", ptr);
    return (int64_t)offset;
}

/* Implements shmem_realloc. All PEs resize together; if any has no memory, all keep the old
 * block, and get NULL. */
void *shmemi_realloc(void *ptr, size_t size, const char *call)
{
    if (ptr == NULL)
        return shmemi_malloc(size, call);
    if (size == 0) {
        shmemi_free(ptr, call);
        return NULL;
    }
    check_initialised(call);
    int64_t from = offset_of(ptr, call);
    if (!shmemi_collective_begin(&shmemi_world, call))
        return NULL;
    shmemi_barrier_all(call);
    check_same_block(ptr, call);
    size_t old_size = 0;
    int64_t to = shmemi_state.core->heap_realloc(from, size, &old_size);
    if (to == SHMEMI_NO_BLOCK)
        shmemi_abort(call, "pass a pointer that shmem_malloc, calloc, align or realloc returned",
                     "%p is not the start of an allocation", ptr);
    int64_t agreed = agree_on_allocation(to, size, call);
    if (agreed < 0) {
        /* No memory: the old block is unchanged. */
        if (to == from)
            shmemi_state.core->heap_realloc(from, old_size, &old_size);
        else if (to >= 0)
            shmemi_state.core->heap_free(to);
        shmemi_collective_end();
        return report_no_memory(to, size, call);
    }
    if (to != from) {
        char *base = (char *)shmemi_state.heap_base;
        shmemi_move(base + to, base + from, old_size < size ? old_size : size, call);
        shmemi_state.core->heap_free(from);
        shmemi_barrier_all(call);
    }
    shmemi_collective_end();
    return (char *)shmemi_state.heap_base + to;
}

/* Implements shmem_free: all PEs wait in a barrier, check that they free the same block, and free
 * it. After a loss the block stays, because another PE may still use it. */
void shmemi_free(void *ptr, const char *call)
{
    check_initialised(call);
    /* The barrier comes first: another PE may still be reading or writing the block. */
    if (!shmemi_collective_begin(&shmemi_world, call))
        return;
    shmemi_barrier_all(call);
    check_same_block(ptr, call);
    if (!shmemi_collective_end())
        return; /* another PE may still use the block */
    if (ptr == NULL)
        return;
    if (shmemi_state.core->heap_free(offset_of(ptr, call)) != 0)
        shmemi_abort(call, "free each allocation once, by the pointer that was returned",
                     "%p is not the start of an allocation", ptr);
}
