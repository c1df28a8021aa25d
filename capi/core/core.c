/*
 * core.c: the function table, and the poll that callers in C run.
 */
#include "core.h"

#include <stdlib.h>

#include "_cgo_export.h"

#define BATCH 32

char shmemi_core_text[1024];
char shmemi_core_version[64];

static struct shmemi_state *state;
static struct shmemi_native native;
static void (*front_abort)(const char *call, const char *remedy, const char *cause, ...);

void shmemi_core_set_abort(void (*abort_)(const char *call, const char *remedy, const char *cause,
                                          ...))
{
    front_abort = abort_;
}

void shmemi_core_fatal(const char *what)
{
    front_abort("network", "see the messages of the other PEs; SHMEM_PROVIDER selects another",
                "%s", what);
    abort();
}

void shmemi_core_poll_with(struct shmemi_state *s, const struct shmemi_native *n)
{
    state = s;
    native = n ? *n : (struct shmemi_native){0};
}

/*
 * An empty completion queue costs no crossing into Go (46 ns); a batch of
 * completions costs one. The lock is held over the upcall, because messages
 * are applied in the order in which they came.
 */
static int poll_network(void)
{
    struct shmemi_completion c[BATCH];
    if (native.poll == NULL)
        return 0;
    if (__atomic_load_n(&state->net_lock, __ATOMIC_RELAXED) ||
        __atomic_exchange_n(&state->net_lock, 1, __ATOMIC_ACQUIRE))
        return -1;
    int n = native.poll(native.self, c, BATCH);
    if (n != 0)
        shmemgoComplete(c, n);
    __atomic_store_n(&state->net_lock, 0, __ATOMIC_RELEASE);
    return n;
}

const struct shmemi_core *shmemi_core_table(void)
{
    static struct shmemi_core table = {
        .version = SHMEMI_ABI_VERSION,
        .size = sizeof(struct shmemi_core),
        .state_size = sizeof(struct shmemi_state),
        .init = shmemgoInit,
        .finalize = shmemgoFinalize,
        .global_exit = shmemgoGlobalExit,
        .abort_ = (void (*)(int, const char *))shmemgoAbort,
        .heap_alloc = shmemgoHeapAlloc,
        .heap_free = shmemgoHeapFree,
        .heap_realloc = shmemgoHeapRealloc,
        .heap_room = shmemgoHeapRoom,
        .put = (int (*)(int, int64_t, const void *, size_t, struct shmemi_request *))shmemgoPut,
        .get = shmemgoGetRemote,
        .amo = shmemgoAMO,
        .put_signal = (int (*)(int, int64_t, const void *, size_t, int64_t, uint64_t, int,
                               struct shmemi_request *))shmemgoPutSignal,
        .fence = shmemgoFence,
        .quiet = shmemgoQuiet,
        .poll = poll_network,
        .error = (const char *(*)(void))shmemgoError,
    };
    if (table.build == NULL)
        table.build = shmemgoVersion();
    return &table;
}
