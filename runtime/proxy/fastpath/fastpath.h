/*
 * fastpath.h: small messages in C, for callers in C (capi/core) and for the
 * proxy (innerloop.h).
 *
 * The rules are those of sender.go (begin, Admit), message.go (Send), receiver.go (Receive) and
 * apply.go (Apply) in runtime/proxy, for the common case only: no message is parked, out of order
 * or malformed. In any other case these functions change nothing, and Go does the whole operation.
 *
 * The structs are layout.State and layout.Peer of Go, in memory that both halves use under the
 * endpoint's lock (zz_fastpath.h). In this file x is the state of a context, p its record of a PE,
 * n the provider's functions, and h the header of a message. The functions are inline because the
 * inner loop spends 15 ns on an operation, and calls with eight arguments would be a third of that.
 */
#ifndef SHMEMI_FASTPATH_H
#define SHMEMI_FASTPATH_H

#include "amo.h"
#include "record.h"
#include "seal.h"
#include "zz_fastpath.h"
#include "zz_fabric.h"
#include "zz_native.h"
#include "zz_request.h"

#include <stdbool.h>
#include <string.h>

/* The result of a function of the fast path if Go has to do the operation. */
#define SHMEMI_NOT_FAST 3

/* Puts an event into the flight recorder's ring of a PE, a ring of the last events that reports
 * print. The PE has a ring since it became reachable. All contexts use the rings that the records
 * of the first one (x->shown) name. Events of one poll share its reading of the clock, x->tick, if
 * it is not 0. */
static inline void shmemi_fastpath_record(struct shmemi_fastpath *x, uint32_t pe,
                                          enum shmemi_event_what what, uint32_t detail,
                                          uint32_t number)
{
    struct shmemi_fastpath_peer *p = &x->shown[pe];
    uint64_t t = x->tick ? x->tick : shmemi_ticks(x->coarse);
    shmemi_event(x->records + (size_t)p->ring * SHMEMI_EVENTS, &p->recorded,
                 t << SHMEMI_EVENT_CONTEXT_BITS | x->me >> SHMEMI_CONTEXT_SHIFT, what, detail,
                 number);
}

/* Returns the job word of a message of `bytes` bytes to PE `to`: the job's token, combined with the
 * seal of the message if the job has seals (seal.h). */
SHMEMI_INLINE uint64_t shmemi_fastpath_stamp(const struct shmemi_fastpath *x,
                                             const struct shmemi_header *h, uint32_t to,
                                             size_t bytes)
{
    return x->seal[0] | x->seal[1] ? x->job ^ shmemi_seal(x, h, to, bytes) : x->job;
}

/* Completes the header of the message in scratch, passes the message to the provider and counts it.
 * need is the number of writes that the target has to have first: those from before the last fence
 * or, for a flush, all. Returns 0 if the message was posted; otherwise nothing was posted. */
SHMEMI_INLINE int shmemi_fastpath_send(struct shmemi_fastpath *x, const struct shmemi_native *n,
                                       uint32_t pe, size_t bytes)
{
    struct shmemi_fastpath_peer *p = &x->peers[pe];
    struct shmemi_header *h = (struct shmemi_header *)x->scratch;
    h->from = x->me;
    h->seq = p->sent + 1;
    if (p->write_epoch != x->epoch)
        p->out.after = p->out.posted;
    h->need = h->kind == SHMEMI_MESSAGE_FLUSH ? p->out.posted : p->out.after;
    h->ack = p->edge;
    h->job = shmemi_fastpath_stamp(x, h, pe, bytes);
    if (n->inject(n->self, pe, h, bytes) != 0)
        return -1;
    p->sent++;
    shmemi_fastpath_record(x, pe, SHMEMI_EVENT_SENT, shmemi_event_message(h->kind, bytes), p->sent);
    p->count[h->kind < SHMEMI_COUNT_CONTROL ? h->kind : SHMEMI_COUNT_CONTROL]++;
    p->count[SHMEMI_COUNT_MESSAGE_BYTES] += bytes;
    return 0;
}

/* Sends the PE a flush: it replies when it has applied all messages sent to it so far. Returns 0 if
 * the flush was posted; otherwise nothing was posted. */
static inline int shmemi_fastpath_flush(struct shmemi_fastpath *x, const struct shmemi_native *n,
                                        uint32_t pe)
{
    struct shmemi_fastpath_peer *p = &x->peers[pe];
    uint32_t turn = p->flush_turn + 1;
    *(struct shmemi_header *)x->scratch = (struct shmemi_header){
        .kind = SHMEMI_MESSAGE_FLUSH, .token = turn << 16 | SHMEMI_FLUSH_TOKEN};
    if (shmemi_fastpath_send(x, n, pe, sizeof(struct shmemi_header)) != 0)
        return -1;
    p->flush_turn = turn;
    p->flush_charged = p->charged;
    p->flush_wrote = p->wrote;
    p->flushing = true;
    return 0;
}

/* Adds an operation to the batch that Go has opened for the PE, a message that small operations
 * share (batch.go). Returns false, and adds nothing, if the operation may not join it or does not
 * fit. */
SHMEMI_INLINE bool shmemi_fastpath_merge(struct shmemi_fastpath *x, struct shmemi_fastpath_peer *p,
                                         const struct shmemi_header *what, const void *payload,
                                         size_t size)
{
    size_t all = SHMEMI_RECORD_SIZE + ((size + 7) & ~(size_t)7);
    if (p->batch_epoch != x->epoch || p->parked || size > SHMEMI_MERGE_MOST ||
        p->batch_used + all > x->max_message)
        return false;
    struct shmemi_header *h = (struct shmemi_header *)(void *)(p->batch + p->batch_used);
    memcpy(h, what, SHMEMI_RECORD_SIZE);
    if (what->kind == SHMEMI_MESSAGE_PUT || what->kind == SHMEMI_MESSAGE_PUT_SIGNAL)
        h->token = (uint32_t)size;
    memcpy((char *)h + SHMEMI_RECORD_SIZE, payload, size);
    p->batch_used += (uint32_t)all;
    p->count[what->kind]++;
    p->count[SHMEMI_COUNT_MERGED]++;
    return true;
}

/* Returns the units of credit that a message takes. A unit is 2^x->unit bytes; bytes of a message
 * beyond SHMEMI_CREDITED_MOST do not count. */
SHMEMI_INLINE uint64_t shmemi_fastpath_cost(const struct shmemi_fastpath *x, size_t bytes)
{
    size_t credited = bytes < SHMEMI_CREDITED_MOST ? bytes : SHMEMI_CREDITED_MOST;
    return 1 + ((credited - 1) >> (x->unit & 63));
}

/* Sends an operation, whose header is what, with size bytes of payload: in the PE's batch, or as a
 * message of its own. Returns SHMEMI_DONE, or SHMEMI_NOT_FAST if only Go can post it: Go has not
 * found a path to the PE yet, the message is too large to be injected, the provider's queue is
 * full, the PE has no credit, or the operation has to wait for earlier ones, such as parked or
 * queued messages, bytes in GPU memory (staged), or writes without a number from before a fence
 * (bare). At half of the PE's credit (flush_at) it sends a flush. payload is not NULL, because
 * memcpy gets it even if size is 0. */
SHMEMI_INLINE int shmemi_fastpath_inject(struct shmemi_fastpath *x, const struct shmemi_native *n,
                                         uint32_t pe, const struct shmemi_header *what,
                                         const void *payload, size_t size)
{
    struct shmemi_fastpath_peer *p = &x->peers[pe];
    size_t bytes = sizeof *what + size;
    if (__builtin_expect(p->batch != NULL, 0) && shmemi_fastpath_merge(x, p, what, payload, size))
        return SHMEMI_DONE;
    if (!p->reachable || p->parked || p->queued || p->staged || bytes > x->max_inject ||
        n->inject == NULL || (p->bare && p->write_epoch != x->epoch))
        return SHMEMI_NOT_FAST;
    uint64_t unacknowledged = p->charged - p->acked, units = shmemi_fastpath_cost(x, bytes);
    if (__builtin_expect(unacknowledged >= x->flush_at, 0) &&
        (unacknowledged + units > x->window ||
         (!p->flushing && shmemi_fastpath_flush(x, n, pe) != 0)))
        return SHMEMI_NOT_FAST;
    struct shmemi_header *h = (struct shmemi_header *)x->scratch;
    *h = *what;
    memcpy(h + 1, payload, size);
    if (shmemi_fastpath_send(x, n, pe, bytes) != 0)
        return SHMEMI_NOT_FAST; /* Go tries again, and finds out why */
    if (p->epoch != x->epoch) {
        p->epoch = x->epoch;
        p->charged_then = p->charged;
    }
    p->charged += units;
    if (!p->dirty) {
        p->dirty = true;
        x->dirty_list[x->n_dirty++] = (int32_t)pe;
    }
    return SHMEMI_DONE;
}

/* Posts the store of an element of 1, 2, 4 or 8 bytes. Returns as shmemi_fastpath_inject. */
SHMEMI_INLINE int shmemi_fastpath_store(struct shmemi_fastpath *x, const struct shmemi_native *n,
                                        uint32_t pe, int64_t offset, int width, uint64_t value)
{
    const struct shmemi_header h = {
        .kind = SHMEMI_MESSAGE_STORE, .width = (uint8_t)width, .offset = offset, .operand = value};
    return shmemi_fastpath_inject(x, n, pe, &h, "", 0);
}

/* Returns the token that the puts of the present epoch carry. An epoch is the time between two
 * fences, so two puts with the same token have no fence between them (State.EpochToken of package
 * layout). */
SHMEMI_INLINE uint32_t shmemi_fastpath_epoch_token(const struct shmemi_fastpath *x)
{
    return (x->me >> SHMEMI_CONTEXT_SHIFT) << SHMEMI_EPOCH_BITS |
           ((uint32_t)(x->epoch + 1) & ((1u << SHMEMI_EPOCH_BITS) - 1));
}

/* Posts a put of size bytes as a message, or as a store if it has the size of an element. The
 * source must be main memory. Returns SHMEMI_DONE, or SHMEMI_NOT_FAST if Go has to post it; then
 * nothing was sent. */
SHMEMI_INLINE int shmemi_fastpath_bytes(struct shmemi_fastpath *x, const struct shmemi_native *n,
                                        uint32_t pe, int64_t offset, const void *source,
                                        size_t size)
{
    uint64_t value = 0;
    const struct shmemi_header h = {
        .kind = SHMEMI_MESSAGE_PUT, .token = shmemi_fastpath_epoch_token(x), .offset = offset};
    switch (size) {
    case 1:
    case 2:
    case 4:
    case 8:
        memcpy(&value, source, size);
        return shmemi_fastpath_store(x, n, pe, offset, (int)size, value);
    default:
        return shmemi_fastpath_inject(x, n, pe, &h, source, size);
    }
}

/* Reports whether Go has to decide about an atomic operation on a PE, because that PE does not
 * support all of them on its GPU memory. */
static inline bool shmemi_fastpath_refused(const struct shmemi_fastpath *x, uint32_t pe, int op)
{
    return op != SHMEMI_AMO_SET && x->peers[pe].fewer;
}

/* Posts an atomic operation that does not fetch. Returns SHMEMI_DONE, or SHMEMI_NOT_FAST if Go has
 * to post it; then nothing was sent. */
SHMEMI_INLINE int shmemi_fastpath_amo(struct shmemi_fastpath *x, const struct shmemi_native *n,
                                      uint32_t pe, int64_t offset, int op, int width,
                                      uint64_t operand, uint64_t compare)
{
    const struct shmemi_header h = {.kind = SHMEMI_MESSAGE_AMO,
                                    .op = (uint8_t)op,
                                    .width = (uint8_t)width,
                                    .offset = offset,
                                    .operand = operand,
                                    .extra = compare};
    if (shmemi_fastpath_refused(x, pe, op))
        return SHMEMI_NOT_FAST;
    return shmemi_fastpath_inject(x, n, pe, &h, "", 0);
}

/* Posts a put and the update of its signal as one message. The source must be main memory. Returns
 * SHMEMI_DONE, or SHMEMI_NOT_FAST if Go has to post it; then nothing was sent. */
SHMEMI_INLINE int shmemi_fastpath_bytes_signal(struct shmemi_fastpath *x,
                                               const struct shmemi_native *n, uint32_t pe,
                                               int64_t offset, const void *source, size_t size,
                                               int64_t signal_offset, uint64_t signal, int op)
{
    const struct shmemi_header h = {.kind = SHMEMI_MESSAGE_PUT_SIGNAL,
                                    .op = (uint8_t)op,
                                    .width = 8,
                                    .token = shmemi_fastpath_epoch_token(x),
                                    .offset = offset,
                                    .operand = signal,
                                    .extra = (uint64_t)signal_offset};
    if (shmemi_fastpath_refused(x, pe, op))
        return SHMEMI_NOT_FAST;
    return shmemi_fastpath_inject(x, n, pe, &h, source, size);
}

/* Posts an operation of a caller in C, if its kind is one of the fast path's. If the engine has a
 * GPU stage (x->staging), the source of a put may be GPU memory, and Go posts the put. */
SHMEMI_INLINE int shmemi_fastpath_post(struct shmemi_fastpath *x, const struct shmemi_native *n,
                                       const struct shmemi_host_operation *o)
{
    uint32_t pe = (uint32_t)o->pe;
    switch (o->kind) {
    case SHMEMI_OPERATION_PUT:
        if (x->staging)
            return SHMEMI_NOT_FAST;
        return shmemi_fastpath_bytes(x, n, pe, o->offset, o->source, o->nbytes);
    case SHMEMI_OPERATION_PUT_SIGNAL:
        if (x->staging)
            return SHMEMI_NOT_FAST;
        return shmemi_fastpath_bytes_signal(x, n, pe, o->offset, o->source, o->nbytes,
                                            o->signal_offset, o->operand, o->op);
    case SHMEMI_OPERATION_AMO:
        if (o->op >= SHMEMI_AMO_SWAP) /* from SWAP on, operations fetch, and need a record of Go */
            return SHMEMI_NOT_FAST;
        return shmemi_fastpath_amo(x, n, pe, o->offset, o->op, (int)o->width, o->operand,
                                   o->compare);
    }
    return SHMEMI_NOT_FAST;
}

/* Returns the address of n bytes at an offset in this PE's segment, or NULL if they are not in it,
 * or are GPU memory. */
static inline void *shmemi_fastpath_target(const struct shmemi_fastpath *x, int64_t offset,
                                           size_t n)
{
    uint64_t o =
        (uint64_t)offset +
        x->internal; /* an offset below the segment wraps to a large number and fails the check */
    return o > x->reach || n > x->reach - o ? NULL : x->segment + o;
}

/* Returns the word that an atomic operation changes, or NULL if the operation is not valid, the
 * word is not in main memory of this PE, or it is not aligned. */
static inline void *shmemi_fastpath_word(const struct shmemi_fastpath *x, int64_t offset, int width,
                                         int op)
{
    if ((width != 4 && width != 8) || op < SHMEMI_AMO_SET || op > SHMEMI_AMO_FETCH_XOR)
        return NULL;
    void *at = shmemi_fastpath_target(x, offset, (size_t)width);
    return (uintptr_t)at % (size_t)width == 0 ? at : NULL;
}

/* Applies an atomic operation to a word of 4 or 8 bytes, with the CPU's atomic instructions. */
static inline void shmemi_fastpath_change(void *at, int width, int op, uint64_t operand,
                                          uint64_t compare)
{
    if (width == 4)
        shmemi_amo_at32(op, at, (uint32_t)operand, (uint32_t)compare);
    else
        shmemi_amo_at64(op, at, operand, compare);
}

/* Stores an element of width bytes: 1, 2, 4 or 8. If it is aligned, no reader sees only a part of
 * the new bytes. The store is a release, so that a thread that sees the element also sees what
 * earlier messages stored. */
static inline void shmemi_fastpath_element(void *at, int width, uint64_t value)
{
    switch (width) {
    case 1:
        __atomic_store_n((uint8_t *)at, (uint8_t)value, __ATOMIC_RELEASE);
        break;
    case 2:
        __atomic_store_n((uint16_t *)at, (uint16_t)value, __ATOMIC_RELEASE);
        break;
    case 4:
        __atomic_store_n((uint32_t *)at, (uint32_t)value, __ATOMIC_RELEASE);
        break;
    default:
        __atomic_store_n((uint64_t *)at, value, __ATOMIC_RELEASE);
    }
}

/* Replies to the flush h of a PE: all its earlier messages have been applied. Returns false if
 * nothing was posted, because earlier messages to the PE wait (parked) or the provider cannot
 * inject; then Go sends the reply. */
static inline bool shmemi_fastpath_reply(struct shmemi_fastpath *x, const struct shmemi_native *n,
                                         uint32_t pe, const struct shmemi_header *h)
{
    const struct shmemi_fastpath_peer *p = &x->peers[pe];
    if (!p->reachable || p->parked || sizeof *h > x->max_inject || n->inject == NULL)
        return false;
    *(struct shmemi_header *)x->scratch =
        (struct shmemi_header){.kind = SHMEMI_MESSAGE_REPLY, .token = h->token};
    return shmemi_fastpath_send(x, n, pe, sizeof *h) == 0;
}

/* Handles the reply h to this PE's flush: everything that was sent before the flush is
 * acknowledged. Returns false, and changes nothing, if a quiet waits for the reply, or if h is not
 * the reply to the flush under way. */
static inline bool shmemi_fastpath_handle_flush_reply(struct shmemi_fastpath *x, uint32_t pe,
                                                      const struct shmemi_header *h)
{
    struct shmemi_fastpath_peer *p = &x->peers[pe];
    if (!p->flushing || p->unmet || h->token != (p->flush_turn << 16 | SHMEMI_FLUSH_TOKEN))
        return false;
    if (p->charged - p->acked > p->count[SHMEMI_COUNT_MOST_UNACKNOWLEDGED])
        p->count[SHMEMI_COUNT_MOST_UNACKNOWLEDGED] = p->charged - p->acked;
    p->acked = p->flush_charged;
    p->wrote_acked = p->flush_wrote;
    p->flushing = false;
    shmemi_fastpath_record(x, pe, SHMEMI_EVENT_ACKED, shmemi_event_units(p->charged - p->acked),
                           (uint32_t)p->acked);
    return true;
}

/* Applies the message h to memory, or handles it if it is a flush or a reply. Returns false if Go
 * has to handle it; then nothing was changed. */
static inline bool shmemi_fastpath_apply(struct shmemi_fastpath *x, const struct shmemi_native *n,
                                         uint32_t pe, const struct shmemi_header *h, size_t payload)
{
    void *at, *signal;
    switch (h->kind) {
    case SHMEMI_MESSAGE_AMO:
        /* A message with a token is the signal of a numbered write. Only Go knows whether that
         * write has failed, so that its signal must be dropped. */
        at = h->fetch || h->token ? NULL : shmemi_fastpath_word(x, h->offset, h->width, h->op);
        if (at == NULL)
            return false;
        shmemi_fastpath_change(at, h->width, h->op, h->operand, h->extra);
        return true;
    case SHMEMI_MESSAGE_STORE:
        if (h->width == 0 || h->width > 8 || (h->width & (h->width - 1)) != 0)
            return false;
        at = shmemi_fastpath_target(x, h->offset, h->width);
        if (at == NULL || (uintptr_t)at % h->width != 0)
            return false;
        shmemi_fastpath_element(at, h->width, h->operand);
        return true;
    case SHMEMI_MESSAGE_PUT:
        at = shmemi_fastpath_target(x, h->offset, payload);
        if (at == NULL)
            return false;
        memcpy(at, h + 1, payload);
        return true;
    case SHMEMI_MESSAGE_PUT_SIGNAL:
        at = shmemi_fastpath_target(x, h->offset, payload);
        signal = shmemi_fastpath_word(x, (int64_t)h->extra, 8, h->op);
        if (at == NULL || signal == NULL)
            return false;
        memcpy(at, h + 1, payload);
        shmemi_fastpath_change(signal, 8, h->op, h->operand, 0);
        return true;
    case SHMEMI_MESSAGE_FLUSH:
        /* The operand is 1 if the program of the PE ends, which Go has to record. */
        return h->operand == 0 && shmemi_fastpath_reply(x, n, pe, h);
    case SHMEMI_MESSAGE_REPLY:
        return shmemi_fastpath_handle_flush_reply(x, pe, h);
    }
    return false;
}

/* Reports whether a token belongs to a receive buffer (network.Receiving in Go). */
static inline bool shmemi_fastpath_receives(const struct shmemi_fastpath *x, uint32_t token)
{
    return token < x->receives || token - x->tokens < x->more_recv;
}

/* Applies the message of the completion c and posts its buffer again. x is the first context, and s
 * that of the message. Returns SHMEMI_NOT_FAST if Go has to handle the completion. */
static inline int shmemi_fastpath_receive(struct shmemi_fastpath *x, const struct shmemi_native *n,
                                          const struct shmemi_completion *c)
{
    if (c->kind != SHMEMI_COMPLETION_RECV || c->err != 0 ||
        !shmemi_fastpath_receives(x, c->token) || c->len < sizeof(struct shmemi_header) ||
        c->len > x->max_message || n->recv == NULL)
        return SHMEMI_NOT_FAST;
    char *buffer = x->buffers + (size_t)c->token * x->max_message;
    const struct shmemi_header *h = (const struct shmemi_header *)buffer;
    uint32_t context = h->from >> SHMEMI_CONTEXT_SHIFT;
    uint32_t pe = h->from & ((1u << SHMEMI_CONTEXT_SHIFT) - 1);
    struct shmemi_fastpath *s = x;
    if (pe >= x->n_pes)
        return SHMEMI_NOT_FAST;
    if (__builtin_expect(context != 0, 0) &&
        (context >= SHMEMI_CONTEXTS_OPEN || (s = x->contexts[context]) == NULL))
        return SHMEMI_NOT_FAST;
    struct shmemi_fastpath_peer *p = &s->peers[pe], *shown = &x->peers[pe];
    if (!p->reachable)
        return SHMEMI_NOT_FAST;
    uint32_t acked = h->ack;
    /* Go handles a message out of order, one that has to follow writes that have not arrived (need)
     * or may have to follow bytes for GPU memory (behind), one that may let a queued operation go
     * on, and one that acknowledges writes that were not posted. */
    if (h->seq != p->received + 1 || p->early || p->behind || p->queued ||
        (int32_t)(h->need - p->edge) > 0 || acked - p->out.in > p->out.posted - p->out.in)
        return SHMEMI_NOT_FAST;
    /* The seal is checked last. If an earlier check fails, Go handles the message and computes the
     * seal itself, so it would be computed twice. */
    if (h->job != shmemi_fastpath_stamp(x, h, x->me, c->len))
        return SHMEMI_NOT_FAST;
    /* The acknowledgement of writes is noted before the message is applied, as in Go, because the
     * header of a reply to the message depends on it. If Go applies the message, it notes it a
     * second time, which changes nothing. */
    p->out.in = acked;
    if ((int32_t)(acked - p->out.after) > 0)
        p->out.after = acked;
    if (!shmemi_fastpath_apply(s, n, pe, h, c->len - sizeof *h))
        return SHMEMI_NOT_FAST;
    p->received++;
    shmemi_fastpath_record(s, pe, SHMEMI_EVENT_APPLIED, shmemi_event_message(h->kind, c->len),
                           p->received);
    shown->count[SHMEMI_COUNT_RECEIVED]++;
    shown->count[SHMEMI_COUNT_RECEIVED_BYTES] += c->len;
    if (n->recv(n->self, buffer, x->max_message, x->desc, c->token) != 0) {
        x->unposted_list[x->n_unposted++] = c->token; /* Go tries again */
        x->peers[x->me].count[SHMEMI_COUNT_RETRIES]++;
    }
    return SHMEMI_DONE;
}

#endif
