/*
 * mesh_calls.c: the functions of shmemx_mesh_...: meshes of processes that form no job. They check
 * pointers, pass the calls to the core, and keep the text of a thread's last error.
 */
#include "mesh_calls.h"

#include "lifecycle.h"
#include "mesh.h"

#include <stdarg.h>
#include <stdio.h>

/* The public types have the layouts of the core's types, so that calls can pass them on. */
#define SAME(type, member)                                                                         \
    _Static_assert(offsetof(shmemx_mesh_##type##_t, member) ==                                     \
                       offsetof(struct shmemi_mesh_##type, member),                                \
                   #type)
#define SAME_SIZE(type)                                                                            \
    _Static_assert(sizeof(shmemx_mesh_##type##_t) == sizeof(struct shmemi_mesh_##type), #type)
SAME_SIZE(options);
SAME(options, secret);
SAME(options, contexts);
SAME(options, provider);
SAME(options, log_arg);
SAME(options, gpu);
SAME_SIZE(block);
SAME(block, offset);
SAME(block, nbytes);
SAME_SIZE(signal);
SAME(signal, value);
SAME(signal, op);
_Static_assert((int)SHMEMI_MESH_PENDING == SHMEMX_MESH_PENDING &&
                   (int)SHMEMI_MESH_ARGUMENT == SHMEMX_MESH_ARGUMENT &&
                   (int)SHMEMI_MESH_MEMBER == SHMEMX_MESH_MEMBER &&
                   (int)SHMEMI_MESH_CLOSED == SHMEMX_MESH_CLOSED &&
                   (int)SHMEMI_MESH_VERSION == SHMEMX_MESH_VERSION &&
                   (int)SHMEMI_MESH_NETWORK == SHMEMX_MESH_NETWORK &&
                   (int)SHMEMI_MESH_TIMEOUT == SHMEMX_MESH_TIMEOUT &&
                   (int)SHMEMI_MESH_GPU_OTHERS == SHMEMX_MESH_GPU_OTHERS &&
                   (int)SHMEMI_MESH_GPU_OWN == SHMEMX_MESH_GPU_OWN,
               "constants");

static _Thread_local char text[SHMEMI_MESH_TEXT + 64]; /* of the last error */
static _Thread_local char cause[SHMEMI_MESH_TEXT];     /* what the core writes */

/* Stores the error text of a call that is not passed to the core, because of an argument or because
 * no mesh is open. Returns SHMEMX_MESH_ARGUMENT. */
__attribute__((format(printf, 2, 3))) static int refuse(const char *call, const char *what, ...)
{
    va_list args;
    int n = snprintf(text, sizeof text, "%s: ", call);
    va_start(args, what);
    vsnprintf(text + n, sizeof text - (size_t)n, what, args);
    va_end(args);
    return SHMEMX_MESH_ARGUMENT;
}

/* Returns the core's result of a call, and stores the text of an error for shmemx_mesh_error_text.
 */
static int result(const char *call, int status)
{
    if (status != 0 && status != SHMEMX_MESH_PENDING)
        snprintf(text, sizeof text, "%s: %s", call, cause);
    return status;
}

/* Returns the core's functions for meshes. If no mesh was opened, or if this process was forked
 * after one was, it returns NULL and stores the text of the error. */
static const struct shmemi_mesh *meshes(const char *call)
{
    const struct shmemi_core *core = shmemi_state.core;
    if (core != NULL)
        return core->mesh;
    refuse(call, "%s",
           shmemi_state.init_count == SHMEMI_FORKED
               ? "this process is a child forked after its parent had opened a mesh or a job "
                 "(exec a program, or fork before)"
               : "this process has opened no mesh (call shmemx_mesh_open)");
    return NULL;
}

/* Declares `core`, the core's functions for meshes, or has the calling function return. */
#define CORE(call)                                                                                 \
    const struct shmemi_mesh *core = meshes(call);                                                 \
    if (core == NULL)                                                                              \
    return SHMEMX_MESH_CLOSED

/* Has the calling function return an error if a pointer is NULL. */
#define NEEDS(pointer, call)                                                                       \
    if ((pointer) == NULL)                                                                         \
    return refuse(call, #pointer " is NULL (pass an address)")

/* Limits of the bytes of a secret, a message or a blob (the bytes that describe a member or a
 * region), and of the blocks of a call. A call with more is refused as a mistake of the program.
 */
enum { MOST_BYTES = 1 << 16, MOST_BLOCKS = 1 << 24 };

#define NS_PER_MS ((int64_t)1000000)

/* Has the calling function return an error if n is above a limit. */
#define AT_MOST(n, most, call)                                                                     \
    if ((n) > (most))                                                                              \
    return refuse(call, #n " is %zu (pass up to %d)", (size_t)(n), (int)(most))

/* ------------------------------------------------- functions of shmemx_mesh_... */

/* Each function checks the arguments that the core cannot check, such as pointers to results, and
 * passes the call on. It returns 0, or a SHMEMX_MESH_ status. */

/* Implements shmemx_mesh_open: opens a mesh with one member, this process. It loads the core first,
 * since no init has to precede it. */
int shmemi_mesh_open(const shmemx_mesh_options_t *options, uint64_t *mesh, const char *call)
{
    NEEDS(options, call);
    NEEDS(mesh, call);
    if (options->size != sizeof *options)
        return refuse(call, "options->size is %zu (set it to sizeof(shmemx_mesh_options_t), %zu)",
                      options->size, sizeof *options);
    if (options->secret == NULL && options->secret_nbytes > 0)
        return refuse(call, "options->secret is NULL (pass the secret of the mesh)");
    AT_MOST(options->secret_nbytes, MOST_BYTES, call);
    if (options->gpu < 0 || options->gpu > SHMEMX_MESH_GPU_OWN)
        return refuse(call, "options->gpu is %d (set it to 0 or a SHMEMX_MESH_GPU constant)",
                      options->gpu);
    const struct shmemi_core *loaded = shmemi_load_core(cause, sizeof cause);
    if (loaded == NULL)
        return result(call, SHMEMX_MESH_NETWORK);
    return result(call,
                  loaded->mesh->open((const struct shmemi_mesh_options *)options, mesh, cause));
}

/* Implements shmemx_mesh_close: leaves a mesh. */
int shmemi_mesh_close(uint64_t mesh, const char *call)
{
    CORE(call);
    return result(call, core->close(mesh, cause));
}

/* Implements shmemx_mesh_address: copies the blob by which other members add this one. *nbytes is
 * the room at blob, and becomes the size of the blob. With blob NULL only the size is set. */
int shmemi_mesh_address(uint64_t mesh, void *blob, size_t *nbytes, const char *call)
{
    NEEDS(nbytes, call);
    CORE(call);
    return result(call, core->address(mesh, blob, nbytes, cause));
}

/* Implements shmemx_mesh_add: adds the member that a blob describes. */
int shmemi_mesh_add(uint64_t mesh, const void *blob, size_t nbytes, int *member, const char *call)
{
    NEEDS(blob, call);
    AT_MOST(nbytes, MOST_BYTES, call);
    CORE(call);
    return result(call, core->add(mesh, blob, nbytes, member, cause));
}

/* Implements shmemx_mesh_remove: disconnects a member. */
int shmemi_mesh_remove(uint64_t mesh, int member, const char *call)
{
    CORE(call);
    return result(call, core->remove_(mesh, member, cause));
}

/* Implements shmemx_mesh_status: returns 0 while a member can be used, and otherwise why not. */
int shmemi_mesh_status(uint64_t mesh, int member, const char *call)
{
    CORE(call);
    return result(call, core->status(mesh, member, cause));
}

/* Implements shmemx_mesh_register: makes memory of this process a region, which members can
 * import. */
int shmemi_mesh_register(uint64_t mesh, void *base, size_t nbytes, uint64_t *region,
                         const char *call)
{
    NEEDS(region, call);
    CORE(call);
    return result(call, core->register_(mesh, base, nbytes, region, cause));
}

/* Implements shmemx_mesh_describe: copies the blob by which members import a region. *nbytes and a
 * blob of NULL are as for shmemx_mesh_address. */
int shmemi_mesh_describe(uint64_t region, void *blob, size_t *nbytes, const char *call)
{
    NEEDS(nbytes, call);
    CORE(call);
    return result(call, core->describe(region, blob, nbytes, cause));
}

/* Implements shmemx_mesh_unregister: begins to close a region. */
int shmemi_mesh_unregister(uint64_t region, uint64_t *request, const char *call)
{
    NEEDS(request, call);
    CORE(call);
    return result(call, core->unregister(region, request, cause));
}

/* Implements shmemx_mesh_import: requests the use of another member's region. */
int shmemi_mesh_import(uint64_t mesh, const void *blob, size_t nbytes, uint64_t *remote,
                       size_t *length, uint64_t *request, const char *call)
{
    NEEDS(blob, call);
    AT_MOST(nbytes, MOST_BYTES, call);
    NEEDS(remote, call);
    NEEDS(request, call);
    CORE(call);
    return result(call, core->import(mesh, blob, nbytes, remote, length, request, cause));
}

/* Implements shmemx_mesh_put: starts a put of blocks to a region of a member, with a signal unless
 * signal is NULL. */
int shmemi_mesh_put(uint64_t mesh, int context, uint64_t remote, const shmemx_mesh_block_t *blocks,
                    size_t nblocks, const shmemx_mesh_signal_t *signal, int flags,
                    uint64_t *request, const char *call)
{
    NEEDS(request, call);
    if (nblocks > 0)
        NEEDS(blocks, call);
    AT_MOST(nblocks, MOST_BLOCKS, call);
    if ((flags & ~SHMEMX_MESH_ORDERED) != 0)
        return refuse(call, "flags is %#x (pass 0 or SHMEMX_MESH_ORDERED)", (unsigned)flags);
    CORE(call);
    return result(call, core->put(mesh, context, remote, (const struct shmemi_mesh_block *)blocks,
                                  nblocks, (const struct shmemi_mesh_signal *)signal,
                                  flags & SHMEMX_MESH_ORDERED, request, cause));
}

/* Implements shmemx_mesh_put_signal: starts a put that a signal follows. */
int shmemi_mesh_put_signal(uint64_t mesh, int context, uint64_t remote,
                           const shmemx_mesh_block_t *blocks, size_t nblocks,
                           const shmemx_mesh_signal_t *signal, int flags, uint64_t *request,
                           const char *call)
{
    NEEDS(signal, call);
    return shmemi_mesh_put(mesh, context, remote, blocks, nblocks, signal, flags, request, call);
}

/* Implements shmemx_mesh_notify: starts a put of no blocks, and so to no region, with a signal. */
int shmemi_mesh_notify(uint64_t mesh, int context, const shmemx_mesh_signal_t *signal, int flags,
                       uint64_t *request, const char *call)
{
    NEEDS(signal, call);
    return shmemi_mesh_put(mesh, context, /* remote */ 0, /* blocks */ NULL, 0, signal, flags,
                           request, call);
}

/* Implements shmemx_mesh_get: starts a get of blocks from a region of a member. */
int shmemi_mesh_get(uint64_t mesh, int context, uint64_t remote, const shmemx_mesh_block_t *blocks,
                    size_t nblocks, uint64_t *request, const char *call)
{
    NEEDS(request, call);
    if (nblocks > 0)
        NEEDS(blocks, call);
    AT_MOST(nblocks, MOST_BLOCKS, call);
    CORE(call);
    return result(call, core->get(mesh, context, remote, (const struct shmemi_mesh_block *)blocks,
                                  nblocks, request, cause));
}

/* Implements shmemx_mesh_flush: starts a request that ends when all earlier operations of a context
 * on a member have taken effect there. */
int shmemi_mesh_flush(uint64_t mesh, int context, int member, uint64_t *request, const char *call)
{
    NEEDS(request, call);
    CORE(call);
    return result(call, core->flush(mesh, context, member, request, cause));
}

/* Implements shmemx_mesh_send: sends a message to a member's program. */
int shmemi_mesh_send(uint64_t mesh, int member, const void *data, size_t nbytes, uint64_t *request,
                     const char *call)
{
    NEEDS(data, call);
    NEEDS(request, call);
    AT_MOST(nbytes, MOST_BYTES, call);
    CORE(call);
    return result(call, core->send(mesh, member, data, nbytes, request, cause));
}

/* Implements shmemx_mesh_receive: receives a message, or waits for one for up to timeout_ms.
 * *nbytes is the size of data at the call, and that of the message afterwards. */
int shmemi_mesh_receive(uint64_t mesh, void *data, size_t *nbytes, int *member, int timeout_ms,
                        const char *call)
{
    NEEDS(data, call);
    NEEDS(nbytes, call);
    NEEDS(member, call);
    size_t room = *nbytes < MOST_BYTES ? *nbytes : MOST_BYTES;
    CORE(call);
    int status = core->receive(mesh, data, &room, member,
                               timeout_ms > 0 ? timeout_ms * NS_PER_MS : 0, cause);
    if (status == 0)
        *nbytes = room;
    return result(call, status);
}

/* Implements shmemx_mesh_test: tests whether a request has ended. A time of 0: the core tests once.
 */
int shmemi_mesh_test(uint64_t *request, const char *call)
{
    NEEDS(request, call);
    CORE(call);
    return result(call, core->wait(request, 0, cause));
}

/* Implements shmemx_mesh_wait: waits for a request for up to timeout_ms. The core tests once if the
 * time is 0, so a wait has at least 1 ns. */
int shmemi_mesh_wait(uint64_t *request, int timeout_ms, const char *call)
{
    NEEDS(request, call);
    CORE(call);
    int status = core->wait(request, timeout_ms > 0 ? timeout_ms * NS_PER_MS : 1, cause);
    return result(call, status);
}

/* Implements shmemx_mesh_error_text: returns the text of the calling thread's last error. */
const char *shmemi_mesh_error_text(const char *call)
{
    (void)call;
    return text;
}
