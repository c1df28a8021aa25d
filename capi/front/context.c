/*
 * context.c: the table of contexts, and errors about contexts.
 */
#include "context.h"

#include "error.h"

struct shmemi_context shmemi_contexts[SHMEMI_CONTEXTS];

/* Ends the program unless the handle names a context that exists now. The lower bits of a handle
 * select an entry of the table; the entry has the whole handle, which differs for an earlier
 * context. */
void shmemi_ctx_check_exists(shmem_ctx_t ctx, const char *call)
{
    if (SHMEMI_LIKELY(shmemi_context_at(ctx)->handle == ctx))
        return;
    if (ctx == SHMEM_CTX_INVALID)
        shmemi_abort(call, "check whether the call that made it returned 0",
                     "the context is SHMEM_CTX_INVALID");
    shmemi_abort(
        call, "pass SHMEM_CTX_DEFAULT or a context of shmem_ctx_create that no call has destroyed",
        "context %d does not exist", (int)ctx);
}

/* Ends the program with the reason why a context, or PE pe in its team, does not exist. */
SHMEMI_COLD void shmemi_ctx_refuse_pe(shmem_ctx_t ctx, int pe, const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    shmemi_ctx_check_exists(ctx, call);
    shmemi_abort(call, "use 0 to shmem_team_n_pes - 1 of the context's team",
                 "PE %d does not exist in the team of context %d, which has %d", pe, (int)ctx,
                 (int)shmemi_context_at(ctx)->n_pes);
}

/* Ends the program if a private context is used by another thread than the one that made it.
 * Callers do so only under SHMEM_CHECKS=full. */
void shmemi_ctx_check(shmem_ctx_t ctx, const char *call)
{
    const struct shmemi_context *c = shmemi_context_at(ctx);
    if (c->options & SHMEM_CTX_PRIVATE && c->owner != shmemi_this_thread())
        shmemi_abort(call, "make it without SHMEM_CTX_PRIVATE, or one in each thread",
                     "context %d belongs to another thread", (int)ctx);
}
