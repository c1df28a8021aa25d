/*
 * streams.c: what each call on a stream has the core queue (capi/front/stream.c).
 */
#include "base.h"
#include "below.h"
#include "buffers.h"
#include "context.h"
#include "loader.h"
#include "notification.h"
#include "stream.h"
#include "team.h"
#include "team_ids.h"
#include "units.h"

#include "unreached.h"

#include <stdio.h>

struct shmemi_state shmemi_state;
struct shmemi_context shmemi_contexts[SHMEMI_CONTEXTS];

UNREACHED(shmemi_abort)
UNREACHED(shmemi_refuse_uninitialised)
UNREACHED(shmemi_get_slow)

static _Alignas(64) char heap[4096];
static char *bases[] = {heap, heap, heap};
static struct shmemi_team team = {.n = 3};

static struct {
    int calls, what;
    struct shmemi_stream_call call;
    void *stream;
} queued;

static int stream_open(const char *file)
{
    (void)file;
    return SHMEMI_DONE;
}

static int stream_call(int what, const struct shmemi_stream_call *c, void *stream)
{
    queued.calls++;
    queued.what = what;
    queued.call = *c;
    queued.stream = stream;
    return SHMEMI_DONE;
}

static const struct shmemi_core core = {.stream_open = stream_open, .stream_call = stream_call};

const char *shmemi_front_path(void)
{
    return "/lib/libshmem.so";
}

int shmemi_units_make_image(char *error, size_t size)
{
    (void)error, (void)size;
    return 0;
}

void shmemi_check_pe(int pe, const char *call)
{
    (void)pe, (void)call;
}

void shmemi_notification_check(int notify, const char *call)
{
    (void)notify, (void)call;
}

void shmemi_notification_check_value(uint64_t value, const char *what, const char *call)
{
    (void)value, (void)what, (void)call;
}

struct shmemi_team *shmemi_team_of(shmem_team_t handle, const char *call)
{
    (void)call;
    return handle == 5 ? &team : NULL;
}

int64_t shmemi_buffer_offset(const void *addr, size_t n)
{
    (void)addr, (void)n;
    return SHMEMI_NO_OFFSET;
}

static int passed, failed;

#define AT(p) ((uintptr_t)(p))

/* One call queues one operation, with these members and no others. */
#define QUEUES(what_, call_, ...)                                                                  \
    do {                                                                                           \
        struct shmemi_stream_call want = {__VA_ARGS__};                                            \
        memset(&queued, 0xa5, sizeof queued);                                                      \
        queued.calls = 0;                                                                          \
        (void)(call_);                                                                             \
        if (queued.calls == 1 && queued.what == SHMEMI_STREAM_##what_ &&                           \
            queued.stream == (void *)stream && memcmp(&queued.call, &want, sizeof want) == 0) {    \
            passed++;                                                                              \
        } else {                                                                                   \
            failed++;                                                                              \
            printf("line %d: %s does not queue %s with %s\n", __LINE__, #call_, #what_,            \
                   #__VA_ARGS__);                                                                  \
        }                                                                                          \
    } while (0)

int main(void)
{
    struct CUstream_st *const stream = (struct CUstream_st *)(void *)&core;
    const char *const c = "call";
    char *dest = heap + 64, *source = heap + 128, local[64] = {0};
    uint64_t *sig = (uint64_t *)(void *)(heap + 256), value = 0x0102030405060708;
    const int status[2] = {0};
    shmemi_state.n_pes = 3;
    shmemi_state.gpu = 1;
    shmemi_state.core = &core;
    shmemi_state.fast_base = bases;
    shmemi_state.heap_base = (uintptr_t)heap;
    shmemi_state.heap_size = sizeof heap;

    QUEUES(PUT, (shmemi_stream_put(dest, local, 9, 2, stream, c), 0), .dest = AT(dest),
           .source = AT(local), .count = 9, .pe = 2);
    QUEUES(PUT, (shmemi_stream_put_nbi(dest, local, 9, 2, stream, c), 0), .dest = AT(dest),
           .source = AT(local), .count = 9, .pe = 2, .nbi = 1);
    QUEUES(GET, (shmemi_stream_get(local, source, 9, 2, stream, c), 0), .dest = AT(local),
           .source = AT(source), .count = 9, .pe = 2);
    QUEUES(GET, (shmemi_stream_get_nbi(local, source, 9, 2, stream, c), 0), .dest = AT(local),
           .source = AT(source), .count = 9, .pe = 2, .nbi = 1);
    QUEUES(P, (shmemi_stream_p(dest, &value, 2, 1, stream, c), 0), .dest = AT(dest),
           .value = 0x0708, .width = 2, .pe = 1);
    QUEUES(PUT_SIGNAL,
           (shmemi_stream_put_signal(dest, local, 9, sig, 7, SHMEM_SIGNAL_ADD, 2, stream, c), 0),
           .dest = AT(dest), .source = AT(local), .count = 9, .signal = AT(sig), .value = 7,
           .op = SHMEM_SIGNAL_ADD, .pe = 2);
    QUEUES(
        PUT_SIGNAL,
        (shmemi_stream_put_signal_nbi(dest, local, 9, sig, 7, SHMEM_SIGNAL_ADD, 2, stream, c), 0),
        .dest = AT(dest), .source = AT(local), .count = 9, .signal = AT(sig), .value = 7,
        .op = SHMEM_SIGNAL_ADD, .pe = 2, .nbi = 1);
    QUEUES(SIGNAL, (shmemi_stream_signal(sig, 7, SHMEM_SIGNAL_ADD, 2, stream, c), 0),
           .signal = AT(sig), .value = 7, .op = SHMEM_SIGNAL_ADD, .pe = 2);
    QUEUES(PUT_NOTIFY, (shmemi_stream_put_notify(dest, local, 9, 6, 2, stream, c), 0),
           .dest = AT(dest), .source = AT(local), .count = 9, .op = 6, .pe = 2);
    QUEUES(PUT_NOTIFY, (shmemi_stream_put_notify_nbi(dest, local, 9, 6, 2, stream, c), 0),
           .dest = AT(dest), .source = AT(local), .count = 9, .op = 6, .pe = 2, .nbi = 1);
    QUEUES(NOTIFY_WAIT, (shmemi_stream_notify_wait(6, 8, stream, c), 0), .op = 6, .value = 8);
    QUEUES(NOTIFY_RESET, (shmemi_stream_notify_reset(6, 8, stream, c), 0), .op = 6, .value = 8);
    QUEUES(COUNT, (shmemi_stream_signal_wait(sig, SHMEM_CMP_GE, 7, stream, c), 0), .dest = AT(sig),
           .count = 1, .value = 7, .op = SHMEM_CMP_GE, .width = 8);
    QUEUES(WAIT, (shmemi_stream_wait(sig, 2, status, SHMEM_CMP_NE, &value, NULL, 4, stream, c), 0),
           .dest = AT(sig), .count = 2, .signal = AT(status), .value = 0x05060708,
           .op = SHMEM_CMP_NE, .width = 4);
    QUEUES(
        WAIT,
        (shmemi_stream_wait(sig, 2, NULL, SHMEM_CMP_NE, NULL, local, 4 | SHMEMI_SIGNED, stream, c),
         0),
        .dest = AT(sig), .source = AT(local), .count = 2, .op = SHMEM_CMP_NE,
        .width = 4 | SHMEMI_SIGNED);
    QUEUES(QUIET, (shmemi_stream_quiet(stream, c), 0), 0);
    QUEUES(SYNC, shmemi_stream_sync(5, stream, c), .team = 5, .team_pes = 3);
    QUEUES(BARRIER, shmemi_stream_barrier(5, stream, c), .team = 5, .team_pes = 3);
    QUEUES(BROADCAST, shmemi_stream_broadcast(5, dest, source, 9, 1, stream, c), .dest = AT(dest),
           .source = AT(source), .count = 9, .pe = 1, .team = 5, .team_pes = 3);
    QUEUES(FCOLLECT, shmemi_stream_fcollect(5, dest, source, 9, stream, c), .dest = AT(dest),
           .source = AT(source), .count = 9, .team = 5, .team_pes = 3);
    QUEUES(ALLTOALL, shmemi_stream_alltoall(5, dest, source, 9, stream, c), .dest = AT(dest),
           .source = AT(source), .count = 9, .team = 5, .team_pes = 3);
    QUEUES(
        REDUCE,
        shmemi_stream_reduce(5, dest, source, 6, 4 | SHMEMI_SIGNED, SHMEMI_REDUCE_MIN, stream, c),
        .dest = AT(dest), .source = AT(source), .count = 6, .op = SHMEMI_REDUCE_MIN,
        .width = 4 | SHMEMI_SIGNED, .team = 5, .team_pes = 3);
    QUEUES(
        REDUCESCATTER,
        shmemi_stream_reducescatter(5, dest, source, 6, SHMEMI_F64, SHMEMI_REDUCE_SUM, stream, c),
        .dest = AT(dest), .source = AT(source), .count = 6, .op = SHMEMI_REDUCE_SUM,
        .width = SHMEMI_F64, .team = 5, .team_pes = 3);
    QUEUES(DRAIN, (shmemi_stream_g(&value, sig, 8, 1, stream, c), 0), 0);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
