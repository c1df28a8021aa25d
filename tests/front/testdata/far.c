/*
 * far.c: what the core gets of each operation on a PE of another node (capi/front/remote.c).
 */
#include "context.h"
#include "failure.h"
#include "netlock.h"
#include "ranges.h"
#include "remote.h"
#include "wait.h"

#include "unreached.h"

#include <stdio.h>

struct shmemi_state shmemi_state;
struct shmemi_context shmemi_contexts[SHMEMI_CONTEXTS];

UNREACHED(shmemi_abort)
UNREACHED(shmemi_amo_gpu)
UNREACHED(shmemi_check_block)
UNREACHED(shmemi_check_pe)
UNREACHED(shmemi_ctx_check)
UNREACHED(shmemi_move_gpu)
UNREACHED(shmemi_move_nbi_gpu)
UNREACHED(shmemi_fail_network)
UNREACHED(shmemi_outside_offset)
UNREACHED(shmemi_check_allocated)
UNREACHED(shmemi_refuse_outside)
UNREACHED(shmemi_fail_lost)
UNREACHED(shmemi_wake)

#define CHUNK 64

static _Alignas(64) char heap[4096];
static char *none[3];
static int locked, shown, fences, waits, again;

/* The operations of a call, as the core gets them. */
static struct {
    int n, unlocked;
    struct shmemi_host_operation at[8];
    bool requested[8];
} posted;

static int post(const struct shmemi_host_operation *o)
{
    if (again > 0) {
        again--;
        return SHMEMI_AGAIN;
    }
    posted.unlocked += !locked;
    posted.requested[posted.n] = o->request != NULL;
    posted.at[posted.n] = *o;
    posted.at[posted.n++].request = NULL;
    if (o->request == NULL)
        return SHMEMI_DONE;
    o->request->value = 77;
    o->request->done = 1;
    return SHMEMI_PENDING;
}

static const struct shmemi_core core = {.post = post};

void shmemi_net_lock(const char *call)
{
    (void)call;
    locked++;
}

void shmemi_net_unlock(void)
{
    locked--;
}

void shmemi_fence_slow(shmem_ctx_t ctx, const char *call)
{
    (void)ctx, (void)call;
    fences++;
}

bool shmemi_wait_step(struct shmemi_waiter *w)
{
    (void)w;
    waits++;
    return true;
}

void shmemi_wait_over(struct shmemi_waiter *w)
{
    (void)w;
}

bool shmemi_range_begin(uint32_t group, const char *call)
{
    (void)call;
    shown |= (int)group;
    return true;
}

void shmemi_range_end(const bool *begun)
{
    (void)begun;
}

void shmemi_need_aligned(const void *at, size_t n, const char *call)
{
    (void)at, (void)n, (void)call;
}

static int passed, failed;

static void before(void)
{
    memset(&posted, 0, sizeof posted);
    shown = fences = waits = again = 0;
    shmemi_contexts[2].dirty = shmemi_contexts[2].unfenced = SHMEMI_CLEAN;
}

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (cond) {                                                                                \
            passed++;                                                                              \
        } else {                                                                                   \
            failed++;                                                                              \
            printf("line %d: %s does not hold\n", __LINE__, #cond);                                \
        }                                                                                          \
    } while (0)

/* The call posted an operation like this one, as number i. */
#define POSTED(i, request_, ...)                                                                   \
    do {                                                                                           \
        struct shmemi_host_operation want = {                                                      \
            .ctx = 2, .context = 5, .pe = 1, .call = call, __VA_ARGS__};                           \
        CHECK(memcmp(&posted.at[i], &want, sizeof want) == 0 &&                                    \
              posted.requested[i] == (request_) && posted.unlocked == 0);                          \
    } while (0)

int main(void)
{
    static const char call[] = "call";
    const shmem_ctx_t ctx = 2;
    char *at = heap + 64, local[3 * CHUNK] = {0};
    uint64_t *sig = (uint64_t *)(void *)(heap + 256);
    shmemi_state = (struct shmemi_state){.n_pes = 3,
                                         .core = &core,
                                         .heap_base = (uintptr_t)heap,
                                         .heap_size = sizeof heap,
                                         .net_chunk = CHUNK,
                                         .ranges = UINT32_MAX,
                                         .fast_base = none,
                                         .near_base = none,
                                         .peer_base = none};
    static char page[8192];
    char *mine = page + sizeof(struct shmemi_ctl);
    char *bases[3] = {mine, NULL, NULL};
    shmemi_state.peer_base = bases;
    shmemi_contexts[2].number = 5;

    before();
    shmemi_put_ranged(ctx, at, local, 9, 1, call);
    POSTED(0, true, .kind = SHMEMI_OPERATION_PUT, .offset = 64, .nbytes = 9, .source = local);
    CHECK(posted.n == 1 && shown == SHMEMI_RANGE_RMA_BLOCKING &&
          shmemi_contexts[2].dirty == SHMEMI_POSTED && shmemi_contexts[2].unfenced == 1);

    before();
    shmemi_put_nbi_slow(ctx, at, local, 9, 1, call);
    POSTED(0, false, .kind = SHMEMI_OPERATION_PUT, .nbi = 1, .offset = 64, .nbytes = 9,
           .source = local);
    CHECK(posted.n == 1 && shown == 0);

    before();
    shmemi_get_ranged(ctx, local, at, 9, 1, call);
    POSTED(0, true, .kind = SHMEMI_OPERATION_GET, .offset = 64, .nbytes = 9, .dest = local);
    CHECK(shmemi_contexts[2].dirty == SHMEMI_CLEAN);

    before();
    shmemi_get_nbi_ranged(ctx, local, at, 9, 1, call);
    POSTED(0, false, .kind = SHMEMI_OPERATION_GET, .nbi = 1, .offset = 64, .nbytes = 9,
           .dest = local);
    CHECK(shown == SHMEMI_RANGE_RMA_NONBLOCKING && shmemi_contexts[2].dirty == SHMEMI_POSTED);

    before();
    again = 2;
    shmemi_put_signal_ranged(ctx, at, local, 9, sig, 7, SHMEM_SIGNAL_ADD, 1, false, call);
    POSTED(0, true, .kind = SHMEMI_OPERATION_PUT_SIGNAL, .op = SHMEMI_AMO_ADD, .offset = 64,
           .nbytes = 9, .source = local, .signal_offset = 256, .operand = 7);
    CHECK(posted.n == 1 && waits == 2);

    before();
    shmemi_put_signal_ranged(ctx, at, local, 2 * CHUNK + 8, sig, 7, SHMEM_SIGNAL_SET, 1, true,
                             call);
    POSTED(0, false, .kind = SHMEMI_OPERATION_PUT, .op = SHMEMI_AMO_SET, .nbi = 1, .offset = 64,
           .nbytes = CHUNK, .source = local, .signal_offset = 256, .operand = 7);
    POSTED(1, false, .kind = SHMEMI_OPERATION_PUT, .op = SHMEMI_AMO_SET, .nbi = 1,
           .offset = 64 + CHUNK, .nbytes = 8, .source = local + CHUNK, .signal_offset = 256,
           .operand = 7);
    POSTED(2, false, .kind = SHMEMI_OPERATION_PUT_SIGNAL, .op = SHMEMI_AMO_SET, .nbi = 1,
           .offset = 64 + CHUNK + 8, .nbytes = CHUNK, .source = local + CHUNK + 8,
           .signal_offset = 256, .operand = 7);
    CHECK(posted.n == 3 && fences == 1);

    before();
    shmemi_get_slow(ctx, local, at, CHUNK + 8, 1, call);
    POSTED(1, true, .kind = SHMEMI_OPERATION_GET, .offset = 64 + CHUNK, .nbytes = 8,
           .dest = local + CHUNK);
    CHECK(posted.n == 2);

    before();
    CHECK(shmemi_amo_ranged(ctx, SHMEMI_AMO_ADD, 4, sig, 3, 0, 1, call) == 0);
    POSTED(0, false, .kind = SHMEMI_OPERATION_AMO, .op = SHMEMI_AMO_ADD, .width = 4, .offset = 256,
           .operand = 3);
    CHECK(shown == SHMEMI_RANGE_ATOMIC_SET && shmemi_contexts[2].dirty == SHMEMI_POSTED);

    before();
    CHECK(shmemi_amo_ranged(ctx, SHMEMI_AMO_SWAP, 8, sig, 3, 4, 1, call) == 77);
    POSTED(0, true, .kind = SHMEMI_OPERATION_AMO, .op = SHMEMI_AMO_SWAP, .width = 8, .offset = 256,
           .operand = 3, .compare = 4);
    CHECK(shown == SHMEMI_RANGE_ATOMIC_FETCH && shmemi_contexts[2].dirty == SHMEMI_CLEAN);

    before();
    shmemi_amo_nbi_ranged(ctx, SHMEMI_AMO_FETCH_ADD, 8, local, sig, 3, 0, 1, call);
    POSTED(0, false, .kind = SHMEMI_OPERATION_AMO, .op = SHMEMI_AMO_FETCH_ADD, .width = 8, .nbi = 1,
           .offset = 256, .dest = local, .operand = 3);
    CHECK(shmemi_contexts[2].dirty == SHMEMI_POSTED);

    before();
    shmemi_net_message(&(struct shmemi_host_operation){.kind = SHMEMI_OPERATION_PUT_SIGNAL,
                                                       .ctx = ctx,
                                                       .pe = 1,
                                                       .offset = 64,
                                                       .nbytes = 9,
                                                       .source = local,
                                                       .call = call});
    CHECK(posted.n == 1 && !posted.requested[0] && shmemi_contexts[2].dirty == SHMEMI_CLEAN);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
