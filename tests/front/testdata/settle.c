/*
 * settle.c: two threads start copies of a GPU and wait for them (capi/front/gpu.c, quiet.c). The
 * core here counts the copies. And copies ask the driver where a pointer is only if neither end is
 * in this PE's own heap.
 */
#define _GNU_SOURCE
#include "context.h"
#include "failure.h"
#include "front.h"
#include "gpu.h"
#include "netlock.h"
#include "team.h"
#include "wait.h"

#include "interleave.h"
#include "unreached.h"

_Alignas(4096) struct shmemi_state shmemi_state;
_Alignas(4096) struct shmemi_context shmemi_contexts[SHMEMI_CONTEXTS];

UNREACHED(shmemi_abort)
UNREACHED(shmemi_refuse_uninitialised)
UNREACHED(shmemi_net_lock)
UNREACHED(shmemi_net_unlock)
UNREACHED(shmemi_fail_network)
UNREACHED(shmemi_wait_step)
UNREACHED(shmemi_wait_over)

/* Copies; on a page of their own, so that a step of the core is one step. */
static _Alignas(4096) struct {
    long started, complete;
    char rest[4080];
} copies;

/* Memory of the GPU outside of this PE's heap, and questions about it. */
static char peer[64];
static long asked;

static int holds(const void *at)
{
    asked++;
    return (const char *)at >= peer && (const char *)at < peer + sizeof peer;
}

static int start(void *to, const void *from, size_t n)
{
    (void)to, (void)from, (void)n;
    copies.started++;
    return SHMEMI_DONE;
}

static int settle(void)
{
    copies.complete = copies.started;
    return SHMEMI_DONE;
}

static struct shmemi_core core = {.gpu_holds = holds, .gpu_start = start, .gpu_settle = settle};

void shmemi_ctx_check_exists(shmem_ctx_t ctx, const char *call)
{
    (void)ctx, (void)call;
}

static void copy(void)
{
    char *heap = (char *)shmemi_state.heap_base;
    shmemi_move_nbi(heap, heap + 8, 8, "put_nbi");
}

static void before(void)
{
    copies.started = copies.complete = 0;
    shmemi_quiet(SHMEM_CTX_DEFAULT, "quiet");
    copy(); /* of the first */
    copy(); /* of the second */
}

static void quiet(void)
{
    long own = copies.started;
    shmemi_quiet(SHMEM_CTX_DEFAULT, "quiet");
    EXPECT(copies.complete >= own, "quiet returned with %ld of %ld copies complete",
           copies.complete, own);
}

static void fence(void)
{
    long own = copies.started;
    shmemi_fence(SHMEM_CTX_DEFAULT, "fence");
    EXPECT(copies.complete >= own, "fence returned with %ld of %ld copies complete",
           copies.complete, own);
}

static void copy_and_quiet(void)
{
    copy();
    quiet();
}

static void at_the_end(void)
{
    quiet();
}

/* A copy that the second thread starts while the first waits is not covered by that wait. */
static int settle_then_copy(void)
{
    copies.complete = copies.started;
    core.gpu_settle = settle;
    copy();
    return SHMEMI_DONE;
}

static void asks(const char *what, void *to, const void *from, long questions, long driven)
{
    long begun = copies.started;
    asked = 0;
    shmemi_move_nbi(to, from, 8, "put_nbi");
    EXPECT(asked == questions, "%s: %ld questions to the driver, not %ld", what, asked, questions);
    EXPECT(copies.started - begun == driven, "%s: %ld copies by the driver, not %ld", what,
           copies.started - begun, driven);
}

static void questions(void)
{
    static char main_memory[16];
    char *heap = (char *)shmemi_state.heap_base;
    asks("a put from the heap", peer, heap, 0, 1);
    asks("a get into the heap", heap, peer, 0, 1);
    asks("a put from main memory", peer, main_memory, 1, 1);
    asks("a copy of main memory", main_memory, main_memory + 8, 2, 0);
}

int main(void)
{
    static char *bases[1];
    shmemi_state.n_pes = shmemi_state.gpu = shmemi_state.fast_order = 1;
    shmemi_state.heap_base = 1 << 20;
    shmemi_state.heap_size = 1 << 20;
    shmemi_state.near_base = bases;
    shmemi_state.core = &core;
    shared_words(&shmemi_state.gpu_started, 1);

    interleave_all(before, quiet, quiet, at_the_end);
    interleave_all(before, quiet, fence, at_the_end);
    interleave_all(before, fence, copy_and_quiet, at_the_end);
    interleave_all(before, copy_and_quiet, copy_and_quiet, at_the_end);

    questions();
    before();
    core.gpu_settle = settle_then_copy;
    shmemi_quiet(SHMEM_CTX_DEFAULT, "quiet");
    quiet();
    return interleave_result();
}
