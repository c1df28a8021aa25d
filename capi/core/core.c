/*
 * core.c: the table of the core's functions, and those that C serves: polls, posts, copies.
 */
#define _GNU_SOURCE
#include "core.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "_cgo_export.h"
#include "wake.h"
#include "zz_stream.h"

#include <shmem/zz_wire.h>

#define BATCH 32         /* completions read by one poll, at most */
#define EXIT_ABORTED 134 /* 128 + SIGABRT, the status of the front's abort function */

char shmemi_core_text[1024], shmemi_core_remedy[256], shmemi_core_version[64];

static struct shmemi_state *state;    /* the front's */
static struct shmemi_native native;   /* the provider's functions; all NULL: only Go has some */
static struct shmemi_fastpath *first; /* the state of the default context; NULL: no network */
static shmemi_abort_fn *front_abort;  /* the front's function that ends the job */
static struct shmemi_init_args front; /* the functions of the front that the core calls */

/* Stores the front's functions, before any function below calls one. */
void shmemi_core_set_front(const struct shmemi_init_args *args)
{
    front = *args;
}

/* Calls the front to write what a PE of this node is doing; how is a set of SHMEMI_DOING_ bits. */
void shmemi_core_doing(int pe, unsigned how, char *text, size_t size)
{
    front.doing(pe, how, text, size);
}

/* Reports to the front that this PE has left the job and needs no other PE any more. */
void shmemi_core_finalized(void)
{
    front.finalized();
}

/* Calls the front to show these groups (a set of bits) of ranges to a profiler (NVTX). Returns
 * those that are shown, 0 if no profiler listens, or -1 if the front was built without NVTX. */
int shmemi_core_open_ranges(uint32_t groups)
{
    return front.ranges(groups);
}

/* Begins a range of the proxy in a profiler, by its number (SHMEMI_NVTX_), or ends the last one. */
void shmemi_core_range(unsigned name)
{
    static const char *const names[] = {
        [SHMEMI_NVTX_SEND] = "send",     [SHMEMI_NVTX_WRITE] = "write", [SHMEMI_NVTX_READ] = "read",
        [SHMEMI_NVTX_ATOMIC] = "atomic", [SHMEMI_NVTX_SLEEP] = "sleep",
    };
    if (name == SHMEMI_NVTX_LEAVE)
        front.range_leave(SHMEMI_RANGES_OF_PROXY);
    else
        front.range_enter(SHMEMI_RANGES_OF_PROXY, SHMEMI_RANGE_PROXY, names[name]);
}

static pid_t departing_pid; /* the process that calls shmemgoDepart at its end; 0: none does */

/* Sets whether the end of this process by exit() is to be reported to the launcher (depart). The
 * process number is stored because a child of fork runs the same destructor. */
void shmemi_core_set_departs(int departs)
{
    departing_pid = departs ? getpid() : 0;
}

/*
 * Calls shmemgoDepart when the process ends. A destructor, and not atexit: the program's handlers,
 * which may call shmem_finalize, come before it. A child that was forked has no Go threads, and has
 * joined no job.
 *
 * While the process is in a job, departing_pid is 0 and nothing is called: a signal handler may
 * have called exit while this thread was in C code from which Go cannot be called.
 *
 * By now this thread may have no signal stack any more: Python's faulthandler removes that of the
 * main thread when the interpreter ends. Go sends SIGURG to a thread that has been in Go for 10 ms,
 * which on a busy machine may happen in a short call, and ends a process that gets the signal
 * without such a stack. While the signal is blocked, it cannot do that.
 */
__attribute__((destructor)) static void depart(void)
{
    sigset_t preemption;
    if (departing_pid != getpid())
        return;
    sigemptyset(&preemption);
    sigaddset(&preemption, SIGURG);
    pthread_sigmask(SIG_BLOCK, &preemption, NULL);
    shmemgoDepart();
}

/* Ends the job because of an error of the network. */
void shmemi_core_fatal(const char *what)
{
    front_abort("network", "see the messages of the other PEs; SHMEM_PROVIDER selects another",
                "%s", what);
    abort();
}

/* Ends the job because of a mistake of the library. */
void shmemi_core_internal_error(const char *call, const char *what)
{
    front_abort(call, "a mistake in libshmem: please report it with the stack above", "%s", what);
    abort();
}

/* Ends this process at once, with the status of an abort and without a message. */
void shmemi_core_exit(void)
{
    _exit(EXIT_ABORTED);
}

/* Ends the job because a PE is lost. */
void shmemi_core_lost_fatal(const char *what)
{
    front_abort("the job", "find out why it ended; SHMEM_ON_FAILURE=return lets the others go on",
                "%s", what);
    abort();
}

/* Ends the job because the launcher is gone. */
void shmemi_core_orphan_fatal(const char *what)
{
    front_abort("the job", "find out what ended the launcher, then start the job again", "%s",
                what);
    abort();
}

/* Ends the job because a kernel has stopped. */
void shmemi_core_kernel_fatal(const char *what, const char *remedy)
{
    front_abort("a kernel stopped", remedy, "%s", what);
    abort();
}

/* From now on posts and polls try C functions (n, may be NULL) before Go. x NULL: no network. */
void shmemi_core_set_fastpath(struct shmemi_state *s, const struct shmemi_native *n,
                              struct shmemi_fastpath *x)
{
    state = s;
    native = n ? *n : (struct shmemi_native){0};
    first = x;
}

/* Calls the front to write out the program's buffered output on stdout. */
void shmemi_core_flush(void)
{
    front.flush();
}

/* Ends this process with a status, and prints the reason unless the status is 0. */
void shmemi_core_end(const char *what, int status)
{
    if (status != 0)
        fprintf(stderr, "shmem: %s\n", what);
    _exit(status);
}

static struct shmemi_core_gpu gpu; /* all NULL: C makes no copies */

/* The addresses by which C makes puts and gets on streams (shmemi_core_streams). */
static struct {
    uint64_t *direct; /* by PE: the address of its user heap in this process, or 0; NULL: Go serves
                         all calls */
    uint64_t user;    /* the address of this PE's user heap for the program */
} streams;

/* Sets the functions of the GPU driver by which C makes copies; NULL: Go makes all copies. */
void shmemi_core_set_driver(const struct shmemi_core_gpu *g)
{
    gpu = g ? *g : (struct shmemi_core_gpu){0};
    free(streams.direct); /* the addresses of the job before */
    streams.direct = NULL;
}

/* Lets C queue simple puts and gets on the program's streams: stores direct, of which it makes a
 * copy, and user in `streams`. Without memory for the copy, Go serves all calls. */
void shmemi_core_streams(const uint64_t *direct, size_t n_pes, uint64_t user)
{
    uint64_t *copy = calloc(n_pes, sizeof *copy);
    if (copy == NULL)
        return;
    memcpy(copy, direct, n_pes * sizeof *copy);
    streams.direct = copy;
    streams.user = user;
}

/* Starts a copy of n bytes on the library's stream; with wait, returns only when all copies on this
 * stream are complete. Returns SHMEMI_DONE, or SHMEMI_NOT_FAST if Go has to make the copy, as when
 * the driver has refused it: Go divides copies where the driver needs that, and reports errors. */
static int gpu_work(void *to, const void *from, size_t n, bool wait)
{
    const struct shmemi_cuda *driver = &gpu.driver;
    void *popped;
    if (driver->context_push == NULL || driver->context_push(gpu.context) != 0)
        return SHMEMI_NOT_FAST;
    /* While the program captures a graph, the driver refuses these calls in other modes. */
    int mode = shmemi_cuda_capture_as(driver, SHMEMI_CUDA_CAPTURE_RELAXED);
    int code = shmemi_cuda_gone(driver, gpu.context) ? SHMEMI_CUDA_CONTEXT_IS_DESTROYED : 0;
    if (code == 0 && n != 0)
        code = shmemi_cuda_copy_any(driver, (uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, n,
                                    gpu.stream);
    if (code == 0 && wait)
        code = shmemi_cuda_stream_wait(driver, gpu.stream);
    shmemi_cuda_capture_as(driver, mode);
    driver->context_pop(&popped);
    return code == 0 ? SHMEMI_DONE : SHMEMI_NOT_FAST;
}

/* Reports whether an address is in the memory of a GPU. Managed memory counts as main memory, as in
 * Device.Pointer (runtime/gpu/cuda). If C has no functions of the driver, Go makes the query. */
static int gpu_holds(const void *at)
{
    int what[] = {SHMEMI_CUDA_POINTER_TYPE, SHMEMI_CUDA_POINTER_MANAGED};
    unsigned type = 0, managed = 0;
    void *values[] = {&type, &managed};
    if (gpu.driver.context_push == NULL)
        return shmemgoGPUHolds((void *)at);
    struct shmemi_cuda_outcome out =
        shmemi_cuda_in_pointer(&gpu.driver, gpu.context, 2, what, values, (uint64_t)(uintptr_t)at);
    return (out.push | out.call) == 0 && type == SHMEMI_CUDA_TYPE_DEVICE && managed == 0;
}

/* Copies n bytes from or to GPU memory, and waits: in C if the driver makes the copy, else Go. */
static int gpu_move(void *to, const void *from, size_t n)
{
    int rc = gpu_work(to, from, n, /* wait */ true);
    return rc == SHMEMI_NOT_FAST ? shmemgoGPUMove(to, (void *)from, n) : rc;
}

/* Starts a copy from or to GPU memory. If C cannot start it, Go makes it and waits for it. */
static int gpu_start(void *to, const void *from, size_t n)
{
    int rc = gpu_work(to, from, n, /* wait */ false);
    return rc == SHMEMI_NOT_FAST ? shmemgoGPUMove(to, (void *)from, n) : rc;
}

/* Queues a call on a stream of the program; what is a SHMEMI_STREAM_ number. A put or get between
 * heaps that the GPU can copy itself is queued here, because a call into Go for it took 3 us
 * instead of 2. Go queues all others, also those that the driver has refused here. */
static int stream_call(int what, const struct shmemi_stream_call *c, void *stream)
{
    bool puts = what == SHMEMI_STREAM_PUT;
    if (streams.direct != NULL && (puts || what == SHMEMI_STREAM_GET) &&
        streams.direct[c->pe] != 0) {
        uint64_t shift = streams.direct[c->pe] - streams.user; /* from this heap to the PE's */
        struct shmemi_cuda_outcome out =
            shmemi_cuda_in_copy_any(&gpu.driver, gpu.context, puts ? c->dest + shift : c->dest,
                                    puts ? c->source : c->source + shift, c->count, stream);
        if ((out.push | out.call | out.pop) == 0)
            return SHMEMI_DONE;
    }
    return shmemgoStreamCall(what, (struct shmemi_stream_call *)c, stream);
}

/* Waits until all copies that were started on the library's stream are complete. */
static int gpu_settle(void)
{
    int rc = gpu_work(NULL, NULL, 0, /* wait */ true);
    return rc == SHMEMI_NOT_FAST ? shmemgoGPUSettle() : rc;
}

/* Wakes this PE's threads that sleep on its control page, a struct shmemi_ctl, which ends where the
 * PE's heap begins: the words for which they wait may have changed. */
void shmemi_core_wake(struct shmemi_state *s)
{
    struct shmemi_ctl *ctl = (struct shmemi_ctl *)s->peer_base[s->my_pe] - 1;
    shmemi_wake_sleepers(&ctl->sleepers, &ctl->wakes);
}

/* Wakes a proxy. It is in C because a thread that submits to a ring calls it, and a call into Go
 * would cost that thread more than the submission. */
void shmemi_core_wake_proxy(void *waker)
{
    const struct shmemi_core_waker *w = waker;
    shmemi_end_nap(w->napping);
    if (w->wake != NULL)
        w->wake(w->self);
    else
        shmemgoWake(w->engine);
}

/*
 * Polls the network; returns the number of completions (0 without a network), or -1 if another
 * thread has the lock. An empty completion queue costs no call into Go, unless the engine is busy:
 * it then has work that ends without a completion (copies of a GPU, bytes that wait for room),
 * which only Go polls. A small message that needs no reply costs no such call either. This thread
 * has the lock during the whole call, because messages are applied in the order of arrival.
 */
static int poll_network(void)
{
    struct shmemi_completion c[BATCH];
    if (first == NULL)
        return 0;
    /* The load first: an exchange would take the cache line from the thread that has the lock. */
    if (__atomic_load_n(&state->net_lock, __ATOMIC_RELAXED) ||
        __atomic_exchange_n(&state->net_lock, 1, __ATOMIC_ACQUIRE))
        return -1;
    first->polls++;
    if (__atomic_load_n(&first->held, __ATOMIC_RELAXED))
        shmemgoRelease(); /* sends open batches: the caller may wait for a reply to one */
    /* Go polls a network without C functions (chaos mode), and NICs that have work for Go only. */
    int n = native.poll == NULL ? SHMEMI_IN_GO : native.poll(native.self, c, BATCH);
    if (n == SHMEMI_IN_GO) {
        n = shmemgoPoll();
    } else {
        if (n < 0 || (n == 0 && first->busy))
            shmemgoComplete(c, n);
        for (int i = 0; i < n; i++)
            if (shmemi_fastpath_receive(first, &native, &c[i]) != SHMEMI_DONE)
                shmemgoComplete(&c[i], 1);
    }
    if (n > 0)
        shmemi_core_wake(state);
    __atomic_store_n(&state->net_lock, 0, __ATOMIC_RELEASE);
    return n;
}

/* Before exit: returns SHMEMI_DONE if everything that this PE has sent has arrived. Otherwise, and
 * while another thread has the network lock, returns SHMEMI_PENDING: the caller tries again. */
static int leave(void)
{
    if (first == NULL)
        return shmemgoLeave();
    if (__atomic_exchange_n(&state->net_lock, 1, __ATOMIC_ACQUIRE))
        return SHMEMI_PENDING;
    int rc = shmemgoLeave();
    __atomic_store_n(&state->net_lock, 0, __ATOMIC_RELEASE);
    return rc;
}

/* A burst is a series of operations without a pause of more than BURST_GAP cycles, about 2 us. From
 * the SHMEMI_BURST_AFTER-th operation on those to the same PE share a message (a batch), which Go
 * opens (runtime/proxy/batch.go). Until then each is sent in a message of its own. Over tcp a
 * message takes 2 to 3 us of the sender's time, and an operation in a batch some 30 ns. */
#define BURST_GAP 5000

/* When the last operation was posted, in cycles. The functions from here to batch are called with
 * the network lock locked, and only if there is a network. */
static uint64_t burst_last;

/* Returns the processor's cycle counter. On processors whose counter C cannot read, it returns a
 * value with which every operation seems to come after a pause, so that no burst begins. */
static inline uint64_t cycles(void)
{
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    return burst_last + 2 * BURST_GAP;
#endif
}

/* Returns the state of the fast path of a context, by its number; 0 is the default context. */
static inline struct shmemi_fastpath *fastpath_of(uint32_t context)
{
    return context == 0 ? first : first->contexts[context];
}

/* Counts an operation to pe in its burst. Returns true if C may try to post it, false if Go has to:
 * the burst is long or x->batching is set, so operations share messages, and pe has none open. */
static inline bool count_in_burst(struct shmemi_fastpath *x, int pe)
{
    uint64_t now = cycles(), gap = now - burst_last;
#ifdef __x86_64__
    if (!x->coarse)
        x->tick = now; /* so that the event recorder does not read the clock again */
#endif
    if (x->batching) {
        if (x->burst < SHMEMI_BURST_AFTER)
            x->burst = SHMEMI_BURST_AFTER;
    } else if (gap > BURST_GAP) {
        x->burst = 0;
        return true;
    }
    return ++x->burst < SHMEMI_BURST_AFTER || x->peers[pe].batch != NULL;
}

/* Records when an operation was posted, for the next count_in_burst. Returns rc, its result. */
static inline int note_posted(struct shmemi_fastpath *x, int rc)
{
    x->tick = 0; /* later events read the clock again */
    burst_last = cycles();
    return rc;
}

/* Posts an operation: in C if it is small, simple and no get, else in Go. */
static int post(const struct shmemi_host_operation *o)
{
    struct shmemi_fastpath *x = fastpath_of(o->context);
    if (o->kind == SHMEMI_OPERATION_GET)
        return shmemgoPost((struct shmemi_host_operation *)o);
    int rc = count_in_burst(x, o->pe) ? shmemi_fastpath_post(x, &native, o) : SHMEMI_NOT_FAST;
    return note_posted(x,
                       rc == SHMEMI_NOT_FAST ? shmemgoPost((struct shmemi_host_operation *)o) : rc);
}

/* Begins a quiet of a context if *ticket is 0, and sets it; else continues the quiet. A waiting
 * thread calls it often, and calls into Go only at the beginning, while the engine has an operation
 * of its own that could not be posted yet, and for the error of a failure. */
static int quiet(uint32_t context, uint64_t *ticket)
{
    const struct shmemi_fastpath *x = fastpath_of(context);
    if (*ticket != 0) {
        if (x->quieted < *ticket) {
            if (!x->stuck)
                return SHMEMI_PENDING;
        } else if (!x->failures) {
            return SHMEMI_DONE;
        }
    }
    return shmemgoQuiet(context, ticket);
}

/* Sets whether small operations of a context share messages from the first one on. */
static void batch(uint32_t context, int on)
{
    fastpath_of(context)->batching = on != 0;
}

/* Returns the table from which the front reads the core's functions; the one symbol that this
 * library exports. abort_ is the front's function that ends the job. The casts only add const. */
const struct shmemi_core *shmemi_core_table(shmemi_abort_fn *abort_)
{
    static struct shmemi_core table = {
        .version = SHMEMI_ABI_VERSION,
        .size = sizeof(struct shmemi_core),
        .state_size = sizeof(struct shmemi_state),
        .mesh = &shmemi_core_meshes,
        .rma = &shmemi_core_rma,
        .init = shmemgoInit,
        .uniqueid = (int (*)(const char *const *, void *, char *, size_t))shmemgoUniqueID,
        .finalize = shmemgoFinalize,
        .global_exit = shmemgoGlobalExit,
        .abort_ = (void (*)(int, const char *))shmemgoAbort,
        .heap_alloc = shmemgoHeapAlloc,
        .heap_free = shmemgoHeapFree,
        .heap_realloc = shmemgoHeapRealloc,
        .heap_bytes_from = shmemgoHeapBytesFrom,
        .post = post,
        .fence = shmemgoFence,
        .quiet = quiet,
        .context_open = shmemgoContextOpen,
        .batch = batch,
        .reaches = shmemgoReaches,
        .leave = leave,
        .poll = poll_network,
        .rings = (const void *(*)(void))shmemgoRings,
        .gpu_move = gpu_move,
        .gpu_start = gpu_start,
        .gpu_settle = gpu_settle,
        .quiet_rings = shmemgoQuietRings,
        .gpu_clear = shmemgoGPUClear,
        .gpu_amo = shmemgoGPUAMO,
        .gpu_holds = gpu_holds,
        .gpu_was_reset = shmemgoGPUReset,
        .gpu_chosen = shmemgoGPUChosen,
        .gpu_moved = shmemgoGPUMoved,
        .gpu_find_chunks =
            (int (*)(const void *, size_t, size_t *, size_t *, size_t *))shmemgoGPUFindChunks,
        .gpu_forget = shmemgoGPUForget,
        .gpu_lend = shmemgoGPULend,
        .gpu_take_back = shmemgoGPUTakeBack,
        .kernels = (int (*)(const void **, uint64_t *))shmemgoKernels,
        .team_show =
            (int (*)(int, const struct shmemi_device_team *, const int32_t *))shmemgoTeamShow,
        .team_renew = shmemgoTeamRenew,
        .stream_open = (int (*)(const char *))shmemgoStreamOpen,
        .stream_call = stream_call,
        .module_variable = shmemgoModuleVariable,
        .kernel_exit = shmemgoKernelExit,
        .kernel_channel = shmemgoKernelChannel,
        .counter_name = (const char *(*)(int))shmemgoCounterName,
        .counter = shmemgoCounter,
        .counter_nic = shmemgoCounterNIC,
        .nic_name = (const char *(*)(int))shmemgoNICName,
        .error = (const char *(*)(void))shmemgoError,
        .error_pe = shmemgoErrorPE,
        .fate = shmemgoFate,
        .acknowledge = shmemgoAcknowledge,
        .give_up = shmemgoGiveUp,
        .explain = (int (*)(const int32_t *, int, int, char *, size_t))shmemgoExplain,
        .late = (void (*)(const int32_t *, int, int, char *, size_t))shmemgoLate,
        .report = (void (*)(const char *))shmemgoReport,
        .report_wait = (void (*)(int, const char *))shmemgoReportWait,
        .probe = (void (*)(const int32_t *, int))shmemgoProbe,
    };
    front_abort = abort_;
    if (table.build == NULL)
        table.build = shmemgoVersion();
    return &table;
}
