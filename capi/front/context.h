/*
 * context.h: the table of contexts.
 */
#ifndef SHMEMI_CONTEXT_H
#define SHMEMI_CONTEXT_H

#include "base.h"

#include <pthread.h>

#pragma GCC visibility push(hidden)

/*
 * A context is an ordered flow of operations. Its handle is its index in the table, in the low
 * bits, and above it a generation: a count that distinguishes a context from earlier ones of the
 * same index. SHMEM_CTX_DEFAULT has index 0.
 */
enum { SHMEMI_CTX_BITS = 10, SHMEMI_CONTEXTS = 1 << SHMEMI_CTX_BITS };

struct shmemi_context {
    /* Changed when the context is made or destroyed. */
    _Alignas(SHMEMI_CACHE_LINE)
        shmem_ctx_t handle; /* 0: the entry is free, unless its index is 0 */
    int32_t n_pes;          /* of its team */
    const int32_t *pes;     /* PE of the job by number in its team; NULL: both are the same */
    uint32_t number;        /* its number in the core, for operations on the network */
    shmem_team_t team;
    long options;   /* SHMEM_CTX_ bits */
    uint64_t owner; /* the thread that made it (shmemi_this_thread) */

    /* Written while the program runs, under net_lock: marks that there are remote operations since
     * the last quiet and since the last fence, and the ticket of that quiet. */
    uint32_t dirty, unfenced;
    uint64_t last_quiet;
};
_Static_assert(sizeof(struct shmemi_context) == SHMEMI_CACHE_LINE,
               "contexts of two threads share no cache line");

/* The values of shmemi_context.dirty, which say whether a quiet has to wait; the word changes under
 * net_lock. CLEAN: no operation is under way. POSTED: operations were posted after the last quiet
 * had begun. QUIETING: that quiet, whose ticket is last_quiet, waits for every operation. */
enum { SHMEMI_CLEAN, SHMEMI_POSTED, SHMEMI_QUIETING };

extern struct shmemi_context shmemi_contexts[SHMEMI_CONTEXTS];

/* Returns the entry of the table that a handle names, whether or not that context still exists. */
SHMEMI_INLINE struct shmemi_context *shmemi_context_at(shmem_ctx_t ctx)
{
    return &shmemi_contexts[(uint32_t)ctx % SHMEMI_CONTEXTS];
}

/* Ends the program unless the handle is that of a context. */
void shmemi_ctx_check_exists(shmem_ctx_t ctx, const char *call);

/* Ends the program because the context, or PE pe of its team, does not exist. */
void shmemi_ctx_refuse_pe(shmem_ctx_t ctx, int pe, const char *call) __attribute__((noreturn));

/* Ends the program if the context, which exists, is private to another thread. */
void shmemi_ctx_check(shmem_ctx_t ctx, const char *call);

/* Returns a number that identifies the calling thread. */
SHMEMI_INLINE uint64_t shmemi_this_thread(void)
{
    return (uint64_t)(uintptr_t)pthread_self();
}

/* Returns the PE of the job that has number pe in the context's team. Where the team is the world,
 * shmemi_reach checks the number. */
SHMEMI_INLINE int shmemi_ctx_pe(shmem_ctx_t ctx, int pe, const char *call)
{
    const struct shmemi_context *c = shmemi_context_at(ctx);
    if (SHMEMI_UNLIKELY(c->handle != ctx))
        shmemi_ctx_refuse_pe(ctx, pe, call);
    if (SHMEMI_LIKELY(c->pes == NULL))
        return pe;
    if (SHMEMI_UNLIKELY((uint32_t)pe >= (uint32_t)c->n_pes))
        shmemi_ctx_refuse_pe(ctx, pe, call);
    return c->pes[pe];
}

#pragma GCC visibility pop

#endif
