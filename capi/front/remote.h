/*
 * remote.h: operations on PEs of other nodes, by heap offset. Offsets below 0
 * reach the internal area, and the statics of the program in it. The arguments are trusted; the
 * public functions check theirs first.
 */
#ifndef SHMEMI_REMOTE_H
#define SHMEMI_REMOTE_H

#include "statics.h"

#pragma GCC visibility push(hidden)

/* Or in the program's statics, or in a buffer that is registered? */
SHMEMI_INLINE bool shmemi_symmetric(const void *addr, size_t n)
{
    return SHMEMI_LIKELY(shmemi_in_heap(addr, n)) ||
           shmemi_outside_offset(addr, n) != SHMEMI_NO_OFFSET;
}

/* The offset of a valid symmetric address from the user heap. */
SHMEMI_INLINE int64_t shmemi_offset(const void *addr)
{
    return SHMEMI_LIKELY(shmemi_in_heap(addr, 0))
               ? (int64_t)((uintptr_t)addr - shmemi_state.heap_base)
               : shmemi_outside_offset(addr, 0);
}

/* Where a valid symmetric address of PE pe is in this process's main memory;
 * NULL: the PE is on another node, or its heap is in the memory of a GPU. */
SHMEMI_INLINE void *shmemi_near(const void *addr, int pe)
{
    int64_t offset = shmemi_offset(addr);
    char *base = offset < 0 ? shmemi_state.peer_base[pe] : shmemi_state.near_base[pe];
    return base ? base + offset : NULL;
}

/* Around everything that posts; and what is done under it is seen by whoever has it next. */
void shmemi_net_lock(const char *call);
void shmemi_net_unlock(void);

/* shmemi_context.dirty. Each post makes it POSTED; QUIETING: the quiet of last_quiet, and
 * of no older ticket, covers every operation. Both change under the lock. */
enum { SHMEMI_CLEAN, SHMEMI_POSTED, SHMEMI_QUIETING };

/* How reports name a symmetric address: where it is the same on every PE. */
#define SHMEMI_PLACE 160
const char *shmemi_place(char text[SHMEMI_PLACE], const void *addr);

/* Ends the program where addr is NULL and an allocation has failed before, which is why. `what`
 * names the argument. */
void shmemi_refuse_failed(const char *what, const void *addr, const char *call);

/* memory.c. The call of the allocation that failed last, and its size; NULL: none has. */
const char *shmemi_failed_allocation(size_t *size);

/* Ends the program for `what`, n bytes at addr that are not symmetric memory. */
void shmemi_refuse_range(const char *what, const void *addr, size_t n, const char *call)
    __attribute__((noreturn));

/* False: it failed, and the thread has been told. */
bool shmemi_net_put(shmem_ctx_t ctx, int pe, int64_t offset, const void *source, size_t n, bool nbi,
                    const char *call);
void shmemi_net_get(shmem_ctx_t ctx, int pe, int64_t offset, void *dest, size_t n, bool nbi,
                    const char *call);
void shmemi_net_put_signal(shmem_ctx_t ctx, int pe, int64_t offset, const void *source, size_t n,
                           int64_t signal_offset, uint64_t signal, int op, bool nbi,
                           const char *call);
/* Halves of a put and a get of at most net_chunk bytes, for callers that have
 * several under way: true when it has to be finished before source may be reused,
 * or dest be read. */
bool shmemi_net_put_start(shmem_ctx_t ctx, int pe, int64_t offset, const void *source, size_t n,
                          struct shmemi_request *r, const char *call);
bool shmemi_net_get_start(shmem_ctx_t ctx, int pe, int64_t offset, void *dest, size_t n,
                          struct shmemi_request *r, const char *call);
void shmemi_net_finish(struct shmemi_request *r, int pe, const char *call);
/* The library's own messages: no quiet of the program waits for them, unless the
 * source may not be used again when the call returns. */
void shmemi_net_set(int pe, int64_t offset, uint64_t value, const char *call);
void shmemi_net_set_with(int pe, int64_t offset, const void *source, size_t n, int64_t count_offset,
                         uint64_t count, const char *call);

/* SHMEM_CHECKS=full: the n bytes, if they are in the heap, are of one allocation;
 * and an address is a multiple of n. They do not return otherwise. */
void shmemi_check_block(const void *addr, size_t n, const char *call);
void shmemi_check_aligned(const void *addr, size_t n, const char *call);

/* The heap offset of n bytes at PE pe, when they are there, and when `local`, which
 * the program calls `what`, is not NULL. It does not return otherwise. */
int64_t shmemi_check_target(const void *addr, size_t n, const void *local, int pe, const char *what,
                            const char *call);

#pragma GCC visibility pop

#endif
