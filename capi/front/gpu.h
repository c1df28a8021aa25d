/*
 * gpu.h: buffers that may be in the memory of a GPU.
 *
 * Where this PE has a GPU, its heap and its peers' may be there, and so may any buffer of the
 * program. Every access to memory that the program names goes through these functions, which
 * without a GPU are one test and the plain access.
 */
#ifndef SHMEMI_GPU_H
#define SHMEMI_GPU_H

#include "buffers.h"

#pragma GCC visibility push(hidden)

/* Reports whether this PE's heap is in the memory of its GPU. */
SHMEMI_INLINE bool shmemi_heap_on_gpu(void)
{
    return shmemi_state.near_base[shmemi_state.my_pe] == NULL;
}

/* Reports whether an address is in the memory of a GPU, which the CPU cannot load. Called only
 * where this PE has a GPU. */
bool shmemi_in_gpu(const void *p);

/* Reports whether the CPU can load and store at an address. */
SHMEMI_INLINE bool shmemi_loads(const void *p)
{
    return SHMEMI_LIKELY(!shmemi_state.gpu) || !shmemi_in_gpu(p);
}

/* Copies n bytes, wherever source and destination are, and returns when the copy is complete. */
void shmemi_move_gpu(void *to, const void *from, size_t n, const char *call);

/* Copies n bytes; with a GPU, source and destination may be in its memory. */
SHMEMI_INLINE void shmemi_move(void *to, const void *from, size_t n, const char *call)
{
    if (SHMEMI_UNLIKELY(shmemi_state.gpu))
        shmemi_move_gpu(to, from, n, call);
    else
        memmove(to, from, n);
}

/* Starts a copy of n bytes; shmemi_settle waits until all copies that have begun are complete. */
void shmemi_move_nbi_gpu(void *to, const void *from, size_t n, const char *call);

/* Starts a copy of n bytes, from or to any memory. It is complete when shmemi_settle returns. */
SHMEMI_INLINE void shmemi_move_nbi(void *to, const void *from, size_t n, const char *call)
{
    if (SHMEMI_UNLIKELY(shmemi_state.gpu))
        shmemi_move_nbi_gpu(to, from, n, call);
    else
        memmove(to, from, n);
}

/* Waits until all copies that shmemi_move_nbi has started, in any thread, are complete. */
void shmemi_settle(const char *call);

/* Zeroes n bytes of this PE's symmetric memory. */
void shmemi_clear(void *at, size_t n, const char *call);

/* Returns the address in this process at which PE pe's user heap begins, so that shmemi_move can
 * copy to and from `offset` there; NULL if it cannot. A negative offset is in the internal area,
 * which is in main memory. */
SHMEMI_INLINE char *shmemi_reachable(int pe, int64_t offset)
{
    const struct shmemi_state *s = &shmemi_state;
    if (SHMEMI_UNLIKELY(offset < 0))
        return s->peer_base[pe];
    return SHMEMI_UNLIKELY(s->gpu) ? s->mapped_base[pe] : s->near_base[pe];
}

/* Performs an atomic operation on `width` bytes, 4 or 8, of GPU memory to which the driver can
 * copy. Returns the old value. */
uint64_t shmemi_amo_gpu(enum shmemi_amo op, int width, void *at, uint64_t operand, uint64_t compare,
                        const char *call);

/* Reports whether `at`, symmetric memory of this PE, is in the memory of its GPU. If the heap is
 * there, all registered buffers are, too; statics never are. */
SHMEMI_INLINE bool shmemi_on_gpu(const void *at)
{
    return SHMEMI_UNLIKELY(shmemi_state.gpu) && shmemi_heap_on_gpu() &&
           (shmemi_in_heap(at, 0) || shmemi_buffer_offset(at, 0) != SHMEMI_NO_OFFSET);
}

/* Returns the present value of a word of `width` bytes, at most 8, of this PE's heap in GPU memory.
 */
uint64_t shmemi_read_gpu(const void *at, size_t width, const char *call);

struct shmemi_team;
/* Makes a team known to this PE's kernels, under its handle. Without a GPU it does nothing. */
void shmemi_kernels_show(const struct shmemi_team *t, shmem_team_t handle, const char *call);
/* Removes a team from those that this PE's kernels know. Without a GPU it does nothing. */
void shmemi_kernels_hide(const struct shmemi_team *t, const char *call);
/* Clears the words in GPU memory that the last team of a team slot has left. It is called before
 * the PEs of the next team there have synchronised. Without a GPU it does nothing. */
void shmemi_kernels_renew(int slot, const char *call);

#pragma GCC visibility pop

#endif
