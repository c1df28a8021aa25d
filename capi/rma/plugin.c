/*
 * plugin.c: the work of the plugin, by groups and meshes of the core (abi/rma.h, abi/mesh.h).
 *
 * NCCL starts a kernel's operations in its own proxy thread, which calls put, get and test, and
 * must not wait in any of them: the mesh queues what the network has no room for. User threads call
 * the rest, and may wait there; several may be in connect at once, for ranks of one process.
 *
 * A request is the handle of a request of the mesh, which is never 0 and never NOTHING.
 */
#include "plugin.h"

#include "mesh.h"
#include "rma.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Declared here alone: libshmem.so exports it for this library (capi/front/group.c). */
const struct shmemi_rma *shmemi_rma_core(const struct shmemi_mesh **mesh, char *error, size_t size);

extern char **environ;

/* The request of an operation without bytes: NCCL takes NULL for no request. */
#define NOTHING ((void *)1)

/* What init makes. */
struct communicator {
    nccl_logger log;
    const struct shmemi_rma *core;
    const struct shmemi_mesh *mesh;
};

struct listener {
    struct communicator *of;
    uint64_t handle;
    bool used; /* the ranks have met at it */
};

/* What connect makes. NCCL may have ended the communicator before it: log is a copy. */
struct coll {
    nccl_logger log;
    const struct shmemi_rma *core;
    const struct shmemi_mesh *mesh;
    uint64_t group;
    uint64_t members; /* the mesh */
    int ranks;
    bool failed, closed;
    int users; /* 1 until it is closed, and its contexts and memory, which may end later */
};

static void release(struct coll *x)
{
    if (__atomic_sub_fetch(&x->users, 1, __ATOMIC_ACQ_REL) == 0)
        free(x);
}

static void retain(struct coll *x)
{
    __atomic_add_fetch(&x->users, 1, __ATOMIC_RELAXED);
}

struct context {
    struct coll *of;
    int first, count; /* numbers of contexts of the mesh */
};

/* Memory of all ranks. */
struct memory {
    uint64_t handle;
    char *base; /* this rank's */
    size_t bytes;
    uint64_t remotes[];
};

/* Writes a line to NCCL's log. */
#define SAY(log, level, ...)                                                                       \
    do {                                                                                           \
        if (log)                                                                                   \
            (log)(level, ~0ul, __FILE__, __LINE__, __VA_ARGS__);                                   \
    } while (0)
#define WARN(log, ...) SAY(log, NCCL_LOG_WARN, __VA_ARGS__)

/* The result of a call of the core, whose error is written to the log. */
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

/* NCCL calls init twice for a communicator, with the process locked: nothing is opened here but the
 * core. An error makes NCCL try other plugins. */
nccl_result plugin_init(void **ctx, uint64_t comm, nccl_logger log)
{
    (void)comm;
    char error[SHMEMI_MESH_TEXT];
    struct communicator *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NCCL_SYSTEM_ERROR;
    c->log = log;
    c->core = shmemi_rma_core(&c->mesh, error, sizeof error);
    if (c->core == NULL) {
        WARN(log, "libshmem_rma: init: %s", error);
        free(c);
        return NCCL_SYSTEM_ERROR;
    }
    *ctx = c;
    return NCCL_SUCCESS;
}

nccl_result plugin_finalize(void *ctx)
{
    free(ctx);
    return NCCL_SUCCESS;
}

/* One device: the engine chooses the NIC. */
nccl_result plugin_devices(int *count)
{
    *count = 1;
    return NCCL_SUCCESS;
}

nccl_result plugin_properties(int device, struct nccl_properties *p)
{
    *p = (struct nccl_properties){
        .name = "shmem0", /* no network device has this name, by which NCCL tells devices apart */
        .guid = 1,
        .ptr_support = NCCL_PTR_HOST, /* memory of GPUs is staged */
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

nccl_result plugin_close_listen(void *listener)
{
    struct listener *l = listener;
    char error[SHMEMI_MESH_TEXT];
    int status = l->of->core->close_listener(l->handle, l->used, error);
    nccl_result r = result(l->of->log, "closeListen", status, error);
    free(l);
    return r;
}

static void write_log(const char *text, void *arg)
{
    SAY((nccl_logger)arg, NCCL_LOG_INFO, "libshmem_rma: %s", text);
}

nccl_result plugin_connect(void *ctx, void *handles[], int ranks, int rank, void *listener,
                           void **coll)
{
    struct listener *l = listener;
    /* Another library may have made ctx: NCCL passes what its own choice of network has. */
    struct communicator *c = l->of;
    (void)ctx;
    char error[SHMEMI_MESH_TEXT];
    struct coll *x = calloc(1, sizeof *x);
    if (x == NULL)
        return NCCL_SYSTEM_ERROR;
    *x = (struct coll){.log = c->log, .core = c->core, .mesh = c->mesh, .ranks = ranks, .users = 1};
    /* Each step of all ranks has SHMEM_BOOTSTRAP_TIMEOUT: NCCL cannot end a connect that waits. */
    struct shmemi_rma_options o = {
        .environ_ = (const char *const *)environ,
        .id = handles[0],
        .rank = rank,
        .size = ranks,
        .log = write_log,
        .log_arg = (void *)c->log,
    };
    nccl_result r =
        result(c->log, "connect", c->core->connect(&o, &x->group, &x->members, error), error);
    if (r != NCCL_SUCCESS) {
        free(x);
        return r;
    }
    l->used = rank == 0;
    *coll = x;
    return NCCL_SUCCESS;
}

nccl_result plugin_close(void *coll)
{
    struct coll *x = coll;
    char error[SHMEMI_MESH_TEXT];
    nccl_result r = result(x->log, "closeColl", x->core->close(x->group, error), error);
    x->closed = true;
    release(x);
    return r;
}

nccl_result plugin_contexts(void *coll, int contexts, void **context)
{
    struct coll *x = coll;
    char error[SHMEMI_MESH_TEXT];
    struct context *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NCCL_SYSTEM_ERROR;
    *c = (struct context){x, 0, contexts};
    nccl_result r = result(x->log, "createContext",
                           x->core->contexts(x->group, contexts, &c->first, error), error);
    if (r != NCCL_SUCCESS) {
        free(c);
        return r;
    }
    retain(x);
    *context = c;
    return NCCL_SUCCESS;
}

/* The contexts of the mesh stay until it is closed: NCCL may destroy its context after the coll. */
nccl_result plugin_destroy_context(void *context)
{
    release(((struct context *)context)->of);
    free(context);
    return NCCL_SUCCESS;
}

nccl_result plugin_register(void *coll, void *base, size_t bytes, int type, uint64_t flags,
                            void **memory)
{
    struct coll *x = coll;
    char error[SHMEMI_MESH_TEXT];
    struct memory *m = calloc(1, sizeof *m + (size_t)x->ranks * sizeof m->remotes[0]);
    if (m == NULL)
        return NCCL_SYSTEM_ERROR;
    m->base = base;
    m->bytes = bytes;
    int kind = (type == NCCL_PTR_CUDA ? SHMEMI_RMA_GPU : 0) |
               (flags & NCCL_MR_NEVER_RESET ? SHMEMI_RMA_WORDS : 0);
    int status = x->core->register_(x->group, base, bytes, kind, &m->handle, m->remotes, error);
    nccl_result r = result(x->log, "regMrSym", status, error);
    if (r != NCCL_SUCCESS) {
        free(m);
        return r;
    }
    retain(x);
    *memory = m;
    return NCCL_SUCCESS;
}

/* The close of a coll has ended all its registrations. */
nccl_result plugin_unregister(void *coll, void *memory)
{
    struct coll *x = coll;
    struct memory *m = memory;
    char error[SHMEMI_MESH_TEXT];
    nccl_result r = NCCL_SUCCESS;
    if (!x->closed)
        r = result(x->log, "deregMrSym", x->core->unregister(m->handle, error), error);
    free(m);
    release(x);
    return r;
}

/* Checks an operation, and completes block, its bytes at both sides. */
static bool valid(const char *call, const struct transfer *t, struct shmemi_mesh_block *block)
{
    const struct context *c = t->context;
    const struct memory *local = t->local;
    nccl_logger log = c->of->log;
    if (t->rank >= (uint32_t)c->of->ranks) {
        WARN(log, "libshmem_rma: %s: rank %u is not one of %d", call, t->rank, c->of->ranks);
        return false;
    }
    if (t->number < 0 || t->number >= c->count) {
        WARN(log, "libshmem_rma: %s: context %d is not one of %d", call, t->number, c->count);
        return false;
    }
    if (t->bytes == 0)
        return true;
    if (local == NULL || t->memory == NULL || t->local_offset > local->bytes ||
        t->bytes > local->bytes - t->local_offset) {
        WARN(log, "libshmem_rma: %s: %zu bytes at %llu are not in the registered memory of %zu",
             call, t->bytes, (unsigned long long)t->local_offset, local ? local->bytes : 0);
        return false;
    }
    *block = (struct shmemi_mesh_block){local->base + t->local_offset, t->offset, t->bytes};
    return true;
}

/* The result of an operation that has begun, or not. */
static nccl_result began(struct coll *x, const char *call, int status, uint64_t request,
                         const char *error, void **to)
{
    nccl_result r = result(x->log, call, status, error);
    if (r != NCCL_SUCCESS)
        __atomic_store_n(&x->failed, true, __ATOMIC_RELAXED);
    else
        *to = (void *)(uintptr_t)request;
    return r;
}

nccl_result plugin_put(const struct transfer *t, void **request)
{
    const struct context *c = t->context;
    struct coll *x = c->of;
    struct shmemi_mesh_block block;
    struct shmemi_mesh_signal signal = {0};
    char error[SHMEMI_MESH_TEXT];
    uint64_t handle = 0;
    *request = NULL;
    if (!valid(t->op ? "iputSignal" : "iput", t, &block))
        return NCCL_INVALID_ARGUMENT;
    if (t->op != 0) {
        if (t->op > NCCL_SIGNAL_ADD || t->signal == NULL) {
            WARN(x->log, "libshmem_rma: iputSignal: signal operation %u is not known", t->op);
            return NCCL_INVALID_ARGUMENT;
        }
        signal = (struct shmemi_mesh_signal){
            .remote = ((struct memory *)t->signal)->remotes[t->rank],
            .offset = t->signal_offset,
            .value = t->op == NCCL_SIGNAL_INC ? 1 : t->value,
            .op = 1, /* both add */
        };
    } else if (t->bytes == 0) {
        *request = NOTHING;
        return NCCL_SUCCESS;
    }
    uint64_t remote = t->bytes > 0 ? ((struct memory *)t->memory)->remotes[t->rank] : 0;
    int status = x->mesh->put(x->members, c->first + t->number, remote, &block, t->bytes > 0,
                              t->op != 0 ? &signal : NULL, t->strong, &handle, error);
    return began(x, t->op ? "iputSignal" : "iput", status, handle, error, request);
}

nccl_result plugin_get(const struct transfer *t, void **request)
{
    const struct context *c = t->context;
    struct coll *x = c->of;
    struct shmemi_mesh_block block;
    char error[SHMEMI_MESH_TEXT];
    uint64_t handle = 0;
    *request = NULL;
    if (!valid("iget", t, &block))
        return NCCL_INVALID_ARGUMENT;
    if (t->bytes == 0) {
        *request = NOTHING;
        return NCCL_SUCCESS;
    }
    int status =
        x->mesh->get(x->members, c->first + t->number,
                     ((struct memory *)t->memory)->remotes[t->rank], &block, 1, &handle, error);
    return began(x, "iget", status, handle, error, request);
}

/* A get is done when its bytes are where the GPU sees them: nothing is left to flush. */
nccl_result plugin_flush(void *context, int number, void *memory, uint32_t rank, void **request)
{
    (void)context;
    (void)number;
    (void)memory;
    (void)rank;
    *request = NULL;
    return NCCL_SUCCESS;
}

nccl_result plugin_test(void *coll, void *request, int *done)
{
    struct coll *x = coll;
    char error[SHMEMI_MESH_TEXT];
    uint64_t handle = request == NOTHING ? 0 : (uint64_t)(uintptr_t)request;
    int status = x->mesh->wait(&handle, 0, error);
    *done = status != SHMEMI_MESH_PENDING;
    if (status == 0 || status == SHMEMI_MESH_PENDING)
        return NCCL_SUCCESS;
    __atomic_store_n(&x->failed, true, __ATOMIC_RELAXED);
    return result(x->log, "test", status, error);
}

/* The mesh has a thread of its own, which makes progress. */
nccl_result plugin_progress(void *context)
{
    (void)context;
    return NCCL_SUCCESS;
}

nccl_result plugin_last_error(void *context, bool *failed)
{
    *failed = __atomic_load_n(&((struct context *)context)->of->failed, __ATOMIC_RELAXED);
    return NCCL_SUCCESS;
}
