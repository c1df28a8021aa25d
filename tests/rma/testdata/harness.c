/*
 * harness: plays NCCL's calls on libshmem_rma.so, in NCCL's order, and checks at each signal that
 * everything before it has arrived.
 *
 *   harness LIBRARY VERSION threads|processes|killed RANKS OPERATIONS SEED [gpu]
 *
 * The ranks are threads of one process, or processes. A rank makes so many operations on all ranks,
 * itself included, in four contexts: puts, puts with weak signals in the data window, puts with
 * strong signals, strong signals alone, gets, of 0 to 1 MiB, with up to 128 under way, tested in
 * any order. What an operation does follows from the numbers of the ranks, its context and its
 * place there, so that the target knows it. With killed, the last rank ends in the middle: the
 * others have to get an error, rank 0 without an operation under way, and to close everything, in
 * time. Rank 0 forks once: its child ends, and the rank goes on. With gpu all memory is that of a
 * GPU, of the fake driver: the processor can read and write it, too.
 */
#define _GNU_SOURCE
#include "nccl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CONTEXTS = 4, SLOTS = 8, SLOT = 64 << 10, RANKS = 4, DEPTH = 128, LARGE = 1 << 20 };

/* Any version's functions, by one face. */
static struct nccl_rma_v16 n;
static int version;
static const struct nccl_rma_v13 *v13;
static const struct nccl_rma_v14 *v14;

/* The window of each rank: a slot's bytes and its word, for each source, context and place; then a
 * part that is constant, for gets. */
struct window {
    char bytes[RANKS][CONTEXTS][SLOTS][SLOT];
    uint64_t words[RANKS][CONTEXTS][SLOTS];
    char large[RANKS][LARGE];
    char constant[SLOT];
};

/* What the ranks share without the plugin: NCCL's bootstrap. */
static struct shared {
    pthread_barrier_t meeting;
    char handles[RANKS][NCCL_HANDLE_SIZE];
    uint64_t checked[RANKS][RANKS][CONTEXTS]; /* at a target: operations of a source that it saw */
    int errors;
    int ended;
} * shared;

static int ranks;
static uint64_t operations, seed;
static int killed, gpu;

/* Of the driver. */
static int (*cuda_retain)(void **, int), (*cuda_current)(void *), (*cuda_alloc)(uint64_t *, size_t);

#define CHECK(that, ...)                                                                           \
    do {                                                                                           \
        if (!(that)) {                                                                             \
            fprintf(stderr, "harness: %s:%d: ", __FILE__, __LINE__);                               \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
            __atomic_fetch_add(&shared->errors, 1, __ATOMIC_RELAXED);                              \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)
#define NEED(call) CHECK((call) == NCCL_SUCCESS, "rank %d: " #call, rank)

static void logger(int level, unsigned long flags, const char *file, int line, const char *format,
                   ...)
{
    (void)flags, (void)file, (void)line;
    if (killed && level >= NCCL_LOG_WARN)
        return;
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

#include "plan.h"

struct rank {
    int rank;
    void *ctx, *coll, *contexts, *other, *extra;
    struct window *window, *source; /* source: bytes that it sends, and gets */
    uint64_t *signals;              /* [source][context]: operations of it that are there */
    void *window_memory, *source_memory, *signals_memory;
    uint64_t sent[RANKS][CONTEXTS], signalled[RANKS][CONTEXTS]; /* by target */
    struct open {
        void *request;
        int target, context;
        uint64_t i;
    } open[DEPTH];
    int under_way;
    bool busy[RANKS][CONTEXTS][SLOTS]; /* the slot's last operation has not ended */
};

static void *map(size_t bytes)
{
    uint64_t at;
    /* NCCL's windows are whole chunks of the driver, of which it exports a dma-buf. */
    const size_t chunk = 2 << 20, whole = (bytes + chunk - 1) / chunk * chunk;
    if (gpu)
        return cuda_alloc(&at, whole) == 0 ? memset((void *)(uintptr_t)at, 0, bytes) : NULL;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static nccl_result reg(struct rank *k, void *base, size_t bytes, uint64_t flags, void **memory)
{
    int type = gpu ? NCCL_PTR_CUDA : NCCL_PTR_HOST;
    void *of_device;
    if (version == 13)
        return v13->reg(k->coll, base, bytes, type, flags, memory, &of_device);
    return n.reg(k->coll, base, bytes, type, flags, memory);
}

static nccl_result make_contexts(struct rank *k, int count, void **context)
{
    if (version == 13) {
        void *device;
        struct nccl_config_v13 c = {.contexts = count, .depth = DEPTH, .traffic_class = -1};
        return v13->create_context(k->coll, &c, context, &device);
    }
    struct nccl_config_v14 c = {count, -1, 1};
    return n.create_context(k->coll, &c, context);
}

static nccl_result put(struct rank *k, int context, uint64_t from, void *source, size_t bytes,
                       uint64_t to, void *memory, int rank, void **request)
{
    if (version <= 14)
        return v14->put(k->contexts, context, from, source, bytes, to, memory, (uint32_t)rank,
                        request);
    return n.put(k->contexts, context, from, source, bytes, to, memory, (uint32_t)rank, 1, request);
}

static nccl_result put_signal(struct rank *k, int context, uint64_t from, void *source,
                              size_t bytes, uint64_t to, void *memory, int rank, uint64_t at,
                              void *signal, uint64_t value, uint32_t op, bool strong,
                              void **request)
{
    if (version == 13)
        return v13->put_signal(k->contexts, context, from, source, bytes, to, memory,
                               (uint32_t)rank, at, signal, value, op, request);
    if (version == 14)
        return v14->put_signal(k->contexts, context, from, source, bytes, to, memory,
                               (uint32_t)rank, at, signal, value, op, strong, request);
    return n.put_signal(k->contexts, context, from, source, bytes, to, memory, (uint32_t)rank, at,
                        signal, value, op, strong, 0, request);
}

static nccl_result get(struct rank *k, int context, uint64_t from, void *memory, size_t bytes,
                       uint64_t to, void *local, int rank, void **request)
{
    if (version <= 14)
        return v14->get(k->contexts, context, from, memory, bytes, to, local, (uint32_t)rank,
                        request);
    return n.get(k->contexts, context, from, memory, bytes, to, local, (uint32_t)rank, 0, request);
}

#define OF(member) offsetof(struct window, member)

/* Starts the next operation on a target in a context, unless its slot may not be used again yet.
 * Returns 0 if it has started, 1 if not, and -1 after an error of the plugin. */
static int start(struct rank *k, int target, int context)
{
    uint64_t i = k->sent[target][context];
    if (i >= operations || k->under_way == DEPTH || k->busy[target][context][i % SLOTS] ||
        i >= __atomic_load_n(&shared->checked[target][k->rank][context], __ATOMIC_ACQUIRE) + SLOTS)
        return 1;
    struct plan p = plan_of(k->rank, target, context, i);
    int slot = (int)(i % SLOTS);
    uint64_t from = OF(bytes) + (uint64_t)(((target * CONTEXTS + context) * SLOTS + slot)) * SLOT;
    uint64_t to = OF(bytes) + (uint64_t)(((k->rank * CONTEXTS + context) * SLOTS + slot)) * SLOT;
    uint64_t word = OF(words) + (uint64_t)((k->rank * CONTEXTS + context) * SLOTS + slot) * 8;
    uint64_t signal = (uint64_t)(k->rank * CONTEXTS + context) * 8;
    char *bytes = (char *)k->source + from;
    void *source = p.bytes ? k->source_memory : NULL, *memory = p.bytes ? k->window_memory : NULL;
    void *request = NULL;
    nccl_result r;
    if (p.kind != GET)
        memset(bytes, mark_of(k->rank, context, i), p.bytes);
    switch (p.kind) {
    case PUT:
        r = put(k, context, from, source, p.bytes, to, memory, target, &request);
        break;
    case WEAK:
        r = put_signal(k, context, from, source, p.bytes, to, memory, target, word,
                       k->window_memory, 77, NCCL_SIGNAL_INC, false, &request);
        break;
    case STRONG:
    case ALONE:
        r = put_signal(k, context, from, source, p.bytes, to, memory, target, signal,
                       k->signals_memory, i + 1 - k->signalled[target][context], NCCL_SIGNAL_ADD,
                       true, &request);
        k->signalled[target][context] = i + 1;
        break;
    default:
        r = get(k, context, OF(constant), k->window_memory, p.bytes, from, k->source_memory, target,
                &request);
    }
    if (r != NCCL_SUCCESS)
        return -1;
    CHECK(request, "rank %d: an operation has no request", k->rank);
    k->sent[target][context] = i + 1;
    k->open[k->under_way++] = (struct open){request, target, context, i};
    k->busy[target][context][slot] = true;
    return 0;
}

/* Tests a request. Returns 1 if none has ended, and -1 after an error of the plugin. */
static int test(struct rank *k, uint64_t random)
{
    if (k->under_way == 0)
        return 1;
    struct open *o = &k->open[random % (uint64_t)k->under_way];
    int done = 0;
    if (n.test(k->coll, o->request, &done) != NCCL_SUCCESS)
        return -1;
    if (!done)
        return 1;
    struct plan p = plan_of(k->rank, o->target, o->context, o->i);
    if (p.kind == GET) {
        const char *got = k->source->bytes[o->target][o->context][o->i % SLOTS];
        for (size_t b = 0; b < p.bytes; b += 997)
            CHECK(got[b] == (char)(o->target + 1), "rank %d: a get from %d has %d", k->rank,
                  o->target, got[b]);
    }
    k->busy[o->target][o->context][o->i % SLOTS] = false;
    *o = k->open[--k->under_way];
    return 0;
}

static void check_slot(struct rank *k, int source, int context, uint64_t i, const char *by)
{
    struct plan p = plan_of(source, k->rank, context, i);
    const char *slot = k->window->bytes[source][context][i % SLOTS];
    if (p.kind == GET)
        return;
    for (size_t b = 0; b < p.bytes; b += b + 97 < p.bytes ? 97 : 1)
        CHECK(slot[b] == mark_of(source, context, i),
              "rank %d: byte %zu of %zu of operation %llu of rank %d in context %d is not there "
              "at its %s signal",
              k->rank, b, p.bytes, (unsigned long long)i, source, context, by);
}

/* Checks what signals of a source say. */
static void look(struct rank *k, int source, int context, uint64_t weak[SLOTS])
{
    uint64_t *checked = &shared->checked[k->rank][source][context];
    uint64_t first = *checked;
    uint64_t until = __atomic_load_n(&k->signals[source * CONTEXTS + context], __ATOMIC_ACQUIRE);
    /* Before the slots may be used again, weak signals in them say that their bytes are there. */
    for (uint64_t i = first; i < first + SLOTS && i < operations; ++i) {
        struct plan p = plan_of(source, k->rank, context, i);
        uint64_t *word = &k->window->words[source][context][i % SLOTS];
        if (p.kind == WEAK && __atomic_load_n(word, __ATOMIC_ACQUIRE) > weak[i % SLOTS])
            check_slot(k, source, context, i, "weak");
    }
    for (uint64_t i = first; i < until; ++i) {
        check_slot(k, source, context, i, "strong");
        if (plan_of(source, k->rank, context, i).kind == WEAK) {
            uint64_t have =
                __atomic_load_n(&k->window->words[source][context][i % SLOTS], __ATOMIC_ACQUIRE);
            CHECK(have == ++weak[i % SLOTS], "rank %d: a weak signal is %llu and not %llu", k->rank,
                  (unsigned long long)have, (unsigned long long)weak[i % SLOTS]);
        }
    }
    if (until > first)
        __atomic_store_n(checked, until, __ATOMIC_RELEASE);
}

/* Whether all operations of this rank and on it have been made and seen. */
static bool complete(struct rank *k, uint64_t last)
{
    for (int other = 0; other < ranks; ++other)
        for (int c = 0; c < CONTEXTS; ++c)
            if (k->sent[other][c] < operations || shared->checked[k->rank][other][c] < last)
                return false;
    return k->under_way == 0;
}

/* Lets this process have a child, as subprocess and data loaders do, which ends by exit in the
 * middle of the traffic. The child makes no call of the plugin. */
static void fork_once(struct rank *k)
{
    pid_t child = fork();
    if (child == 0)
        exit(0);
    int status = -1;
    for (int ms = 0; ms < 10000 && waitpid(child, &status, WNOHANG) == 0; ++ms)
        usleep(1000);
    CHECK(child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0,
          "rank %d: its child has not ended by exit(0) within 10 s (status %#x)", k->rank, status);
}

/* Whether the plugin says that a rank is lost, to a rank that has no operation on the killed one
 * under way: kernels may wait for a signal of it. */
static bool heard_of_loss(struct rank *k)
{
    bool failed = false;
    for (int i = 0; i < k->under_way; ++i)
        if (k->open[i].target == ranks - 1)
            return false;
    n.last_error(k->contexts, &failed);
    return failed;
}

/* Ends the operations under way and makes no others, until it has heard of the loss. */
static void wait_for_loss(struct rank *k)
{
    time_t end = time(NULL) + 60;
    while (test(k, 0) >= 0 && !heard_of_loss(k)) {
        CHECK(time(NULL) < end, "rank %d: it has not heard of the killed rank in a minute",
              k->rank);
        usleep(10);
    }
}

/* Traffic until all is seen, or with killed until the plugin reports an error. */
static void traffic(struct rank *k)
{
    static _Thread_local uint64_t weak[RANKS][CONTEXTS][SLOTS];
    uint64_t random = mix(seed + (uint64_t)k->rank), last = operations - operations % SLOTS;
    for (uint64_t turns = 0; !complete(k, last); ++turns) {
        if (killed && k->rank == ranks - 1 && turns == 3000)
            _exit(0);
        if (turns == 100 && k->rank == 0)
            fork_once(k);
        if (killed && turns == 1000 && k->rank == 0)
            return wait_for_loss(k);
        random = mix(random);
        int other = (int)(random % (uint64_t)ranks), context = (int)(random >> 8) % CONTEXTS;
        int began = start(k, other, context < 0 ? -context : context);
        int ended = test(k, random >> 16);
        if (began < 0 || ended < 0) {
            CHECK(killed, "rank %d: an operation has failed", k->rank);
            bool failed = false;
            n.last_error(k->contexts, &failed);
            CHECK(failed, "rank %d: the error of an operation is not reported again", k->rank);
            return;
        }
        if (began > 0 && ended > 0)
            usleep(10); /* NCCL's proxy does not sleep; here ranks are more than processors */
        if (killed && heard_of_loss(k))
            return;
        for (int source = 0; source < ranks; ++source)
            look(k, source, (int)(turns % CONTEXTS), weak[source][turns % CONTEXTS]);
    }
    CHECK(!killed, "rank %d: no operation on the killed rank has failed", k->rank);
}

/* Registers memory and ends that again, beside the traffic: the steps of all ranks. */
static void *churn(void *arg)
{
    struct rank *k = arg;
    int rank = k->rank;
    void *registered;
    for (int i = 0; i < 8; ++i) {
        size_t bytes = (rank + i) & 1 ? 4096 : 0; /* some ranks have none */
        NEED(reg(k, k->extra, bytes, 0, &registered));
        NEED(n.dereg(k->coll, registered));
    }
    return NULL;
}

static void *run(void *arg)
{
    struct rank *k = calloc(1, sizeof *k);
    int rank = k->rank = (int)(intptr_t)arg, count = 0;
    struct nccl_properties p;
    void *twice, *listener, *all[RANKS], *context;
    CHECK(!gpu || (cuda_retain(&context, 0) == 0 && cuda_current(context) == 0), "no GPU");
    NEED(n.init(&k->ctx, 4711, logger));
    NEED(n.devices(&count));
    NEED(n.init(&twice, 4711, logger));
    NEED(n.devices(&count));
    NEED(n.get_properties(0, &p));
    CHECK(count == 1 && p.device_type == NCCL_NETDEV_GIN_PROXY && p.max_recvs * 32 >= DEPTH,
          "rank %d: properties", rank);
    NEED(n.listen(twice, 0, shared->handles[rank], &listener));
    pthread_barrier_wait(&shared->meeting);
    for (int i = 0; i < ranks; ++i)
        all[i] = shared->handles[i];
    void *ctx = rank & 1 ? NULL : twice; /* of another library's network, where NCCL has one */
    NEED(n.connect(ctx, all, ranks, rank, listener, &k->coll));
    NEED(n.close_listen(listener));
    NEED(make_contexts(k, CONTEXTS, &k->contexts));
    if (n.get_rma_properties) {
        struct nccl_rma_properties of = {true};
        NEED(n.get_rma_properties(k->coll, &of));
        CHECK(!of.flushes_all_puts_on_any_signal, "rank %d: RMA properties", rank);
    }
    k->signals = map(4096 * 18);
    k->window = map(sizeof *k->window);
    k->source = map(sizeof *k->source);
    k->extra = map(4096);
    memset(k->window->constant, rank + 1, sizeof k->window->constant);
    NEED(reg(k, k->signals, 4096 * 18, 3, &k->signals_memory));
    NEED(reg(k, k->window, sizeof *k->window, 1, &k->window_memory));
    NEED(reg(k, k->source, sizeof *k->source, 0, &k->source_memory));
    NEED(make_contexts(k, 129, &k->other)); /* beside the first one, as a devComm's */
    pthread_barrier_wait(&shared->meeting);

    pthread_t beside;
    if (!killed)
        pthread_create(&beside, NULL, churn, k);
    traffic(k);
    if (!killed)
        pthread_join(beside, NULL);

    void *request = k;
    NEED(n.flush(k->contexts, 0, k->signals_memory, (uint32_t)rank, &request));
    CHECK(request == NULL, "rank %d: a flush that is done has a request", rank);
    NEED(n.progress(k->contexts));
    if (!killed) {
        if (rank == 0) { /* a last large put, which closeColl finds under way */
            NEED(put(k, 0, OF(large), k->source_memory, LARGE, OF(large), k->window_memory,
                     ranks - 1, &request));
        }
        pthread_barrier_wait(&shared->meeting);
        NEED(n.dereg(k->coll, k->source_memory));
        NEED(n.dereg(k->coll, k->window_memory));
        NEED(n.destroy_context(k->other));
    }
    NEED(n.close_coll(k->coll)); /* the first context is alive, and signals are registered */
    bool failed;
    NEED(n.last_error(k->contexts, &failed));
    if (!killed)
        NEED(n.dereg(k->coll, k->signals_memory));
    NEED(n.destroy_context(k->contexts));
    NEED(n.finalize(k->ctx));
    NEED(n.finalize(twice));
    __atomic_fetch_add(&shared->ended, 1, __ATOMIC_RELAXED);
    free(k);
    return NULL;
}

#include "load.h"

int main(int argc, char **argv)
{
    gpu = argc > 7;
    if (argc < 7)
        return 2;
    version = atoi(argv[2]);
    bool threads = strcmp(argv[3], "threads") == 0;
    killed = strcmp(argv[3], "killed") == 0;
    ranks = atoi(argv[4]);
    operations = strtoull(argv[5], NULL, 0) / (uint64_t)(ranks * CONTEXTS);
    seed = strtoull(argv[6], NULL, 0);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t a;
    pthread_barrierattr_init(&a);
    pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->meeting, &a, (unsigned)ranks);
    pthread_t of[RANKS];
    for (int i = 0; i < ranks; ++i) {
        if (threads) {
            if (i == 0 && load(argv[1]) != 0)
                return 1;
            pthread_create(&of[i], NULL, run, (void *)(intptr_t)i);
        } else if (fork() == 0) {
            if (load(argv[1]) != 0)
                _exit(1);
            run((void *)(intptr_t)i);
            _exit(0);
        }
    }
    for (int i = 0; i < ranks; ++i) {
        int status = 0;
        if (threads)
            pthread_join(of[i], NULL);
        else
            wait(&status);
        shared->errors += status != 0;
    }
    int want = ranks - killed;
    printf(
        "harness: version %d, %d ranks by %s, %llu operations: %d errors, %d of %d ranks ended\n",
        version, ranks, argv[3], (unsigned long long)operations * (unsigned)(ranks * CONTEXTS),
        shared->errors, shared->ended, want);
    return shared->errors != 0 || shared->ended != want;
}
