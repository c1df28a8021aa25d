/*
 * order.c: fence and quiet where something is under way that this processor's order
 * of stores does not cover: copies of a GPU's, operations of kernels, and what goes by
 * the network, which each context has for itself.
 */
#include "order.h"

#include "context.h"
#include "error.h"
#include "failure.h"
#include "gpu.h"
#include "netlock.h"
#include "wait.h"
#include "waiter.h"

#include <stdio.h>

/* False: there is nothing to be done on no context. */
static bool usable(shmem_ctx_t ctx, const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    if (ctx == SHMEM_CTX_INVALID)
        return false;
    shmemi_ctx_known(ctx, call);
    return true;
}

void shmemi_fence_slow(shmem_ctx_t ctx, const char *call)
{
    struct shmemi_context *c = shmemi_context_at(ctx);
    if (!usable(ctx, call))
        return;
    /* Copies and the stores of this processor know no order among each other. */
    shmemi_settle(call);
    if (!shmemi_marked(&c->unfenced))
        return;
    shmemi_net_lock(call);
    int rc = shmemi_state.core->fence(c->stream);
    __atomic_store_n(&c->unfenced, 0, __ATOMIC_RELAXED);
    shmemi_net_unlock();
    if (rc == SHMEMI_FAILED)
        shmemi_net_failed(-1, call);
}

static void describe(const void *subject, char *text, size_t size)
{
    snprintf(text, size, "%s PE %d", (const char *)subject, shmemi_state.my_pe);
}

/* What kernels of this process have pushed that the caller has waited for. */
static void quiet_rings(const char *call)
{
    struct shmemi_waiter w = {.ctl = shmemi_my_ctl(),
                              .call = call,
                              .describe = describe,
                              .subject = "for the operations of kernels of",
                              .whom = SHMEMI_NOBODY};
    uint64_t ticket = 0;
    while (shmemi_state.core->quiet_rings(&ticket) == SHMEMI_PENDING)
        shmemi_turn(&w);
    shmemi_turned(&w);
}

/* Until what was posted before on a context is complete. */
static void quiet_network(struct shmemi_context *c, const char *call)
{
    int rc;
    uint64_t ticket = 0;
    struct shmemi_waiter w = {.ctl = shmemi_my_ctl(),
                              .call = call,
                              .describe = describe,
                              .subject = "for the operations of",
                              .whom = SHMEMI_NOBODY};
    for (;;) {
        shmemi_net_lock(call);
        bool begins = ticket == 0;
        rc = shmemi_state.core->quiet(c->stream, &ticket);
        if (begins) {
            c->last_quiet = ticket;
            __atomic_store_n(&c->dirty, SHMEMI_QUIETING, __ATOMIC_RELAXED);
        }
        /* Not when another thread has posted since, or its quiet is the one
         * that covers what it posted. */
        if (rc == SHMEMI_DONE && c->dirty == SHMEMI_QUIETING && c->last_quiet == ticket)
            __atomic_store_n(&c->dirty, SHMEMI_CLEAN, __ATOMIC_RELAXED);
        shmemi_net_unlock();
        if (rc != SHMEMI_PENDING && rc != SHMEMI_AGAIN)
            break;
        shmemi_turn(&w);
    }
    shmemi_turned(&w);
    if (rc == SHMEMI_FAILED)
        shmemi_net_failed(-1, call);
}

void shmemi_quiet_slow(shmem_ctx_t ctx, const char *call)
{
    struct shmemi_context *c = shmemi_context_at(ctx);
    if (!usable(ctx, call))
        return;
    shmemi_settle(call);
    /* Kernels push on the default context. */
    if (shmemi_state.kernel_rings && ctx == SHMEM_CTX_DEFAULT)
        quiet_rings(call);
    if (shmemi_marked(&c->dirty))
        quiet_network(c, call);
}

/* What is under way to other PEs is waited for as well: the engine completes what was
 * posted up to a ticket, whoever it is for. */
void shmemi_pe_quiet(shmem_ctx_t ctx, int pe, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    if (!usable(ctx, call))
        return;
    pe = shmemi_ctx_pe(ctx, pe, call);
    if ((uint32_t)pe >= s->n_pes)
        shmemi_abort(call, "use 0 to shmem_n_pes() - 1", "PE %d does not exist, there are %u", pe,
                     s->n_pes);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* as shmemi_quiet in front.h */
    shmemi_quiet_slow(ctx, call);
}
