/*
 * address.h: symmetric addresses, and errors about other addresses. Offsets count from the start of
 * the user heap. Negative ones are in the internal area, which includes the program's statics.
 */
#ifndef SHMEMI_ADDRESS_H
#define SHMEMI_ADDRESS_H

#include "buffers.h"

#pragma GCC visibility push(hidden)

/* Returns the offset from the user heap of n bytes of symmetric memory outside of it, in the
 * program's statics or in a registered buffer; SHMEMI_NO_OFFSET if they are in neither. */
int64_t shmemi_outside_offset(const void *addr, size_t n);

/* Reports whether the n bytes are in the user heap, in the program's statics, or in a registered
 * buffer. */
SHMEMI_INLINE bool shmemi_symmetric(const void *addr, size_t n)
{
    return SHMEMI_LIKELY(shmemi_in_heap(addr, n)) ||
           shmemi_outside_offset(addr, n) != SHMEMI_NO_OFFSET;
}

/* Returns the offset of a symmetric address from the user heap; SHMEMI_NO_OFFSET if the address is
 * not symmetric, which callers have ruled out before. */
SHMEMI_INLINE int64_t shmemi_offset(const void *addr)
{
    return SHMEMI_LIKELY(shmemi_in_heap(addr, 0))
               ? (int64_t)((uintptr_t)addr - shmemi_state.heap_base)
               : shmemi_outside_offset(addr, 0);
}

/* Returns the address at which this process can load and store the memory of PE pe at a valid
 * symmetric address; NULL if PE pe is on another node, or the address is on a heap in the memory of
 * a GPU. Memory at a negative offset is main memory also where the heap is not: so its base is
 * peer_base, which is NULL only for PEs of other nodes. */
SHMEMI_INLINE void *shmemi_near(const void *addr, int pe)
{
    int64_t offset = shmemi_offset(addr);
    char *base = offset < 0 ? shmemi_state.peer_base[pe] : shmemi_state.near_base[pe];
    return base ? base + offset : NULL;
}

/* Writes the name of a symmetric address for reports, which is the same on every PE, to text, and
 * returns text. */
#define SHMEMI_PLACE 160
const char *shmemi_place(char text[SHMEMI_PLACE], const void *addr);

/* Ends the program if addr is NULL and an allocation has failed before, which explains the NULL.
 * `what` names the argument. */
void shmemi_check_allocated(const char *what, const void *addr, const char *call);

/* Records a failed allocation, for the next message about a NULL. */
void shmemi_allocation_failed(size_t size, const char *call);

/* Ends the program because the n bytes at addr, which `what` names, are not symmetric memory. */
void shmemi_refuse_range(const char *what, const void *addr, size_t n, const char *call)
    __attribute__((noreturn));

/* For n bytes at addr that are not symmetric, which the caller has found out: ends the program if
 * they begin in a registered buffer or a symmetric static, and so run past its end, or if they
 * begin in a static and the statics of this job are not symmetric. Returns otherwise. */
void shmemi_refuse_outside(const void *addr, size_t n, const char *call);

/* Ends the program unless the address is a multiple of n. */
void shmemi_need_aligned(const void *addr, size_t n, const char *call);

/* Under SHMEM_CHECKS=full, ends the program if the n bytes are in the heap but not within one
 * allocation. */
void shmemi_check_block(const void *addr, size_t n, const char *call);
/* Under SHMEM_CHECKS=full, ends the program unless the address is a multiple of n. */
void shmemi_check_aligned(const void *addr, size_t n, const char *call);

/* Ends the job unless n bytes at p are symmetric; with SHMEM_CHECKS=full, unless they
 * are in one allocation. */
void shmemi_check_symmetric(const char *name, const void *p, size_t n, const char *call);

#pragma GCC visibility pop

#endif
