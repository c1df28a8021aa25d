/*
 * strided.c: iput, iget, ibput and ibget.
 *
 * On the node they are loops of loads and stores. Between nodes a put has a message for each block,
 * unless the blocks are contiguous at the other PE. A get also fetches the bytes between the blocks
 * if they are few; otherwise it has a message for each block. Several messages are under way at a
 * time, so that a block costs the time to post it, and not a round trip.
 */
#include "strided.h"

#include "context.h"
#include "error.h"
#include "failure.h"
#include "front.h"
#include "gpu.h"
#include "notify.h"
#include "remote.h"

/* How many operations of one call may be under way at a time. */
#define FLIGHTS 32

/* The bytes of a buffer in which blocks are packed for one operation, and how many buffers a call
 * has on the caller's stack. */
#define STAGE ((size_t)16 << 10)
#define STAGES 4

/* The blocks of a call, with addresses of this process. */
struct blocks {
    char *to;
    const char *from;
    size_t to_step, from_step; /* in bytes */
    size_t bytes;              /* bytes of a block */
    size_t n;
};

/* Returns the bytes from the start of the first of n blocks to the end of the last; SIZE_MAX, which
 * no memory has, if that overflows. */
static size_t span_bytes(size_t n, size_t step, size_t bytes)
{
    size_t reach;
    if (n == 0 || bytes == 0)
        return 0;
    if (__builtin_mul_overflow(n - 1, step, &reach) || __builtin_add_overflow(reach, bytes, &reach))
        return SIZE_MAX;
    return reach;
}

/* --------------------------------------------------------------- local copies */

/* Copies all blocks; bytes is b->bytes, as a constant in each caller. */
SHMEMI_INLINE void copy_each(const struct blocks *b, size_t bytes)
{
    char *to = b->to;
    const char *from = b->from;
    for (size_t i = 0; i < b->n; i++, to += b->to_step, from += b->from_step)
        __builtin_memcpy(to, from, bytes);
}

/* Copies all blocks between memory that this process can access. Blocks of one element have loops
 * of their own, in which the copy of an element is one load and one store. */
static void copy_blocks(const struct blocks *b, const char *call)
{
    char *to = b->to;
    const char *from = b->from;
    if (SHMEMI_UNLIKELY(shmemi_state.gpu)) {
        for (size_t i = 0; i < b->n; i++)
            shmemi_move(to + i * b->to_step, from + i * b->from_step, b->bytes, call);
        return;
    }
    switch (b->bytes) {
    case 1:
        copy_each(b, 1);
        break;
    case 2:
        copy_each(b, 2);
        break;
    case 4:
        copy_each(b, 4);
        break;
    case 8:
        copy_each(b, 8);
        break;
    case 16:
        copy_each(b, 16);
        break;
    default:
        for (size_t i = 0; i < b->n; i++, to += b->to_step, from += b->from_step)
            memmove(to, from, b->bytes);
    }
}

/* ----------------------------------------------------------------- the network */

/* The operations of a call on the network: the last FLIGHTS of them may be under way. */
struct flights {
    shmem_ctx_t ctx;
    int pe;
    const char *call;
    uint32_t begun;        /* how many operations were posted; operation i has entry i % FLIGHTS */
    bool pending[FLIGHTS]; /* the entry's operation is under way */
    struct shmemi_request requests[FLIGHTS];
};

/* Waits until the operation in an entry (slot) of f's arrays is complete, if one is under way. */
static void complete_entry(struct flights *f, uint32_t slot)
{
    if (f->pending[slot])
        shmemi_net_finish(&f->requests[slot], f->pe, f->call);
    f->pending[slot] = false;
}

/* Waits until all operations of a call are complete. */
static void complete_all(struct flights *f)
{
    for (uint32_t i = 0; i < FLIGHTS; i++)
        complete_entry(f, i);
}

/* Posts a put or a get of any length, in parts of at most net_chunk bytes. It waits for the oldest
 * operation of the call if FLIGHTS are under way. */
static void post_in_parts(struct flights *f, struct shmemi_host_operation o)
{
    size_t n = o.nbytes;
    o.ctx = f->ctx;
    o.pe = f->pe;
    o.call = f->call;
    for (; n > 0; n -= o.nbytes, shmemi_net_advance(&o)) {
        uint32_t slot = f->begun++ % FLIGHTS;
        o.nbytes = n < shmemi_state.net_chunk ? n : shmemi_state.net_chunk;
        o.request = &f->requests[slot];
        complete_entry(f, slot);
        f->pending[slot] = shmemi_net_start(&o);
    }
}

/* Posts a put of n bytes to an offset. */
static void post_put(struct flights *f, int64_t offset, const char *from, size_t n)
{
    post_in_parts(f,
                  (struct shmemi_host_operation){
                      .kind = SHMEMI_OPERATION_PUT, .offset = offset, .nbytes = n, .source = from});
}

/* Posts a get of n bytes from an offset. */
static void post_get(struct flights *f, int64_t offset, char *to, size_t n)
{
    post_in_parts(f, (struct shmemi_host_operation){
                         .kind = SHMEMI_OPERATION_GET, .offset = offset, .nbytes = n, .dest = to});
}

/* Puts blocks that are contiguous at the other PE: packs them in buffers, and posts each buffer as
 * one put. */
static void put_packed(shmem_ctx_t ctx, const struct blocks *b, int64_t offset, int pe,
                       const char *call)
{
    struct flights f = {.ctx = ctx, .pe = pe, .call = call};
    char stage[STAGES][STAGE];
    size_t limit = STAGE / b->bytes; /* blocks that a buffer holds */
    for (size_t i = 0, k, used = 0; i < b->n; i += k, used++) {
        k = b->n - i < limit ? b->n - i : limit;
        if (used % STAGES == 0) /* the puts may still read the buffers */
            complete_all(&f);
        char *at = stage[used % STAGES];
        struct blocks part = {at, b->from + i * b->from_step, b->bytes, b->from_step, b->bytes, k};
        copy_blocks(&part, call);
        post_put(&f, offset + (int64_t)(i * b->bytes), at, k * b->bytes);
    }
    complete_all(&f);
}

/* Puts blocks to a PE of another node: packed into few operations if they are small and contiguous
 * there, else one operation for each block. Returns when all are complete. */
static void put_far(shmem_ctx_t ctx, const struct blocks *b, int64_t offset, int pe,
                    const char *call)
{
    if (b->to_step == b->bytes && b->bytes <= STAGE / 2) {
        put_packed(ctx, b, offset, pe, call);
        return;
    }
    struct flights f = {.ctx = ctx, .pe = pe, .call = call};
    for (size_t i = 0; i < b->n; i++)
        post_put(&f, offset + (int64_t)(i * b->to_step), b->from + i * b->from_step, b->bytes);
    complete_all(&f);
}

/* A get also fetches the bytes between two blocks if they are at most this many. Over tcp, 1000
 * elements of 8 bytes: a get for each costs 10 to 13 us an element; with the bytes between, 0.08 us
 * at a stride of 16 bytes, 1.3 at 1 KiB, 5.0 at 4 KiB and 9.7 at 8 KiB. */
#define BETWEEN ((size_t)4096)

/* Gets blocks together with the bytes between them into buffers, as many blocks at a time as STAGES
 * buffers hold, and copies the blocks from there. Blocks do not overlap, and each fits in a buffer.
 */
static void get_covering(shmem_ctx_t ctx, const struct blocks *b, int64_t offset, int pe,
                         const char *call)
{
    struct flights f = {.ctx = ctx, .pe = pe, .call = call};
    char stage[STAGES][STAGE];
    size_t limit = 1 + (STAGE - b->bytes) / b->from_step; /* blocks that a buffer holds */
    for (size_t i = 0; i < b->n;) {
        size_t first = i, begun = 0, counts[STAGES];
        for (; begun < STAGES && i < b->n; begun++) {
            size_t k = b->n - i < limit ? b->n - i : limit;
            counts[begun] = k;
            post_get(&f, offset + (int64_t)(i * b->from_step), stage[begun],
                     span_bytes(k, b->from_step, b->bytes));
            i += k;
        }
        complete_all(&f);
        for (size_t s = 0; s < begun; first += counts[s], s++) {
            struct blocks part = {b->to + first * b->to_step,
                                  stage[s],
                                  b->to_step,
                                  b->from_step,
                                  b->bytes,
                                  counts[s]};
            copy_blocks(&part, call);
        }
    }
}

/* Gets blocks from a PE of another node: together with the bytes between them if these are few and
 * several blocks fit a buffer, else by one operation for each block. Returns when all are complete.
 */
static void get_far(shmem_ctx_t ctx, const struct blocks *b, int64_t offset, int pe,
                    const char *call)
{
    /* Blocks that overlap at the other PE (sst < bsize) make the difference huge, so that each has
     * an operation of its own. */
    if (b->from_step - b->bytes <= BETWEEN && b->bytes <= STAGE / 4) {
        get_covering(ctx, b, offset, pe, call);
        return;
    }
    struct flights f = {.ctx = ctx, .pe = pe, .call = call};
    for (size_t i = 0; i < b->n; i++)
        post_get(&f, offset + (int64_t)(i * b->from_step), b->to + i * b->to_step, b->bytes);
    complete_all(&f);
}

/* ------------------------------------------------------------------ both calls */

/* Ends the program because a stride is not valid. */
static SHMEMI_COLD void refuse_stride(const char *which, ptrdiff_t stride, const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    shmemi_abort(call, "use 1 for elements side by side, or more", "stride %s is %td", which,
                 stride);
}

/* Ends the program unless both strides are at least 1. */
static void check_strides(ptrdiff_t dst, ptrdiff_t sst, const char *call)
{
    if (SHMEMI_UNLIKELY(dst < 1))
        refuse_stride("dst", dst, call);
    if (SHMEMI_UNLIKELY(sst < 1))
        refuse_stride("sst", sst, call);
}

/* Makes one block of the blocks if they are contiguous in source and in dest. */
static void join_contiguous(struct blocks *b)
{
    size_t all;
    if (b->to_step == b->bytes && b->from_step == b->bytes &&
        !__builtin_mul_overflow(b->bytes, b->n, &all)) {
        b->bytes = all;
        b->n = 1;
    }
}

/* Returns the blocks of a call, with strides in bytes. Blocks that are contiguous on both sides
 * become one; blocks without bytes become none. */
static struct blocks blocks_of(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                               size_t bsize, size_t nblocks, size_t size)
{
    struct blocks b = {dest,
                       source,
                       shmemi_bytes((size_t)dst, size),
                       shmemi_bytes((size_t)sst, size),
                       shmemi_bytes(bsize, size),
                       nblocks};
    join_contiguous(&b);
    if (b.bytes == 0)
        b.n = 0;
    return b;
}

/* Implements iput and ibput: puts nblocks blocks of bsize elements, which are dst elements apart in
 * dest and sst in source. It copies them if this process can access the PE's memory, else it puts
 * them over the network. */
void shmemi_iput(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                 size_t bsize, size_t nblocks, size_t size, int pe, const char *call)
{
    check_strides(dst, sst, call);
    struct blocks b = blocks_of(dest, source, dst, sst, bsize, nblocks, size);
    size_t all = span_bytes(b.n, b.to_step, b.bytes);
    char *to = shmemi_reach(dest, all, pe);
    if (SHMEMI_LIKELY(to != NULL && source != NULL)) {
        b.to = to;
        copy_blocks(&b, call);
        shmemi_notify(pe);
        return;
    }
    int64_t offset = shmemi_check_target(dest, all, source, pe, "source", call);
    if (shmemi_state.checks == SHMEMI_CHECKS_FULL)
        shmemi_ctx_check(ctx, call);
    if (shmemi_refuse_lost(pe, call))
        return;
    char *base = shmemi_reachable(pe, offset);
    if (base != NULL) {
        b.to = base + offset;
        copy_blocks(&b, call);
        shmemi_notify(pe);
    } else if (b.n > 0) {
        put_far(ctx, &b, offset, pe, call);
    }
}

/* Implements iget and ibget: gets nblocks blocks of bsize elements, which are dst elements apart in
 * dest and sst in source. It copies them if this process can access the PE's memory, else it gets
 * them over the network. */
void shmemi_iget(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                 size_t bsize, size_t nblocks, size_t size, int pe, const char *call)
{
    check_strides(dst, sst, call);
    struct blocks b = blocks_of(dest, source, dst, sst, bsize, nblocks, size);
    size_t all = span_bytes(b.n, b.from_step, b.bytes);
    const char *from = shmemi_reach(source, all, pe);
    if (SHMEMI_LIKELY(from != NULL && dest != NULL)) {
        b.from = from;
        copy_blocks(&b, call);
        return;
    }
    int64_t offset = shmemi_check_target(source, all, dest, pe, "dest", call);
    if (shmemi_state.checks == SHMEMI_CHECKS_FULL)
        shmemi_ctx_check(ctx, call);
    if (shmemi_refuse_lost(pe, call))
        return;
    const char *base = shmemi_reachable(pe, offset);
    if (base != NULL) {
        b.from = base + offset;
        copy_blocks(&b, call);
    } else if (b.n > 0) {
        get_far(ctx, &b, offset, pe, call);
    }
}
