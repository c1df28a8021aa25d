/*
 * carry.c: carries an operation out, as the NIC of its initiator does. The bytes of a write arrive
 * in pieces in any order, some of them twice; the write completes some time after the last. Names
 * such as R12b are rows of rules.tsv: rule reports whether one holds for this provider and version,
 * and without whether a test has switched it off.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <stdatomic.h>
#include <string.h>

#define US 1000 /* nanoseconds */
/* CHUNK: bytes that one step moves. BLOCK: aligned bytes within which efa's option keeps the order
 * (in_order). PIECES: parts of a step, in random order. WORD: bytes of a word. Only in writes of up
 * to MIXED bytes do the words of a block become visible out of order: each word costs a call of the
 * kernel. */
enum { CHUNK = 1 << 20, BLOCK = 128, PIECES = 8, WORD = 8, MIXED = 16 << 10 };

/* Finds the region of a key that has len bytes from an address on and allows a use of peers, or
 * NULL. The caller calls wire_release_region. */
struct wire_region *find_region(struct mapping *m, uint64_t at, uint64_t key, uint64_t len,
                                uint32_t use)
{
    struct wire_region *r = wire_acquire_region(m->w, key);
    if (r == NULL)
        return NULL;
    if ((r->remote & use) == use && at >= r->base && at - r->base <= r->len &&
        len <= r->len - (at - r->base))
        return r;
    wire_release_region(r);
    return NULL;
}

/* Moves n bytes between an operation's buffers, from offset `from` of the operation on, and the
 * target's memory: to the target, or from it for a read. Returns 0 or an errno. */
static int move(struct op *op, uint64_t memory, size_t from, size_t n)
{
    struct mapping *m = op->peer->map;
    size_t start = 0;
    int ret = 0;
    for (size_t i = 0; i < op->iov_count && n > 0 && ret == 0; i++) {
        const size_t len = op->iov[i].iov_len;
        if (from < start + len) {
            char *local = (char *)op->iov[i].iov_base + (from - start);
            size_t part = start + len - from;
            part = part < n ? part : n;
            ret = op->kind == OP_READ ? wire_read(m, memory + from, local, part)
                                      : wire_write(m, memory + from, local, part);
            from += part;
            n -= part;
        }
        start += len;
    }
    return ret;
}

/* Moves n bytes of an operation like move, but by ascending address within each of the target's
 * blocks: it moves the last word of a block, and the last one of the n bytes, by itself, since a
 * copy of more bytes has no order. */
static int move_in_order(struct op *op, uint64_t memory, size_t from, size_t n)
{
    int ret = 0;
    for (size_t part; n > 0 && ret == 0; from += part, n -= part) {
        const size_t rest = BLOCK - (size_t)((memory + from) % BLOCK);
        part = rest > WORD ? rest - WORD : rest;
        if (part >= n)
            part = n > WORD ? n - WORD : n;
        ret = move(op, memory, from, part);
        /* Orders this copy before the next one. */
        atomic_thread_fence(memory_order_release);
    }
    return ret;
}

/* Moves only the last word of each of the target's blocks. So for a moment the last word of a block
 * is there and the bytes before it are not, as may happen on a real network. */
static int move_words(struct op *op, uint64_t memory)
{
    int ret = 0;
    for (size_t from = 0, part; from < op->len && ret == 0; from += part) {
        const size_t rest = BLOCK - (size_t)((memory + from) % BLOCK);
        part = rest < op->len - from ? rest : op->len - from;
        const size_t word = part > WORD ? WORD : part;
        ret = move(op, memory, from + part - word, word);
    }
    return ret;
}

/* Reports whether the bytes of an operation become visible by ascending address within each aligned
 * block of BLOCK bytes of the target's memory: it is a write, its endpoint has efa's option for
 * this order (in_order), and the target has not registered the region for relaxed order. */
static bool keeps_order(const struct ep *ep, const struct op *op, const struct wire_region *r)
{
    return ep->in_order && op->kind == OP_WRITE && !r->relaxed;
}

/* Reports whether the last word of each block of a write is to become visible some time before the
 * block's other words, as may happen on a real network: without efa's option (keeps_order) nothing
 * orders the bytes within a block. Chance picks such writes. None is picked if a test switches off
 * rule R12a (writes pass each other) or R12b (so do the bytes of a write). */
static bool mixes(struct ep *ep, struct op *op, const struct wire_region *r)
{
    return op->kind == OP_WRITE && ep->domain->kind <= KIND_DIRECT && op->len <= MIXED &&
           op->moved == 0 && !keeps_order(ep, op, r) &&
           !without(&ep->domain->fabric->set, ep->domain->kind, R12a) &&
           !without(&ep->domain->fabric->set, ep->domain->kind, R12b) &&
           (dice(ep, op->number, FOR_PIECES) >> 24) % 8 == 0;
}

/*
 * Moves the next part of an operation: at most CHUNK bytes, so that other operations interleave. A
 * part of more than one block is moved in pieces, in random order. In one write in eight all pieces
 * are moved twice, as EFA's device may do. If a test switches off rule R12b (the bytes of a write
 * come in any order), each piece is moved once and in order.
 */
static int move_part(struct ep *ep, struct op *op, const struct wire_region *r)
{
    const uint64_t memory = r->memory + (op->remote - r->base);
    const bool whole = without(&ep->domain->fabric->set, ep->domain->kind, R12b);
    const uint64_t d = whole ? 0 : dice(ep, op->number, FOR_PIECES);
    const bool in_order = keeps_order(ep, op, r);
    const bool twice = !whole && !in_order && op->kind == OP_WRITE && (d >> 16) % 8 == 0 &&
                       ep->domain->kind <= KIND_DIRECT;
    size_t part = op->len - op->moved;
    part = part < CHUNK ? part : CHUNK;
    size_t piece = ((part + PIECES - 1) / PIECES + BLOCK - 1) / BLOCK * BLOCK;
    /* The cuts are at the target's blocks of 128 bytes. The part may begin skew bytes after one, so
     * that one piece more, the last, may be needed. */
    const size_t skew = (size_t)((memory + op->moved) % BLOCK);
    for (unsigned n = 0; n < (twice ? 2 : 1) * (PIECES + 1); n++) {
        const unsigned k = n % (PIECES + 1);
        /* An odd step through the 8 pieces, from a random one on, visits each of them. */
        const unsigned i =
            k == PIECES ? PIECES : (unsigned)((d + k * (2 * (d >> 8 & 3) + 1)) % PIECES);
        size_t begin = i * piece, end = begin + piece;
        begin = begin > skew ? begin - skew : 0;
        end = end > skew ? end - skew : 0;
        if (begin >= part)
            continue;
        end = end < part ? end : part;
        int ret = (in_order ? move_in_order : move)(op, memory, op->moved + begin, end - begin);
        if (ret != 0)
            return ret;
    }
    op->moved += part;
    return 0;
}

/* Fails an operation whose peer does not exist, with the error that the device reports. The first
 * call only makes the operation wait, since the peer may exist a while later. */
static void fail_gone(struct ep *ep, struct op *op)
{
    if (!op->lost) {
        op->lost = true;
        op_wait(ep, op, 1000 * US);
        return;
    }
    int status = ep->domain->fabric->set.lost_status;
    /* R15l: the error says whether the peer has ever replied. */
    if (status == STATUS_SILENT && rule(&ep->domain->fabric->set, ep->domain->kind, R15l))
        status = op->peer->replied ? STATUS_SILENT_PEER : STATUS_NO_HANDSHAKE;
    op_fail(ep, op, status);
}

/* Makes an operation that the target could not accept be tried again later. put is the reason, a
 * result of wire_put: a message without a receive waits until the target has posted one. */
static void wait_again(struct ep *ep, struct op *op, int put)
{
    if (put == PUT_NO_RECEIVE) {
        rnr_wait(op);
        return;
    }
    /* The holder of the lock, and the reader of the ring, need microseconds; room in a completion
     * queue takes longer, so the tries get rarer. */
    uint64_t ns = put == PUT_AGAIN || put == PUT_FULL
                      ? 2 * US
                      : (uint64_t)10 * US << (op->tries < 5 ? op->tries : 5);
    op->tries++;
    op_wait(ep, op, ns);
}

/* Handles the result of sending a message to which the target replies: the operation now waits for
 * the reply, or has to be sent again. */
static void handle_request_result(struct ep *ep, struct op *op, int put)
{
    if (put != PUT_DONE) {
        wait_again(ep, op, put);
        return;
    }
    op->state = OP_REQUESTED;
    op_wait(ep, op, 1000 * US); /* until carry checks whether the peer lives */
}

/* Sends the immediate data of a write to the target. Returns true if the target has received or
 * lost the data, false if the write waits in order to send the data again. If the target's
 * completion queue is full, a device of EFA loses the data (cq_lost), and others wait. */
static bool put_data(struct ep *ep, struct op *op)
{
    const struct settings *s = &ep->domain->fabric->set;
    const struct record r = {
        .kind = RECORD_DATA, .from = ep->map->id, .len = op->len, .data = op->data};
    struct wire *w = op->peer->map->w;
    unsigned takes = TAKES_ENTRY;
    /* R11c: without unsolicited receives, immediate data uses up a receive that is posted. */
    if (ep->domain->kind == KIND_DIRECT && !w->unsolicited && rule(s, KIND_DIRECT, R11c))
        takes |= TAKES_RECEIVE;
    int put = wire_put(op->peer->map, &r, NULL, 0, takes);
    if (put == PUT_OVERRUN && ep->domain->kind <= KIND_DIRECT) {
        atomic_fetch_add(&w->cq_lost, 1);
        put = PUT_DONE;
    }
    op->data_put = put == PUT_DONE;
    if (!op->data_put)
        wait_again(ep, op, put);
    return op->data_put;
}

/* Carries out the next step of a read or a write. */
static void carry_rma(struct ep *ep, struct op *op)
{
    const struct settings *s = &ep->domain->fabric->set;
    struct mapping *m = op->peer->map;
    if (op->state == OP_WAITING) {
        /* R4: the target's address vector must have this endpoint; R4b: on efa it need not. */
        if ((rule(s, ep->domain->kind, R4) || without(s, ep->domain->kind, R4b)) &&
            !wire_knows(m->w, ep->map->id)) {
            op_fail(ep, op, STATUS_UNKNOWN);
            return;
        }
        if (emulated(ep, op)) {
            handle_request_result(ep, op, emulate(ep, op));
            return;
        }
        int ret = 0;
        if (op->len > 0) {
            struct wire_region *r =
                find_region(m, op->remote, op->key, op->len,
                            op->kind == OP_READ ? FI_REMOTE_READ : FI_REMOTE_WRITE);
            if (r == NULL && !wire_alive(m)) {
                fail_gone(ep, op); /* the peer has closed since */
                return;
            }
            if (r == NULL) {
                op_fail(ep, op, STATUS_BAD_ADDRESS);
                return;
            }
            const bool words = !op->begun && mixes(ep, op, r);
            ret = words ? move_words(op, r->memory + (op->remote - r->base)) : move_part(ep, op, r);
            wire_release_region(r);
            if (words && ret == 0) {
                op->begun = true;
                op_wait(ep, op, 5 * US);
                return;
            }
        }
        if (ret != 0 || op->moved < op->len) {
            op_wait(ep, op, ret != 0 ? 100 * US : 0); /* the process may be ending */
            return;
        }
        op->state = OP_MOVED;
        /* R12c: operations complete in any order. */
        const uint64_t late = dice(ep, op->number, FOR_LATE);
        if (late % 4 == 0 && (s->provider != EFA || rule(s, ep->domain->kind, R12c))) {
            op_wait(ep, op, (late >> 8) % (20 * US));
            return;
        }
    }
    if (op->has_data && !op->data_put && !put_data(ep, op))
        return;
    op_done(ep, op);
}

/* Sends a message. The target copies a long one from the initiator's memory. */
static void carry_message(struct ep *ep, struct op *op)
{
    struct record r = {.kind = RECORD_MESSAGE,
                       .from = ep->map->id,
                       .token = op->token,
                       .len = op->len,
                       .data = op->data,
                       .flags = op->has_data ? RECORD_HAS_DATA : 0};
    unsigned char whole[WIRE_INLINE];
    const void *bytes = op->iov[0].iov_base;
    size_t n = op->len;
    if (n > WIRE_INLINE) {
        r.flags |= RECORD_ELSEWHERE;
        r.at = (uintptr_t)bytes;
        n = 0;
        op->ack = true;
    } else if (op->iov_count > 1) {
        size_t at = 0;
        for (size_t i = 0; i < op->iov_count; i++) {
            memcpy(whole + at, op->iov[i].iov_base, op->iov[i].iov_len);
            at += op->iov[i].iov_len;
        }
        bytes = whole;
    }
    if (op->ack)
        r.flags |= RECORD_WANTS_ACK;
    /* The messages of efa go to buffers of the provider. */
    const unsigned takes = ep->domain->kind == KIND_EFA ? 0 : TAKES_RECEIVE | TAKES_ENTRY;
    int put = wire_put(op->peer->map, &r, bytes, n, takes);
    /* A device of EFA loses a completion that its queue has no room for. */
    if (put == PUT_OVERRUN && ep->domain->kind == KIND_DIRECT) {
        atomic_fetch_add(&op->peer->map->w->cq_lost, 1);
        put = PUT_DONE;
    }
    /* efa backs off from a peer only from the second refusal of a message on. */
    op->peer->backoff = put == PUT_FULL && op->tries > 0;
    /* R16d: a message waits until its target has posted a receive. */
    if (put == PUT_NO_RECEIVE && without(&ep->domain->fabric->set, ep->domain->kind, R16d))
        op_fail(ep, op, STATUS_NOT_READY);
    else if (put == PUT_DONE && !op->ack)
        op_done(ep, op);
    else
        handle_request_result(ep, op, put);
}

/* Returns the value that an atomic operation leaves in a word with the value old. */
static uint64_t computed(enum fi_op op, uint64_t old, const uint64_t operands[2])
{
    switch (op) {
    case FI_SUM:
        return old + operands[0];
    case FI_BAND:
        return old & operands[0];
    case FI_BOR:
        return old | operands[0];
    case FI_BXOR:
        return old ^ operands[0];
    case FI_ATOMIC_WRITE:
        return operands[0];
    case FI_CSWAP:
        return old == operands[1] ? operands[0] : old;
    default:
        return old;
    }
}

/* Applies an atomic operation to a word of m's owner. Returns a status, or -1 if it has to be tried
 * again: another process holds the lock. */
int apply(struct mapping *m, uint64_t at, uint64_t key, enum fi_op op, unsigned width,
          const uint64_t operands[2], uint64_t *old)
{
    const uint64_t mask = width == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * width) - 1;
    struct wire_region *r = find_region(m, at, key, width, FI_REMOTE_WRITE | FI_REMOTE_READ);
    if (r == NULL)
        return STATUS_BAD_ADDRESS;
    int ret = -1;
    if (wire_try_lock(m->w)) {
        const uint64_t memory = r->memory + (at - r->base);
        *old = 0;
        ret = wire_read(m, memory, old, width);
        const uint64_t with[2] = {operands[0] & mask, operands[1] & mask};
        uint64_t value = computed(op, *old, with);
        if (ret == 0 && op != FI_ATOMIC_READ)
            ret = wire_write(m, memory, &value, width);
        ret = ret == 0 ? STATUS_OK : -1;
        wire_unlock(m->w);
    }
    wire_release_region(r);
    return ret;
}

/* Carries out an atomic operation. efa sends the operation to the target, whose processor does it
 * and replies; the NICs of other providers do it in the target's memory. */
static void carry_atomic(struct ep *ep, struct op *op)
{
    uint64_t old = 0;
    if (ep->domain->kind == KIND_EFA) {
        const struct record r = {.kind = RECORD_ATOMIC,
                                 .from = ep->map->id,
                                 .token = op->token,
                                 .at = op->remote,
                                 .key = op->key,
                                 .op = (uint16_t)op->op,
                                 .width = (uint16_t)op->width};
        handle_request_result(ep, op,
                              wire_put(op->peer->map, &r, op->operands, sizeof op->operands, 0));
        return;
    }
    int status = apply(op->peer->map, op->remote, op->key, op->op, op->width, op->operands, &old);
    if (status < 0) {
        wait_again(ep, op, PUT_AGAIN);
    } else if (status != STATUS_OK) {
        op_fail(ep, op, status);
    } else {
        if (op->fetches)
            memcpy(op->result, &old, op->width);
        op_done(ep, op);
    }
}

/* Reports whether an earlier operation on the same peer is not complete, for an operation with
 * FI_FENCE. */
static bool has_earlier(const struct ep *ep, const struct op *op)
{
    for (size_t i = 0; i < ep->op_count; i++) {
        const struct op *o = ep->ops[i];
        if (o->state != OP_FREE && o->peer == op->peer && !o->internal && o->number < op->number)
            return true;
    }
    return false;
}

/* Carries out the next step of an operation that is due: it completes, fails, or is due again
 * later. It is called several times for operations whose target has to reply, or has no receive. */
void carry(struct ep *ep, struct op *op)
{
    if (op->state == OP_REPLIED) {
        if (op->status == STATUS_OK)
            op_done(ep, op);
        else
            op_fail(ep, op, op->status);
        return;
    }
    if (nic_broken(ep)) {
        op_fail(ep, op, STATUS_SICK);
        return;
    }
    if (!peer_map(op->peer) || !wire_alive(op->peer->map)) {
        fail_gone(ep, op);
        return;
    }
    if (op->state == OP_REQUESTED) {
        op_wait(ep, op, 1000 * US); /* the peer lives, and may still reply */
        return;
    }
    if (op->fence && op->state == OP_WAITING && has_earlier(ep, op)) {
        op_wait(ep, op, 2 * US);
        return;
    }
    switch (op->kind) {
    case OP_SEND:
        carry_message(ep, op);
        return;
    case OP_WRITE:
    case OP_READ:
        carry_rma(ep, op);
        return;
    case OP_ATOMIC:
        carry_atomic(ep, op);
        return;
    case OP_CONTROL: {
        int put = wire_put(op->peer->map, &op->record, NULL, 0, 0);
        if (put == PUT_DONE)
            op_done(ep, op);
        else
            wait_again(ep, op, put);
    }
    }
}
