/*
 * quiet.c: fence and quiet for operations that a memory fence of this processor does not cover:
 * copies of a GPU, operations of kernels, and operations on the network, which are counted for each
 * context separately.
 */
#include "quiet.h"

#include "context.h"
#include "error.h"
#include "failure.h"
#include "gpu.h"
#include "netlock.h"
#include "ranges.h"
#include "wait.h"
#include "waiter.h"

#include <stdio.h>

/* Ends the job if the context does not exist. Returns false for SHMEM_CTX_INVALID: then the call
 * does nothing. */
static bool check_context(shmem_ctx_t ctx, const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    if (ctx == SHMEM_CTX_INVALID)
        return false;
    shmemi_ctx_check_exists(ctx, call);
    return true;
}

/* Does what shmemi_fence cannot do inline: waits until the GPU driver's copies are complete, and
 * calls the engine, which orders the operations that this context posts later after those that it
 * has posted so far. It does not wait for operations on the network. An error is reported as one of
 * no single PE (-1). */
void shmemi_fence_slow(shmem_ctx_t ctx, const char *call)
{
    struct shmemi_context *c = shmemi_context_at(ctx);
    if (!check_context(ctx, call))
        return;
    /* The GPU driver's copies are not ordered with the stores of this processor. */
    shmemi_settle(call);
    if (!shmemi_marked(&c->unfenced))
        return;
    shmemi_net_lock(call);
    int rc = shmemi_state.core->fence(c->number);
    shmemi_write_once(&c->unfenced, 0);
    shmemi_net_unlock();
    if (rc == SHMEMI_FAILED)
        shmemi_fail_network(-1, call);
}

/* For the hang report: names what the wait is for, and this PE. */
static void describe(const void *subject, char *text, size_t size)
{
    snprintf(text, size, "%s PE %d", (const char *)subject, shmemi_state.my_pe);
}

/* Waits until the operations that kernels had submitted to the rings when the call began are
 * complete. The core sets ticket, which is 0 at first, to the number of this wait. */
static void quiet_rings(const char *call)
{
    struct shmemi_waiter w = {.ctl = shmemi_my_ctl(),
                              .call = call,
                              .describe = describe,
                              .subject = "for the operations of kernels of",
                              .whom = SHMEMI_NOBODY};
    uint64_t ticket = 0;
    while (shmemi_state.core->quiet_rings(&ticket) == SHMEMI_PENDING)
        shmemi_wait_step(&w);
    shmemi_wait_over(&w);
}

/* Waits until the operations on the network that were posted on a context before this call are
 * complete. The engine sets ticket, which is 0 at first, to the number of this quiet. It returns
 * SHMEMI_PENDING or SHMEMI_AGAIN while the quiet has to be continued. */
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
        rc = shmemi_state.core->quiet(c->number, &ticket);
        if (begins) { /* the first call of the engine has covered all that was posted */
            c->last_quiet = ticket;
            shmemi_write_once(&c->dirty, SHMEMI_QUIETING);
        }
        /* The context stays marked as dirty if another thread has posted an operation since, or has
         * begun a later quiet, which covers that operation. */
        if (rc == SHMEMI_DONE && c->dirty == SHMEMI_QUIETING && c->last_quiet == ticket) {
            shmemi_write_once(&c->dirty, SHMEMI_CLEAN);
            shmemi_write_once(&c->unfenced, 0); /* complete operations need no fence */
        }
        shmemi_net_unlock();
        if (rc != SHMEMI_PENDING && rc != SHMEMI_AGAIN)
            break;
        shmemi_wait_step(&w);
    }
    shmemi_wait_over(&w);
    if (rc == SHMEMI_FAILED)
        shmemi_fail_network(-1, call);
}

/* Waits for copies of the GPU, operations of kernels, and the context's operations on the
 * network. */
void shmemi_quiet_slow(shmem_ctx_t ctx, const char *call)
{
    struct shmemi_context *c = shmemi_context_at(ctx);
    if (!check_context(ctx, call))
        return;
    shmemi_settle(call);
    /* Operations of kernels belong to the default context. */
    if (shmemi_state.kernel_rings && ctx == SHMEM_CTX_DEFAULT)
        quiet_rings(call);
    if (shmemi_marked(&c->dirty))
        quiet_network(c, call);
}

/* Completes the operations to PE pe. It waits for operations to other PEs as well: the engine
 * completes all that was posted up to a ticket, to any PE. */
void shmemi_pe_quiet(shmem_ctx_t ctx, int pe, const char *call)
{
    if (!check_context(ctx, call))
        return;
    pe = shmemi_ctx_pe(ctx, pe, call);
    shmemi_check_pe(pe, call);
    shmemi_fence_all();
    shmemi_quiet_slow(ctx, call);
}

/* Performs a fence that a profiler shows as a range. */
void shmemi_fence_ranged(shmem_ctx_t ctx, const char *call)
{
    SHMEMI_RANGE(MEMORDER, call);
    shmemi_fence_slow(ctx, call);
}

/* Performs a quiet that a profiler shows as a range. */
void shmemi_quiet_ranged(shmem_ctx_t ctx, const char *call)
{
    SHMEMI_RANGE(MEMORDER, call);
    shmemi_quiet_slow(ctx, call);
}
