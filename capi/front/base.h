/*
 * base.h: the state of the job, and what every file of libshmem.so needs to read it.
 */
#ifndef SHMEMI_BASE_H
#define SHMEMI_BASE_H

#include "amo.h"
#include "functions.h"
#include "order.h"

#include <stdbool.h>
#include <string.h>

#include <shmem.h>

#define SHMEMI_LIKELY(x) __builtin_expect(!!(x), 1)
#define SHMEMI_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SHMEMI_COLD __attribute__((cold, noinline))

/* The version script hides each name that is not public; hidden visibility also spares the
 * indirection through the global offset table. */
#pragma GCC visibility push(hidden)

extern struct shmemi_state shmemi_state;

/* The value of init_count in a child that was forked after init. */
#define SHMEMI_FORKED UINT32_MAX

/* Returns the control page of a PE, which ends where its user heap begins. base: the PE's
 * peer_base, which is not NULL. */
SHMEMI_INLINE struct shmemi_ctl *shmemi_ctl_of(char *base)
{
    return (struct shmemi_ctl *)base - 1;
}

/* Returns the control page of this PE. */
SHMEMI_INLINE struct shmemi_ctl *shmemi_my_ctl(void)
{
    return shmemi_ctl_of(shmemi_state.peer_base[shmemi_state.my_pe]);
}

/* Returns the control page of the first PE of this node, which has the words that all PEs of it
 * share. */
SHMEMI_INLINE struct shmemi_ctl *shmemi_node_ctl(void)
{
    return shmemi_ctl_of(shmemi_state.peer_base[shmemi_state.node_members[0]]);
}

/* Returns the bytes of nelems elements of size bytes; SIZE_MAX, which no memory has, if the product
 * overflows. */
SHMEMI_INLINE size_t shmemi_bytes(size_t nelems, size_t size)
{
    size_t n;
    return SHMEMI_UNLIKELY(__builtin_mul_overflow(nelems, size, &n)) ? SIZE_MAX : n;
}

/* Reports whether two arrays have a byte in common. */
SHMEMI_INLINE bool shmemi_overlap(const void *a, size_t na, const void *b, size_t nb)
{
    return a != NULL && b != NULL && (uintptr_t)a < (uintptr_t)b + nb &&
           (uintptr_t)b < (uintptr_t)a + na;
}

/* Reports whether the n bytes are in the user heap. No bytes at its very end count as inside: a
 * program that goes through an array in pieces may end there with a piece of no elements. */
SHMEMI_INLINE bool shmemi_in_heap(const void *addr, size_t n)
{
    uintptr_t offset = (uintptr_t)addr - shmemi_state.heap_base;
    return offset <= shmemi_state.heap_size && n <= shmemi_state.heap_size - offset;
}

/* Reports whether a mark of remote operations (such as shmemi_context.dirty) is set. Other threads
 * may set marks at any time. A thread that posted an operation sees the mark of that operation. */
SHMEMI_INLINE bool shmemi_marked(const uint32_t *mark)
{
    return shmemi_read_once(mark) != 0;
}

/* Reports whether copies by the GPU driver may be under way. A thread sees the count of each copy
 * that it started itself, or that a thread started with which it has synchronised. gpu_settled is
 * raised after a wait for the copies that it counts, so equal counts mean that all are complete;
 * acquire, for the bytes. */
SHMEMI_INLINE bool shmemi_gpu_moving(void)
{
    uint64_t settled = shmemi_observe(&shmemi_state.gpu_settled);
    return shmemi_read_once(&shmemi_state.gpu_started) != settled;
}

#pragma GCC visibility pop

#endif
