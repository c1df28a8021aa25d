/*
 * plugin.c: the work of libshmem_rma.so, a network plugin of NCCL for its one-sided operations
 * (RMA). It uses groups of the core (abi/rma.h): a group is the connected ranks of a communicator.
 *
 * NCCL starts a kernel's operations in its own proxy thread, which calls put, get and test, and
 * must not wait in any of them: a put or get is submitted to the group's own proxy, and test reads
 * one word (queue.h). User threads call the rest, and may wait there; several may be in connect at
 * once, for ranks of one process.
 *
 * NCCL's request is a struct shmemi_group_operation, or NOTHING.
 */
#include "plugin.h"

#include "mesh.h"
#include "queue.h"
#include "rma.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libshmem.so exports it for this library alone (capi/front/group.c), so no header declares it. */
const struct shmemi_rma *shmemi_rma_core(char *error, size_t size);

extern char **environ;

/* The request of an operation without bytes: NCCL takes NULL for no request. */
#define NOTHING ((void *)1)

/* NCCL's `ctx`: what init makes for a communicator. */
struct communicator {
    nccl_logger log; /* NCCL's function for its log; may be NULL */
    const struct shmemi_rma *core;
};

/* NCCL's `listener`: what listen makes. */
struct listener {
    struct communicator *of;
    uint64_t handle; /* the core's */
    bool used;       /* rank 0 has connected by it */
};

/* NCCL's `coll`: what connect makes. NCCL may end the communicator before the coll, so log is a
 * copy. */
struct coll {
    nccl_logger log;
    const struct shmemi_rma *core;
    uint64_t group; /* the core's handle */
    struct operations operations;
    int ranks;
    bool failed; /* an operation has failed, or a rank is lost */
    bool closed; /* closeColl has left the group */
    int users;   /* one until closeColl, and one for each context and memory, which may end later */
};

/* Ends a use of a coll. The end of the last use frees it. */
static void release(struct coll *self)
{
    if (__atomic_sub_fetch(&self->users, 1, __ATOMIC_ACQ_REL) == 0) {
        operations_free(&self->operations);
        free(self);
    }
}

/* Adds a use of a coll, which release ends. */
static void retain(struct coll *self)
{
    __atomic_add_fetch(&self->users, 1, __ATOMIC_RELAXED);
}

/* NCCL's `context`, which createContext makes: several contexts of the mesh. */
struct context {
    struct coll *of;
    int first, count; /* their numbers in the mesh are first to first + count - 1 */
};

/* NCCL's `memory`, which regMrSym makes: memory that all ranks have registered together. */
struct memory {
    uint64_t handle, number; /* the core's handle; the number by which operations name it */
    char *base;              /* this rank's part */
    size_t bytes;            /* of this rank's part */
};

/* Writes a line to NCCL's log. ~0ul: whatever parts of NCCL the log is limited to. */
#define SAY(log, level, ...)                                                                       \
    do {                                                                                           \
        if (log)                                                                                   \
            (log)(level, ~0ul, __FILE__, __LINE__, __VA_ARGS__);                                   \
    } while (0)
#define WARN(log, ...) SAY(log, NCCL_LOG_WARN, __VA_ARGS__)

/* Returns NCCL's result for the status of a call of the core, and writes the core's error to NCCL's
 * log. */
static nccl_result result(nccl_logger log, const char *call, int status, const char *error)
{
    if (status == 0)
        return NCCL_SUCCESS;
    WARN(log, "libshmem_rma: %s: %s", call, error);
    switch (status) {
    case SHMEMI_MESH_ARGUMENT:
        return NCCL_INVALID_ARGUMENT;
    case SHMEMI_MESH_NETWORK:
        return NCCL_SYSTEM_ERROR;
    default:
        return NCCL_REMOTE_ERROR;
    }
}

/* NCCL's init. NCCL calls it twice for a communicator, with a lock of the process held, so it opens
 * nothing but the core. If it returns an error, NCCL tries other plugins. */
nccl_result plugin_init(void **ctx, uint64_t comm, nccl_logger log)
{
    (void)comm;
    char error[SHMEMI_MESH_TEXT];
    struct communicator *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NCCL_SYSTEM_ERROR;
    c->log = log;
    c->core = shmemi_rma_core(error, sizeof error);
    if (c->core == NULL) {
        WARN(log, "libshmem_rma: init: %s", error);
        free(c);
        return NCCL_SYSTEM_ERROR;
    }
    *ctx = c;
    return NCCL_SUCCESS;
}

/* NCCL's finalize: frees what init has made. */
nccl_result plugin_finalize(void *ctx)
{
    free(ctx);
    return NCCL_SUCCESS;
}

/* NCCL's devices: returns that there is one, because the mesh's engine itself chooses the NICs. */
nccl_result plugin_devices(int *count)
{
    *count = 1;
    return NCCL_SUCCESS;
}

/* NCCL's getProperties: describes the one device. Members that are not set are 0, as the latency,
 * which is not known; max_comms and the numbers of bytes stand for no limit. */
nccl_result plugin_properties(int device, struct nccl_properties *p)
{
    *p = (struct nccl_properties){
        .name = "shmem0", /* NCCL distinguishes devices by name: no network device has this one */
        .guid = 1,
        .ptr_support = NCCL_PTR_HOST, /* the core itself decides how bytes of GPUs travel */
        .reg_is_global = 1,
        .speed = 100000, /* not known; NCCL chooses nothing by it */
        .max_comms = 1 << 20,
        .max_recvs = 4, /* NCCL has up to 32 times as many operations under way on a rank */
        .device_type = NCCL_NETDEV_GIN_PROXY,
        .devices = {1, {device}},
        .max_p2p_bytes = (size_t)1 << 40,
        .max_coll_bytes = (size_t)1 << 40,
        .max_multi_request_size = 1,
        .rail = -1,
        .plane = -1,
    };
    return NCCL_SUCCESS;
}

/* NCCL's listen: makes the unique id by which the ranks connect, and writes it to handle, which
 * NCCL sends to all ranks. */
nccl_result plugin_listen(void *ctx, int device, void *handle, void **listener)
{
    (void)device;
    _Static_assert((int)SHMEMI_RMA_ID <= (int)NCCL_HANDLE_SIZE, "a unique id is a handle");
    struct communicator *c = ctx;
    char error[SHMEMI_MESH_TEXT];
    struct listener *l = calloc(1, sizeof *l);
    if (l == NULL)
        return NCCL_SYSTEM_ERROR;
    memset(handle, 0, NCCL_HANDLE_SIZE);
    l->of = c;
    nccl_result r =
        result(c->log, "listen",
               c->core->listen((const char *const *)environ, handle, &l->handle, error), error);
    if (r != NCCL_SUCCESS) {
        free(l);
        return r;
    }
    *listener = l;
    return NCCL_SUCCESS;
}

/* NCCL's closeListen: closes the listener or, if connect has used it, only ends its handle. */
nccl_result plugin_close_listen(void *listener)
{
    struct listener *l = listener;
    char error[SHMEMI_MESH_TEXT];
    int status = l->of->core->close_listener(l->handle, l->used, error);
    nccl_result r = result(l->of->log, "closeListen", status, error);
    free(l);
    return r;
}

/* Writes a line of the mesh's log to NCCL's; arg is NCCL's function for that. */
static void write_log(const char *text, void *arg)
{
    SAY((nccl_logger)arg, NCCL_LOG_INFO, "libshmem_rma: %s", text);
}

/* NCCL's connect: connects this rank with the others, by the unique id in handles[0], which rank
 * 0's listen has made. */
nccl_result plugin_connect(void *ctx, void *handles[], int ranks, int rank, void *listener,
                           void **coll)
{
    struct listener *l = listener;
    /* ctx may be another plugin's: NCCL passes that of the network that it has chosen for its other
     * transports. So the communicator is the listener's. */
    struct communicator *c = l->of;
    (void)ctx;
    char error[SHMEMI_MESH_TEXT];
    struct coll *self = calloc(1, sizeof *self);
    if (self == NULL)
        return NCCL_SYSTEM_ERROR;
    *self = (struct coll){.log = c->log, .core = c->core, .ranks = ranks, .users = 1};
    operations_init(&self->operations);
    /* SHMEM_BOOTSTRAP_TIMEOUT limits each step of all ranks: NCCL cannot end a connect that waits.
     */
    struct shmemi_rma_options o = {
        .environ_ = (const char *const *)environ,
        .id = handles[0],
        .rank = rank,
        .size = ranks,
        .queue = &self->operations.queue,
        .log = write_log,
        .log_arg = (void *)c->log,
    };
    nccl_result r = result(c->log, "connect", c->core->connect(&o, &self->group, error), error);
    if (r != NCCL_SUCCESS) {
        release(self);
        return r;
    }
    l->used = rank == 0; /* all ranks connect by rank 0's listener */
    *coll = self;
    return NCCL_SUCCESS;
}

/* NCCL's closeColl: leaves the group, which also ends its registrations. Frees the coll unless a
 * context or memory still uses it. */
nccl_result plugin_close(void *coll)
{
    struct coll *self = coll;
    char error[SHMEMI_MESH_TEXT];
    nccl_result r = result(self->log, "closeColl", self->core->close(self->group, error), error);
    self->closed = true;
    release(self);
    return r;
}

/* NCCL's createContext: opens `contexts` contexts of the mesh. */
nccl_result plugin_contexts(void *coll, int contexts, void **context)
{
    struct coll *self = coll;
    char error[SHMEMI_MESH_TEXT];
    struct context *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NCCL_SYSTEM_ERROR;
    *c = (struct context){self, 0, contexts};
    nccl_result r = result(self->log, "createContext",
                           self->core->contexts(self->group, contexts, &c->first, error), error);
    if (r != NCCL_SUCCESS) {
        free(c);
        return r;
    }
    retain(self);
    *context = c;
    return NCCL_SUCCESS;
}

/* NCCL's destroyContext: frees the record of the contexts. The mesh's contexts stay open until the
 * mesh is closed: NCCL may destroy its context after the coll. */
nccl_result plugin_destroy_context(void *context)
{
    release(((struct context *)context)->of);
    free(context);
    return NCCL_SUCCESS;
}

/* NCCL's regMrSym: registers memory together with all other ranks. Of memory that nobody resets
 * (NCCL_MR_NEVER_RESET) only signals change the words: their owner remembers the values, and
 * applies a signal without a read of GPU memory (SHMEMI_RMA_WORDS). */
nccl_result plugin_register(void *coll, void *base, size_t bytes, int type, uint64_t flags,
                            void **memory)
{
    struct coll *self = coll;
    char error[SHMEMI_MESH_TEXT];
    struct memory *m = calloc(1, sizeof *m);
    if (m == NULL)
        return NCCL_SYSTEM_ERROR;
    m->base = base;
    m->bytes = bytes;
    int kind = (type == NCCL_PTR_CUDA ? SHMEMI_RMA_GPU : 0) |
               (flags & NCCL_MR_NEVER_RESET ? SHMEMI_RMA_WORDS : 0);
    int status =
        self->core->register_(self->group, base, bytes, kind, &m->handle, &m->number, error);
    nccl_result r = result(self->log, "regMrSym", status, error);
    if (r != NCCL_SUCCESS) {
        free(m);
        return r;
    }
    retain(self);
    *memory = m;
    return NCCL_SUCCESS;
}

/* NCCL's deregMrSym: ends a registration, unless closeColl has ended it, and frees its record. */
nccl_result plugin_unregister(void *coll, void *memory)
{
    struct coll *self = coll;
    struct memory *m = memory;
    char error[SHMEMI_MESH_TEXT];
    nccl_result r = NCCL_SUCCESS;
    if (!self->closed)
        r = result(self->log, "deregMrSym", self->core->unregister(m->handle, error), error);
    free(m);
    release(self);
    return r;
}

/* Writes the group's first failure to NCCL's log and returns NCCL's result for it. From now on the
 * coll counts as failed. */
static nccl_result failure(struct coll *self, const char *call)
{
    char error[SHMEMI_MESH_TEXT] = "the group has failed";
    int status = self->core->failure(self->group, error);
    __atomic_store_n(&self->failed, true, __ATOMIC_RELAXED);
    return result(self->log, call, status ? status : SHMEMI_MESH_NETWORK, error);
}

/* Checks an operation of the NCCL function `call`, and submits it to the group's proxy. kind is
 * SHMEMI_GROUP_PUT or SHMEMI_GROUP_GET, and signal is the memory with the signal's word, or NULL.
 * Sets *request for plugin_test; NULL after an error in the arguments. */
static nccl_result submit(const char *call, const struct transfer *t, uint32_t kind,
                          const struct memory *signal, void **request)
{
    const struct context *c = t->context;
    const struct memory *local = t->local, *memory = t->memory;
    struct coll *self = c->of;
    *request = NULL;
    if (t->rank >= (uint32_t)self->ranks) {
        WARN(self->log, "libshmem_rma: %s: rank %u is not one of %d", call, t->rank, self->ranks);
        return NCCL_INVALID_ARGUMENT;
    }
    if (t->number < 0 || t->number >= c->count) {
        WARN(self->log, "libshmem_rma: %s: context %d is not one of %d", call, t->number, c->count);
        return NCCL_INVALID_ARGUMENT;
    }
    if (t->bytes == 0 && signal == NULL) {
        *request = NOTHING;
        return NCCL_SUCCESS;
    }
    if (t->bytes > 0 && (local == NULL || memory == NULL || t->local_offset > local->bytes ||
                         t->bytes > local->bytes - t->local_offset)) {
        WARN(self->log,
             "libshmem_rma: %s: %zu bytes at %llu are not in the registered memory of %zu", call,
             t->bytes, (unsigned long long)t->local_offset, local ? local->bytes : 0);
        return NCCL_INVALID_ARGUMENT;
    }
    if (__atomic_load_n(&self->operations.queue.failed, __ATOMIC_ACQUIRE))
        return failure(self, call);
    struct shmemi_group_operation *o = operation_take(&self->operations);
    if (o == NULL)
        return NCCL_SYSTEM_ERROR;
    o->kind = kind;
    o->rank = t->rank;
    o->context = c->first + t->number;
    o->ordered = t->strong;
    o->nbytes = t->bytes;
    if (t->bytes > 0) {
        o->local = local->base + t->local_offset;
        o->memory = memory->number;
        o->offset = t->offset;
    }
    if (signal != NULL) {
        o->signal_memory = signal->number;
        o->signal_offset = t->signal_offset;
        o->signal_value = t->op == NCCL_SIGNAL_INC ? 1 : t->value;
        o->signal_op = SHMEMI_RMA_ADD;
    }
    *request = o;
    char error[SHMEMI_MESH_TEXT];
    if (operation_submit(&self->operations, o))
        return result(self->log, call, self->core->wake(self->group, error), error);
    return NCCL_SUCCESS;
}

/* NCCL's iput and iputSignal: starts a put, a signal, or a put with a signal. */
nccl_result plugin_put(const struct transfer *t, void **request)
{
    if (t->op == 0)
        return submit("iput", t, SHMEMI_GROUP_PUT, NULL, request);
    if (t->op > NCCL_SIGNAL_ADD || t->signal == NULL) {
        WARN(((struct context *)t->context)->of->log,
             "libshmem_rma: iputSignal: signal operation %u is not known", t->op);
        *request = NULL;
        return NCCL_INVALID_ARGUMENT;
    }
    return submit("iputSignal", t, SHMEMI_GROUP_PUT, t->signal, request);
}

/* NCCL's iget: starts a get. */
nccl_result plugin_get(const struct transfer *t, void **request)
{
    return submit("iget", t, SHMEMI_GROUP_GET, NULL, request);
}

/* NCCL's iflush, which makes the bytes of gets visible to the GPU: does nothing, because a get is
 * complete only when the GPU sees its bytes. */
nccl_result plugin_flush(void *context, int number, void *memory, uint32_t rank, void **request)
{
    (void)context;
    (void)number;
    (void)memory;
    (void)rank;
    *request = NULL;
    return NCCL_SUCCESS;
}

/* NCCL's test: sets *done to 1 if the request has ended, and then frees it; otherwise to 0. Returns
 * an error if the request has failed, or is under way in a group that has failed. The latter stays
 * allocated, at the latest until the coll is freed. */
nccl_result plugin_test(void *coll, void *request, int *done)
{
    struct coll *self = coll;
    struct shmemi_group_operation *o = request;
    *done = 1;
    if (request == NOTHING)
        return NCCL_SUCCESS;
    switch (__atomic_load_n(&o->state, __ATOMIC_ACQUIRE)) {
    case SHMEMI_GROUP_UNDERWAY:
        *done = 0;
        if (!__atomic_load_n(&self->operations.queue.failed, __ATOMIC_ACQUIRE))
            return NCCL_SUCCESS;
        return failure(self, "test");
    case SHMEMI_GROUP_DONE:
        operation_return(&self->operations, o);
        return NCCL_SUCCESS;
    default:
        operation_return(&self->operations, o);
        return failure(self, "test");
    }
}

/* NCCL's progress: does nothing, because the group has a proxy of its own. */
nccl_result plugin_progress(void *context)
{
    (void)context;
    return NCCL_SUCCESS;
}

/* NCCL's queryLastError: sets *failed if an operation of the coll has failed or a rank is lost.
 * NCCL asks in each round, and then ends the communicator: kernels may wait for a signal of a lost
 * rank on which this one has no operation under way. */
nccl_result plugin_last_error(void *context, bool *failed)
{
    struct coll *self = ((struct context *)context)->of;
    *failed = __atomic_load_n(&self->failed, __ATOMIC_RELAXED);
    if (!*failed && !self->closed &&
        __atomic_load_n(&self->operations.queue.lost, __ATOMIC_ACQUIRE)) {
        failure(self, "queryLastError");
        *failed = true;
    }
    return NCCL_SUCCESS;
}
