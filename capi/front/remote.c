/*
 * remote.c: calls that the inline functions of front.h do not serve.
 *
 * Either an argument is wrong, and refuse() reports why, or the PE is on another node. Then this
 * file passes the operation to the core, under the network lock. The core posts it or returns that
 * it has no room; in that case this file waits and tries again.
 */
#define _GNU_SOURCE
#include "remote.h"

#include "address.h"
#include "buffers.h"
#include "context.h"
#include "error.h"
#include "failure.h"
#include "gpu.h"
#include "netlock.h"
#include "notify.h"
#include "quiet.h"
#include "ranges.h"
#include "wait.h"
#include "waiter.h"

#include <stdio.h>

/* ------------------------------------------------------------------ checks */

/* Ends the program because the n bytes at addr are not symmetric memory of PE pe, and prints the
 * reason. The most specific reason is checked first. */
static SHMEMI_COLD void refuse(const void *addr, size_t n, int pe, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    uintptr_t at = (uintptr_t)addr, offset = at - s->heap_base;
    shmemi_check_pe(pe, call);
    shmemi_check_allocated("the symmetric address", addr, call);
    if (addr == NULL)
        shmemi_abort(call, "pass memory from shmem_malloc", "the symmetric address is NULL");
    shmemi_refuse_outside(addr, n, call);
    if (offset >= s->heap_size)
        shmemi_abort(call, "pass memory from shmem_malloc",
                     "%p is not a symmetric address (the heap is %#zx bytes at %p)", addr,
                     s->heap_size, (void *)s->heap_base);
    shmemi_abort(call, "check the number of elements",
                 "%zu bytes at heap offset %#zx run past the symmetric heap of %#zx bytes", n,
                 (size_t)offset, s->heap_size);
}

/* Returns the offset from the user heap of n bytes at a symmetric address, which is the same on
 * every PE. Ends the program if they are not symmetric, or PE pe does not exist. */
static int64_t offset_of(const void *addr, size_t n, int pe, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    if (SHMEMI_UNLIKELY((uint32_t)pe >= s->n_pes))
        refuse(addr, n, pe, call);
    if (SHMEMI_UNLIKELY(n == 0))
        return 0; /* for 0 bytes any address is valid, also NULL (annex on undefined behaviour) */
    if (SHMEMI_UNLIKELY(!shmemi_in_heap(addr, n))) {
        int64_t offset = shmemi_outside_offset(addr, n);
        if (offset == SHMEMI_NO_OFFSET)
            refuse(addr, n, pe, call);
        return offset;
    }
    if (s->checks == SHMEMI_CHECKS_FULL)
        shmemi_check_block(addr, n, call);
    return (int64_t)((uintptr_t)addr - s->heap_base);
}

/* Under full checks, ends the program if the context is private to another thread. */
static void check_thread(shmem_ctx_t ctx, const char *call)
{
    if (shmemi_state.checks == SHMEMI_CHECKS_FULL)
        shmemi_ctx_check(ctx, call);
}

/* Ends the program if a local address is NULL although there are bytes to copy. */
static void check_local(const void *p, size_t n, const char *what, const char *call)
{
    if (p == NULL && n > 0)
        shmemi_abort(call, "pass memory of this PE", "the local %s is NULL", what);
}

/* Checks the arguments of an operation, the symmetric address and the local one (`local`, which
 * `what` names), and returns the offset of the symmetric address. */
int64_t shmemi_check_target(const void *addr, size_t n, const void *local, int pe, const char *what,
                            const char *call)
{
    int64_t offset = offset_of(addr, n, pe, call);
    check_local(local, n, what, call);
    return offset;
}

/* ------------------------------------------------------------ the endpoint */

/* Reports whether an operation is an atomic that returns the old value. In the list of atomics
 * these come after those that do not. */
static bool returns_old_value(const struct shmemi_host_operation *o)
{
    return o->kind == SHMEMI_OPERATION_AMO && o->op >= SHMEMI_AMO_SWAP;
}

/* What the report of a wait says: what the wait is for, and at which PE. */
struct posting {
    int pe;
    const char *what;
};

/* For the hang report: names what is missing, and at which PE. */
static void describe_posting(const void *subject, char *text, size_t size)
{
    const struct posting *p = subject;
    snprintf(text, size, "%s PE %d", p->what, p->pe);
}

/* Marks in the context that a later quiet and a later fence have an operation to wait for. */
static void mark_operations(struct shmemi_context *c)
{
    shmemi_write_once(&c->dirty, SHMEMI_POSTED);
    shmemi_write_once(&c->unfenced, 1);
}

/* Whether a later quiet has to wait for an operation, and a later fence to order it. UNMARKED:
 * neither. MARKED: both. MARKED_WHEN_PENDING: both, if post returns that the operation is pending.
 * UNFENCED_WHEN_PENDING: then only the fence. */
enum mark { UNMARKED, MARKED, MARKED_WHEN_PENDING, UNFENCED_WHEN_PENDING };

/* Returns how to mark an operation. Blocking gets and blocking fetches are complete when the call
 * returns, so no quiet has to wait for them. */
SHMEMI_INLINE enum mark mark_of(const struct shmemi_host_operation *o)
{
    return !o->nbi && (o->kind == SHMEMI_OPERATION_GET || returns_old_value(o)) ? UNMARKED : MARKED;
}

/* Posts an operation to the core once. Returns what the core returns: done, pending, failed, or
 * SHMEMI_AGAIN if it has no room for the operation. Then sets in the context that later quiets and
 * fences have an operation to wait for, as `mark` says. It does that under the network lock, under
 * which a quiet of another thread clears these flags: without it, that quiet could clear the flag
 * of an operation that it does not wait for. */
SHMEMI_INLINE int try_post(const struct shmemi_host_operation *o, struct shmemi_context *c,
                           enum mark mark)
{
    shmemi_net_lock(o->call);
    int rc = shmemi_state.core->post(o);
    if (mark == MARKED || (mark == MARKED_WHEN_PENDING && rc == SHMEMI_PENDING))
        mark_operations(c);
    else if (mark == UNFENCED_WHEN_PENDING && rc == SHMEMI_PENDING)
        shmemi_write_once(&c->unfenced, 1);
    shmemi_net_unlock();
    return rc;
}

/* Tries to post an operation again and again, in a wait that counts as a stall, until the core has
 * room for it. Returns what the core returns then. */
static SHMEMI_COLD int wait_for_room(const struct shmemi_host_operation *o,
                                     struct shmemi_context *c, enum mark mark)
{
    struct posting p = {o->pe, "for room to post to"};
    struct shmemi_waiter w = {.ctl = shmemi_my_ctl(),
                              .call = o->call,
                              .describe = describe_posting,
                              .subject = &p,
                              .whom = SHMEMI_NOBODY,
                              .pe = o->pe,
                              .about = true,
                              .stalls = true};
    int rc;
    do {
        shmemi_wait_step(&w);
        rc = try_post(o, c, mark);
    } while (rc == SHMEMI_AGAIN);
    shmemi_wait_over(&w);
    return rc;
}

/* Posts an operation, and waits for room in the core if necessary. Returns what the core returns,
 * never SHMEMI_AGAIN. After SHMEMI_FAILED the call has failed (failure.h). */
SHMEMI_INLINE int post(struct shmemi_host_operation *o, enum mark mark)
{
    struct shmemi_context *c = shmemi_context_at(o->ctx);
    o->context = c->number;
    int rc = try_post(o, c, mark);
    if (SHMEMI_UNLIKELY(rc == SHMEMI_AGAIN))
        rc = wait_for_room(o, c, mark);
    if (SHMEMI_UNLIKELY(rc == SHMEMI_FAILED))
        shmemi_fail_network(o->pe, o->call);
    return rc;
}

/* Waits until the operation of a request is complete. Returns false if it has failed, and with it
 * the call (failure.h). The core completes each request, even if its PE is lost, so that a loss
 * need not end this wait. */
static bool await(const struct shmemi_request *r, int pe, const char *call)
{
    struct posting p = {pe, "for the completion at"};
    SHMEMI_WAIT_FOR(shmemi_my_ctl(), call, describe_posting, &p, shmemi_observe(&r->done),
                    .whom = SHMEMI_NOBODY, .pe = pe, .about = true);
    if (r->status != 0)
        shmemi_fail_network(pe, call);
    return r->status == 0;
}

/* --------------------------------------------------------------- operations */

/* Changes a put or get from one part to the next: advances local address and offset by the part's
 * length. */
void shmemi_net_advance(struct shmemi_host_operation *o)
{
    if (o->kind == SHMEMI_OPERATION_GET)
        o->dest = (char *)o->dest + o->nbytes;
    else
        o->source = (const char *)o->source + o->nbytes;
    o->offset += (int64_t)o->nbytes;
}

/* Posts one operation of at most net_chunk bytes with a request. Returns true if it is pending,
 * false if it is complete or has failed. */
bool shmemi_net_start(struct shmemi_host_operation *o)
{
    *o->request = (struct shmemi_request){0};
    return post(o, mark_of(o)) == SHMEMI_PENDING;
}

/* Waits until an operation that was started is complete. */
void shmemi_net_finish(const struct shmemi_request *r, int pe, const char *call)
{
    await(r, pe, call);
}

/* Performs an operation of at most net_chunk bytes. Returns false if it has failed. */
static bool do_part(struct shmemi_host_operation *o)
{
    struct shmemi_request r = {0};
    o->request = o->nbi ? NULL : &r;
    int rc = post(o, mark_of(o));
    return rc != SHMEMI_FAILED && (rc != SHMEMI_PENDING || o->nbi || await(&r, o->pe, o->call));
}

/* Performs an operation of more than net_chunk bytes, in parts. A signal is sent with the last
 * part, which has net_chunk bytes. A fence before that part keeps the signal behind the others.
 * Returns false if a part has failed. */
static SHMEMI_COLD bool do_parts(const struct shmemi_host_operation *o)
{
    struct shmemi_host_operation part = *o;
    bool signals = o->kind == SHMEMI_OPERATION_PUT_SIGNAL;
    size_t chunk = shmemi_state.net_chunk, left = o->nbytes - (signals ? chunk : 0);
    if (signals)
        part.kind = SHMEMI_OPERATION_PUT;
    while (left > 0) {
        part.nbytes = left < chunk ? left : chunk;
        if (!do_part(&part))
            return false;
        left -= part.nbytes;
        shmemi_net_advance(&part);
    }
    if (!signals)
        return true;
    shmemi_fence_slow(o->ctx, o->call);
    part.kind = SHMEMI_OPERATION_PUT_SIGNAL;
    part.nbytes = chunk;
    return do_part(&part);
}

/* Performs an operation of any length; in parts if it is longer than net_chunk. An operation
 * without bytes does nothing, unless it has a signal. Returns false if it has failed. */
bool shmemi_net_do(struct shmemi_host_operation *o)
{
    if (SHMEMI_UNLIKELY(o->nbytes > shmemi_state.net_chunk))
        return do_parts(o);
    return (o->nbytes == 0 && o->kind != SHMEMI_OPERATION_PUT_SIGNAL) || do_part(o);
}

/* Performs an atomic operation at a PE of another node, and returns the fetched value. */
static uint64_t net_amo(struct shmemi_host_operation *o)
{
    struct shmemi_request r = {0};
    bool waits = returns_old_value(o) && !o->nbi;
    o->request = waits ? &r : NULL;
    if (post(o, mark_of(o)) == SHMEMI_PENDING && waits)
        await(&r, o->pe, o->call);
    return r.value;
}

/* Posts a message of the library's own. Such messages are not operations of the program: a quiet
 * does not wait for them, so a barrier right after another has no operations to complete (36 us
 * over tcp with it, 8.5 without). Nor does a quiet wait for data that was copied when it was
 * posted: when it did, an all-to-all of small blocks took three messages for each pair of PEs
 * instead of one. */
void shmemi_net_message(struct shmemi_host_operation *o)
{
    o->nbi = 1;
    if (o->nbytes > shmemi_state.net_chunk)
        shmemi_net_do(o);
    else
        post(o, o->kind == SHMEMI_OPERATION_AMO ? UNMARKED : MARKED_WHEN_PENDING);
}

/* Posts a message of the library's own whose source the caller leaves unchanged meanwhile. Returns
 * true if it has a request, and is under way. A put larger than net_chunk is sent in parts and is
 * complete on return. */
bool shmemi_net_lend(struct shmemi_host_operation *o)
{
    o->nbi = o->request == NULL;
    if (o->request != NULL)
        *o->request = (struct shmemi_request){0};
    if (o->nbytes <= shmemi_state.net_chunk)
        return post(o, UNFENCED_WHEN_PENDING) == SHMEMI_PENDING && !o->nbi;
    o->nbi = 0;
    o->request = NULL;
    shmemi_net_do(o);
    return false;
}

/* ------------------------------------------------- the slow halves of front.h */

/* front.h calls the functions of this section for PEs whose memory this process cannot access. With
 * SHMEM_CHECKS=full, with a GPU or with ranges for a profiler it calls them for all PEs. */

/* Puts or gets with checked arguments: by a copy if this process can access the PE's memory, else
 * over the network. */
static void put_or_get(struct shmemi_host_operation *o, const void *at)
{
    bool puts = o->kind == SHMEMI_OPERATION_PUT;
    o->offset = offset_of(at, o->nbytes, o->pe, o->call);
    check_thread(o->ctx, o->call);
    check_local(puts ? o->source : o->dest, o->nbytes, puts ? "source" : "dest", o->call);
    if (shmemi_refuse_lost(o->pe, o->call) || o->nbytes == 0)
        return;
    char *base = shmemi_reachable(o->pe, o->offset);
    if (base == NULL) {
        shmemi_net_do(o);
        return;
    }
    void *to = puts ? base + o->offset : o->dest;
    const void *from = puts ? o->source : base + o->offset;
    if (o->nbi)
        shmemi_move_nbi(to, from, o->nbytes, o->call);
    else
        shmemi_move(to, from, o->nbytes, o->call);
    if (puts)
        shmemi_notify(o->pe);
}

/* Applies an atomic operation to a word of `width` bytes, 4 or 8, that this process can access
 * (shmemi_reachable), and returns the old value. A word at a negative offset is in main memory
 * always; another one is in the memory of a GPU if near_base is NULL. */
static uint64_t apply_locally(const struct shmemi_host_operation *o, enum shmemi_amo op, int width,
                              int64_t offset)
{
    char *base = offset < 0 ? shmemi_state.peer_base[o->pe] : shmemi_state.near_base[o->pe];
    uint64_t old;
    if (base == NULL)
        old = shmemi_amo_gpu(op, width, shmemi_reachable(o->pe, offset) + offset, o->operand,
                             o->compare, o->call);
    else if (width == 4)
        old = shmemi_amo_at32(op, (uint32_t *)(void *)(base + offset), (uint32_t)o->operand,
                              (uint32_t)o->compare);
    else
        old = shmemi_amo_at64(op, (uint64_t *)(void *)(base + offset), o->operand, o->compare);
    if (shmemi_amo_writes(op))
        shmemi_notify(o->pe);
    return old;
}

/* Puts with a signal, with checked arguments. At the call o->op is the argument of the program:
 * SHMEM_SIGNAL_SET or _ADD. */
static void put_signal(struct shmemi_host_operation *o, const void *dest, const uint64_t *sig_addr)
{
    o->offset = offset_of(dest, o->nbytes, o->pe, o->call);
    o->signal_offset = offset_of(sig_addr, sizeof *sig_addr, o->pe, o->call);
    check_thread(o->ctx, o->call);
    if (o->op != SHMEM_SIGNAL_SET && o->op != SHMEM_SIGNAL_ADD)
        shmemi_abort(o->call, "use SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD",
                     "signal operation %d does not exist", o->op);
    check_local(o->source, o->nbytes, "source", o->call);
    shmemi_need_aligned(sig_addr, sizeof *sig_addr, o->call);
    if (shmemi_state.checks == SHMEMI_CHECKS_FULL && o->nbytes > 0 &&
        o->signal_offset - o->offset < (int64_t)o->nbytes &&
        o->offset - o->signal_offset < (int64_t)sizeof *sig_addr)
        shmemi_abort(o->call, "pass a signal word outside of dest",
                     "dest %p with %zu bytes and sig_addr %p overlap", dest, (size_t)o->nbytes,
                     (const void *)sig_addr);
    if (shmemi_refuse_lost(o->pe, o->call))
        return;
    o->op = o->op == SHMEM_SIGNAL_SET ? SHMEMI_AMO_SET : SHMEMI_AMO_ADD;
    char *base = shmemi_reachable(o->pe, o->offset);
    if (base && shmemi_reachable(o->pe, o->signal_offset)) {
        if (o->nbytes > 0)
            shmemi_move(base + o->offset, o->source, o->nbytes, o->call);
        apply_locally(o, (enum shmemi_amo)o->op, sizeof *sig_addr, o->signal_offset);
    } else {
        shmemi_net_do(o);
    }
}

/* Performs an atomic operation with checked arguments. Returns the old value if the operation is
 * blocking and fetches. A nonblocking one stores it at o->dest: at once, or later by the core. */
static uint64_t do_atomic(struct shmemi_host_operation *o, const void *at)
{
    o->offset = offset_of(at, o->width, o->pe, o->call);
    check_thread(o->ctx, o->call);
    if (o->nbi)
        check_local(o->dest, o->width, "fetch", o->call);
    shmemi_need_aligned(at, o->width, o->call);
    uint64_t old = 0; /* the value that a fetch from a lost PE returns */
    if (!shmemi_refuse_lost(o->pe, o->call)) {
        if (!shmemi_reachable(o->pe, o->offset))
            return net_amo(o);
        old = apply_locally(o, (enum shmemi_amo)o->op, (int)o->width, o->offset);
    }
    if (o->nbi)
        shmemi_move(o->dest, &old, o->width, o->call);
    return old;
}

/* Returns the group under which a profiler shows an operation. */
SHMEMI_INLINE uint32_t group_of(const struct shmemi_host_operation *o)
{
    if (o->kind == SHMEMI_OPERATION_AMO)
        return returns_old_value(o) ? SHMEMI_RANGE_ATOMIC_FETCH : SHMEMI_RANGE_ATOMIC_SET;
    return o->nbi ? SHMEMI_RANGE_RMA_NONBLOCKING : SHMEMI_RANGE_RMA_BLOCKING;
}

/* Performs an operation whose arguments the program has passed, on the symmetric address `at`, and,
 * for a put with signal, sig_addr, which is NULL for other operations. shown: a profiler shows the
 * call as a range. Returns the value that a blocking atomic has fetched, else 0. */
SHMEMI_INLINE uint64_t perform(struct shmemi_host_operation *o, const void *at,
                               const uint64_t *sig_addr, bool shown)
{
    SHMEMI_RANGE_IF(shown ? group_of(o) : 0, o->call);
    switch (o->kind) {
    case SHMEMI_OPERATION_PUT_SIGNAL:
        put_signal(o, at, sig_addr);
        return 0;
    case SHMEMI_OPERATION_AMO:
        return do_atomic(o, at);
    default:
        put_or_get(o, at);
        return 0;
    }
}

/* Defines the slow halves of an operation, which fill in the operation's record: _ranged for files
 * of public functions, which shows the call to a profiler, and _slow for the library's calls within
 * a call. type: of the result. params: the parameters. at, sig_addr: see perform. The rest: members
 * of the record. */
#define HALVES(type, name, params, at, sig_addr, ...)                                              \
    type shmemi_##name##_slow params                                                               \
    {                                                                                              \
        struct shmemi_host_operation o = {.ctx = ctx, .pe = pe, .call = call, __VA_ARGS__};        \
        return (type)perform(&o, at, sig_addr, /* shown */ false);                                 \
    }                                                                                              \
    type shmemi_##name##_ranged params                                                             \
    {                                                                                              \
        struct shmemi_host_operation o = {.ctx = ctx, .pe = pe, .call = call, __VA_ARGS__};        \
        return (type)perform(&o, at, sig_addr, /* shown */ true);                                  \
    }

HALVES(void, put,
       (shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe, const char *call), dest,
       NULL, .kind = SHMEMI_OPERATION_PUT, .nbytes = n, .source = source)

HALVES(void, put_nbi,
       (shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe, const char *call), dest,
       NULL, .kind = SHMEMI_OPERATION_PUT, .nbi = 1, .nbytes = n, .source = source)

HALVES(void, get,
       (shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe, const char *call),
       source, NULL, .kind = SHMEMI_OPERATION_GET, .nbytes = n, .dest = dest)

HALVES(void, get_nbi,
       (shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe, const char *call),
       source, NULL, .kind = SHMEMI_OPERATION_GET, .nbi = 1, .nbytes = n, .dest = dest)

HALVES(void, put_signal,
       (shmem_ctx_t ctx, void *dest, const void *source, size_t n, uint64_t *sig_addr,
        uint64_t signal, int sig_op, int pe, bool nbi, const char *call),
       dest, sig_addr, .kind = SHMEMI_OPERATION_PUT_SIGNAL, .op = sig_op, .nbi = nbi, .nbytes = n,
       .source = source, .operand = signal)

HALVES(uint64_t, amo,
       (shmem_ctx_t ctx, enum shmemi_amo op, int width, void *dest, uint64_t operand,
        uint64_t compare, int pe, const char *call),
       dest, NULL, .kind = SHMEMI_OPERATION_AMO, .op = (int)op, .width = (uint32_t)width,
       .operand = operand, .compare = compare)

HALVES(void, amo_nbi,
       (shmem_ctx_t ctx, enum shmemi_amo op, int width, void *fetch, void *dest, uint64_t operand,
        uint64_t compare, int pe, const char *call),
       dest, NULL, .kind = SHMEMI_OPERATION_AMO, .op = (int)op, .width = (uint32_t)width, .nbi = 1,
       .dest = fetch, .operand = operand, .compare = compare)
