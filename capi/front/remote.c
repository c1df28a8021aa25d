/*
 * remote.c: requests that the inline functions of front.h do not serve.
 *
 * Either the request is wrong, and refuse() says why, or the peer is on another node. Then the
 * operation goes to the core under the endpoint's lock; the core posts it or answers that it has no
 * room; the waiting is done here.
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
#include "wait.h"
#include "waiter.h"

#include <stdio.h>

/* ------------------------------------------------------------------ checks */

static SHMEMI_COLD void refuse(const void *addr, size_t n, int pe, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    uintptr_t at = (uintptr_t)addr, offset = at - s->heap_base;
    shmemi_check_pe(pe, call);
    shmemi_refuse_failed("the symmetric address", addr, call);
    if (addr == NULL)
        shmemi_abort(call, "pass memory from shmem_malloc", "the symmetric address is NULL");
    shmemi_refuse_static(addr, n, call);
    if (offset >= s->heap_size)
        shmemi_abort(call, "pass memory from shmem_malloc",
                     "%p is not a symmetric address (the heap is %#zx bytes at %p)", addr,
                     s->heap_size, (void *)s->heap_base);
    shmemi_abort(call, "check the number of elements",
                 "%zu bytes at heap offset %#zx run past the symmetric heap of %#zx bytes", n,
                 (size_t)offset, s->heap_size);
}

/* The offset of a valid symmetric range in the heap of pe. */
static int64_t offset_of(const void *addr, size_t n, int pe, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    if (SHMEMI_UNLIKELY((uint32_t)pe >= s->n_pes))
        refuse(addr, n, pe, call);
    if (SHMEMI_UNLIKELY(n == 0))
        return 0; /* of no bytes any address is valid, NULL too (annex on undefined behaviour) */
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

/* SHMEM_CHECKS=full: a private context is used by its thread only. */
static void check_thread(shmem_ctx_t ctx, const char *call)
{
    if (shmemi_state.checks == SHMEMI_CHECKS_FULL)
        shmemi_ctx_check(ctx, call);
}

static void need_local(const void *p, size_t n, const char *what, const char *call)
{
    if (p == NULL && n > 0)
        shmemi_abort(call, "pass memory of this PE", "the local %s is NULL", what);
}

int64_t shmemi_check_target(const void *addr, size_t n, const void *local, int pe, const char *what,
                            const char *call)
{
    int64_t offset = offset_of(addr, n, pe, call);
    need_local(local, n, what, call);
    return offset;
}

/* ------------------------------------------------------------ the endpoint */

struct posting {
    int pe;
    const char *what;
};

static void describe_posting(const void *subject, char *text, size_t size)
{
    const struct posting *p = subject;
    snprintf(text, size, "%s PE %d", p->what, p->pe);
}

static void mark_operations(struct shmemi_context *c)
{
    shmemi_write_once(&c->dirty, SHMEMI_POSTED);
    shmemi_write_once(&c->unfenced, 1);
}

/* Whether a later quiet has to wait for an operation. */
enum mark { UNMARKED, MARKED, MARKED_WHEN_PENDING };

/*
 * One operation that is posted, again and again while the core has no room:
 *
 *     struct post p;
 *     post_begin(&p, ctx, call, pe, MARKED);
 *     while (posting(&p))
 *         p.rc = core->put(p.stream, ...);
 */
struct post {
    int rc;
    uint32_t stream;
    enum mark mark;
    bool tried;
    int pe;
    const char *call;
    struct shmemi_context *context;
    struct posting subject;
    struct shmemi_waiter waiter;
};

SHMEMI_INLINE void post_begin(struct post *p, shmem_ctx_t ctx, const char *call, int pe,
                              enum mark mark)
{
    p->context = shmemi_context_at(ctx);
    p->stream = p->context->stream;
    p->rc = SHMEMI_AGAIN;
    p->mark = mark;
    p->tried = false;
    p->pe = pe;
    p->call = call;
    p->subject = (struct posting){pe, "for room to post to"};
    p->waiter = (struct shmemi_waiter){.ctl = shmemi_my_ctl(),
                                       .call = call,
                                       .describe = describe_posting,
                                       .subject = &p->subject,
                                       .whom = SHMEMI_NOBODY,
                                       .pe = pe,
                                       .about = true,
                                       .stalls = true};
}

/*
 * Reports whether to post now, under the lock. The marks change under the lock only, so that a
 * quiet of one thread never hides the posts of another.
 */
SHMEMI_INLINE bool posting(struct post *p)
{
    if (p->tried) {
        if (p->mark == MARKED || (p->mark == MARKED_WHEN_PENDING && p->rc == SHMEMI_PENDING))
            mark_operations(p->context);
        shmemi_net_unlock();
        if (p->rc != SHMEMI_AGAIN) {
            shmemi_wait_over(&p->waiter);
            if (p->rc == SHMEMI_FAILED)
                shmemi_net_failed(p->pe, p->call);
            return false;
        }
        shmemi_wait_step(&p->waiter);
    }
    p->tried = true;
    shmemi_net_lock(p->call);
    return true;
}

/* False: it failed, and the thread has been told. The core holds the request until it is done, so
 * that the core ends this wait and a loss does not. */
static bool await(struct shmemi_request *r, int pe, const char *call)
{
    struct posting p = {pe, "for the completion at"};
    SHMEMI_WAIT_FOR(shmemi_my_ctl(), call, describe_posting, &p, shmemi_observe(&r->done),
                    .whom = SHMEMI_NOBODY, .pe = pe, .about = true);
    if (r->status != 0)
        shmemi_net_failed(pe, call);
    return r->status == 0;
}

/* --------------------------------------------------------------- operations */

bool shmemi_net_put_start(shmem_ctx_t ctx, int pe, int64_t offset, const void *source, size_t n,
                          struct shmemi_request *r, const char *call)
{
    *r = (struct shmemi_request){0};
    struct post p;
    post_begin(&p, ctx, call, pe, MARKED);
    while (posting(&p))
        p.rc = shmemi_state.core->put(p.stream, pe, offset, source, n, r);
    return p.rc == SHMEMI_PENDING;
}

bool shmemi_net_put_signal_start(shmem_ctx_t ctx, int pe, int64_t offset, const void *source,
                                 size_t n, int64_t signal_offset, uint64_t signal, int op,
                                 struct shmemi_request *r, const char *call)
{
    *r = (struct shmemi_request){0};
    struct post p;
    post_begin(&p, ctx, call, pe, MARKED);
    while (posting(&p))
        p.rc = shmemi_state.core->put_signal(p.stream, pe, offset, source, n, signal_offset, signal,
                                             op, r);
    return p.rc == SHMEMI_PENDING;
}

bool shmemi_net_get_start(shmem_ctx_t ctx, int pe, int64_t offset, void *dest, size_t n,
                          struct shmemi_request *r, const char *call)
{
    *r = (struct shmemi_request){0};
    struct post p;
    post_begin(&p, ctx, call, pe, UNMARKED);
    while (posting(&p))
        p.rc = shmemi_state.core->get(p.stream, pe, offset, dest, n, r);
    return p.rc == SHMEMI_PENDING;
}

void shmemi_net_finish(struct shmemi_request *r, int pe, const char *call)
{
    await(r, pe, call);
}

bool shmemi_net_put(shmem_ctx_t ctx, int pe, int64_t offset, const void *source, size_t n, bool nbi,
                    const char *call)
{
    const struct shmemi_core *core = shmemi_state.core;
    const char *from = source;
    while (n > 0) {
        size_t part = n < shmemi_state.net_chunk ? n : shmemi_state.net_chunk;
        struct shmemi_request r = {0};
        struct post p;
        post_begin(&p, ctx, call, pe, MARKED);
        while (posting(&p))
            p.rc = core->put(p.stream, pe, offset, from, part, nbi ? NULL : &r);
        if (p.rc == SHMEMI_FAILED || (p.rc == SHMEMI_PENDING && !nbi && !await(&r, pe, call)))
            return false;
        from += part;
        offset += (int64_t)part;
        n -= part;
    }
    return true;
}

bool shmemi_net_get(shmem_ctx_t ctx, int pe, int64_t offset, void *dest, size_t n, bool nbi,
                    const char *call)
{
    const struct shmemi_core *core = shmemi_state.core;
    char *to = dest;
    while (n > 0) {
        size_t part = n < shmemi_state.net_chunk ? n : shmemi_state.net_chunk;
        struct shmemi_request r = {0};
        struct post p;
        post_begin(&p, ctx, call, pe, nbi ? MARKED : UNMARKED);
        while (posting(&p))
            p.rc = core->get(p.stream, pe, offset, to, part, nbi ? NULL : &r);
        if (p.rc == SHMEMI_FAILED || (p.rc == SHMEMI_PENDING && !nbi && !await(&r, pe, call)))
            return false;
        to += part;
        offset += (int64_t)part;
        n -= part;
    }
    return true;
}

bool shmemi_net_put_signal(shmem_ctx_t ctx, int pe, int64_t offset, const void *source, size_t n,
                           int64_t signal_offset, uint64_t signal, int op, bool nbi,
                           const char *call)
{
    const struct shmemi_core *core = shmemi_state.core;
    const char *from = source;
    if (n > shmemi_state.net_chunk) {
        size_t head = n - shmemi_state.net_chunk;
        if (!shmemi_net_put(ctx, pe, offset, from, head, nbi, call))
            return false;
        from += head;
        offset += (int64_t)head;
        n = shmemi_state.net_chunk;
        shmemi_fence_slow(ctx, call);
    }
    struct shmemi_request r = {0};
    struct post p;
    post_begin(&p, ctx, call, pe, MARKED);
    while (posting(&p))
        p.rc = core->put_signal(p.stream, pe, offset, from, n, signal_offset, signal, op,
                                nbi ? NULL : &r);
    return p.rc != SHMEMI_FAILED && (p.rc != SHMEMI_PENDING || nbi || await(&r, pe, call));
}

static uint64_t net_amo(shmem_ctx_t ctx, enum shmemi_amo op, int width, int64_t offset,
                        uint64_t operand, uint64_t compare, int pe, bool mark, const char *call)
{
    const struct shmemi_core *core = shmemi_state.core;
    bool fetching = op >= SHMEMI_AMO_SWAP;
    struct shmemi_request r = {0};
    struct post p;
    post_begin(&p, ctx, call, pe, mark && !fetching ? MARKED : UNMARKED);
    while (posting(&p))
        p.rc = core->amo(p.stream, pe, offset, op, width, operand, compare, NULL,
                         fetching ? &r : NULL);
    if (p.rc == SHMEMI_PENDING && fetching)
        await(&r, pe, call);
    return r.value;
}

/* The library's own messages are no operations of the program: quiet need not wait for them, and a
 * barrier that follows another has nothing to flush (36 us over tcp with it, 8.5 without). */
void shmemi_net_set(int pe, int64_t offset, uint64_t value, const char *call)
{
    net_amo(SHMEM_CTX_DEFAULT, SHMEMI_AMO_SET, 8, offset, value, 0, pe, false, call);
}

void shmemi_net_apply(int pe, int64_t offset, enum shmemi_amo op, uint64_t value, const char *call)
{
    net_amo(SHMEM_CTX_DEFAULT, op, 8, offset, value, 0, pe, false, call);
}

/* The same with data. Data that is copied when it is posted needs no quiet either: with one, an
 * all-to-all of small blocks took three messages for each pair, not one. */
void shmemi_net_set_with(int pe, int64_t offset, const void *source, size_t n, int64_t count_offset,
                         uint64_t count, const char *call)
{
    if (n > shmemi_state.net_chunk) {
        shmemi_net_put_signal(SHMEM_CTX_DEFAULT, pe, offset, source, n, count_offset, count,
                              SHMEMI_AMO_SET, true, call);
        return;
    }
    struct post p;
    post_begin(&p, SHMEM_CTX_DEFAULT, call, pe, MARKED_WHEN_PENDING);
    while (posting(&p))
        p.rc = shmemi_state.core->put_signal(p.stream, pe, offset, source, n, count_offset, count,
                                             SHMEMI_AMO_SET, NULL);
}

/* ------------------------------------------------- the slow halves of front.h */

/* The peer can be reached here under SHMEM_CHECKS=full, and with a GPU. */

static void put(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe, bool nbi,
                const char *call)
{
    int64_t offset = offset_of(dest, n, pe, call);
    check_thread(ctx, call);
    need_local(source, n, "source", call);
    if (shmemi_refuse_lost(pe, call) || n == 0)
        return;
    char *base = shmemi_reachable(pe, offset);
    if (base && nbi) {
        shmemi_move_nbi(base + offset, source, n, call);
        shmemi_notify(pe);
    } else if (base) {
        shmemi_move(base + offset, source, n, call);
        shmemi_notify(pe);
    } else {
        shmemi_net_put(ctx, pe, offset, source, n, nbi, call);
    }
}

static void get(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe, bool nbi,
                const char *call)
{
    int64_t offset = offset_of(source, n, pe, call);
    check_thread(ctx, call);
    need_local(dest, n, "dest", call);
    if (shmemi_refuse_lost(pe, call) || n == 0)
        return;
    const char *base = shmemi_reachable(pe, offset);
    if (base && nbi)
        shmemi_move_nbi(dest, base + offset, n, call);
    else if (base)
        shmemi_move(dest, base + offset, n, call);
    else
        shmemi_net_get(ctx, pe, offset, dest, n, nbi, call);
}

void shmemi_put_slow(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe,
                     const char *call)
{
    put(ctx, dest, source, n, pe, false, call);
}

void shmemi_put_nbi_slow(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe,
                         const char *call)
{
    put(ctx, dest, source, n, pe, true, call);
}

void shmemi_get_slow(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe,
                     const char *call)
{
    get(ctx, dest, source, n, pe, false, call);
}

void shmemi_get_nbi_slow(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe,
                         const char *call)
{
    get(ctx, dest, source, n, pe, true, call);
}

static uint64_t apply(enum shmemi_amo op, int width, int64_t offset, uint64_t operand,
                      uint64_t compare, int pe, const char *call)
{
    char *base = offset < 0 ? shmemi_state.peer_base[pe] : shmemi_state.near_base[pe];
    uint64_t old;
    if (base == NULL)
        old = shmemi_amo_gpu(op, width, shmemi_reachable(pe, offset) + offset, operand, compare,
                             call);
    else if (width == 4)
        old = shmemi_amo_at32(op, (uint32_t *)(void *)(base + offset), (uint32_t)operand,
                              (uint32_t)compare);
    else
        old = shmemi_amo_at64(op, (uint64_t *)(void *)(base + offset), operand, compare);
    if (shmemi_amo_writes(op))
        shmemi_notify(pe);
    return old;
}

void shmemi_put_signal_slow(shmem_ctx_t ctx, void *dest, const void *source, size_t n,
                            uint64_t *sig_addr, uint64_t signal, int sig_op, int pe, bool nbi,
                            const char *call)
{
    int64_t offset = offset_of(dest, n, pe, call);
    int64_t signal_offset = offset_of(sig_addr, sizeof *sig_addr, pe, call);
    check_thread(ctx, call);
    if (sig_op != SHMEM_SIGNAL_SET && sig_op != SHMEM_SIGNAL_ADD)
        shmemi_abort(call, "use SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD",
                     "signal operation %d does not exist", sig_op);
    need_local(source, n, "source", call);
    shmemi_need_aligned(sig_addr, sizeof *sig_addr, call);
    if (shmemi_state.checks == SHMEMI_CHECKS_FULL && signal_offset - offset < (int64_t)n &&
        offset - signal_offset < (int64_t)sizeof *sig_addr && n > 0)
        shmemi_abort(call, "pass a signal word outside of dest",
                     "dest %p with %zu bytes and sig_addr %p overlap", dest, n, (void *)sig_addr);
    if (shmemi_refuse_lost(pe, call))
        return;
    enum shmemi_amo op = sig_op == SHMEM_SIGNAL_SET ? SHMEMI_AMO_SET : SHMEMI_AMO_ADD;
    char *base = shmemi_reachable(pe, offset);
    if (base && shmemi_reachable(pe, signal_offset)) {
        if (n > 0)
            shmemi_move(base + offset, source, n, call);
        apply(op, 8, signal_offset, signal, 0, pe, call);
    } else {
        shmemi_net_put_signal(ctx, pe, offset, source, n, signal_offset, signal, op, nbi, call);
    }
}

uint64_t shmemi_amo_slow(shmem_ctx_t ctx, enum shmemi_amo op, int width, void *dest,
                         uint64_t operand, uint64_t compare, int pe, const char *call)
{
    int64_t offset = offset_of(dest, (size_t)width, pe, call);
    check_thread(ctx, call);
    shmemi_need_aligned(dest, (size_t)width, call);
    if (shmemi_refuse_lost(pe, call))
        return 0;
    return shmemi_reachable(pe, offset)
               ? apply(op, width, offset, operand, compare, pe, call)
               : net_amo(ctx, op, width, offset, operand, compare, pe, true, call);
}

void shmemi_amo_nbi_slow(shmem_ctx_t ctx, enum shmemi_amo op, int width, void *fetch, void *dest,
                         uint64_t operand, uint64_t compare, int pe, const char *call)
{
    const struct shmemi_core *core = shmemi_state.core;
    int64_t offset = offset_of(dest, (size_t)width, pe, call);
    check_thread(ctx, call);
    need_local(fetch, (size_t)width, "fetch", call);
    shmemi_need_aligned(dest, (size_t)width, call);
    if (shmemi_refuse_lost(pe, call)) {
        uint64_t none = 0;
        shmemi_move(fetch, &none, (size_t)width, call);
    } else if (shmemi_reachable(pe, offset)) {
        uint64_t old = apply(op, width, offset, operand, compare, pe, call);
        shmemi_move(fetch, &old, (size_t)width, call);
    } else {
        struct post p;
        post_begin(&p, ctx, call, pe, MARKED);
        while (posting(&p))
            p.rc = core->amo(p.stream, pe, offset, op, width, operand, compare, fetch, NULL);
    }
}
