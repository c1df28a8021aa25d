/*
 * context.h: the table of contexts.
 */
#ifndef SHMEMI_CONTEXT_H
#define SHMEMI_CONTEXT_H

#include "base.h"

#include <pthread.h>

#pragma GCC visibility push(hidden)

/*
 * A stream of operations. The handle of a context is its place in the table, in the
 * low bits, and a generation above. SHMEM_CTX_DEFAULT has the first place.
 */
enum { SHMEMI_CTX_BITS = 10, SHMEMI_CONTEXTS = 1 << SHMEMI_CTX_BITS };

struct shmemi_context {
    /* Changed when the context is made or destroyed. */
    _Alignas(SHMEMI_CACHE_LINE)
        shmem_ctx_t handle; /* 0: there is none here, unless it is the first place */
    int32_t n_pes;
    const int32_t *pes; /* of each number in its team; NULL: the numbers of PEs */
    uint32_t stream;    /* of the core's */
    shmem_team_t team;
    long options;
    uint64_t owner; /* the thread that made it */

    /* Written while the program runs, under net_lock: remote operations since the last
     * quiet and the last fence; and what remote.c knows of that quiet. */
    uint32_t dirty, unfenced;
    uint64_t last_quiet;
};
_Static_assert(sizeof(struct shmemi_context) == SHMEMI_CACHE_LINE,
               "contexts of two threads share no cache line");

/* shmemi_context.dirty. Each post makes it POSTED; QUIETING: the quiet of last_quiet, and
 * of no older ticket, covers every operation. Both change under the lock. */
enum { SHMEMI_CLEAN, SHMEMI_POSTED, SHMEMI_QUIETING };

extern struct shmemi_context shmemi_contexts[SHMEMI_CONTEXTS];

/* Where a context is, if there is one; any handle has a place. */
SHMEMI_INLINE struct shmemi_context *shmemi_context_at(shmem_ctx_t ctx)
{
    return &shmemi_contexts[(uint32_t)ctx % SHMEMI_CONTEXTS];
}

/* Does not return for what is no context. */
void shmemi_ctx_known(shmem_ctx_t ctx, const char *call);

/* Why a context or a number in its team cannot be used. */
void shmemi_ctx_refuse(shmem_ctx_t ctx, int pe, const char *call) __attribute__((noreturn));

/* The same for a context that is private to another thread; it returns otherwise. */
void shmemi_ctx_check(shmem_ctx_t ctx, const char *call);

SHMEMI_INLINE uint64_t shmemi_this_thread(void)
{
    return (uint64_t)(uintptr_t)pthread_self();
}

/* The PE that has a number in the context's team. Whether there is one is the affair
 * of shmemi_reach where the team is the world. */
SHMEMI_INLINE int shmemi_ctx_pe(shmem_ctx_t ctx, int pe, const char *call)
{
    const struct shmemi_context *c = shmemi_context_at(ctx);
    if (SHMEMI_UNLIKELY(c->handle != ctx))
        shmemi_ctx_refuse(ctx, pe, call);
    if (SHMEMI_LIKELY(c->pes == NULL))
        return pe;
    if (SHMEMI_UNLIKELY((uint32_t)pe >= (uint32_t)c->n_pes))
        shmemi_ctx_refuse(ctx, pe, call);
    return c->pes[pe];
}

#pragma GCC visibility pop

#endif
