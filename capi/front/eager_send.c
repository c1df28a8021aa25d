/*
 * eager_send.c: eager transfers between threads of the host: tokens that they send.
 *
 * Within the node the sender stores the tiles in the slot (eager.c). For a network that makes the
 * bytes of a write visible in blocks, the sender lays out the tiles in one of a few buffers after
 * its own slots, and posts the buffer as one write. A token with a notification is sent in the same
 * way: its bytes and signal are one write, whose immediate data names the counter of the slot.
 * Other tokens without tiles are a put with a signal. Where this PE has a GPU, no token is laid out
 * in these buffers: they may be in its memory.
 */
#include "eager_send.h"

#include "address.h"
#include "below.h"
#include "eager_counters.h"
#include "eager_slots.h"
#include "error.h"
#include "failure.h"
#include "front.h"
#include "gpu.h"
#include "wait.h"

#include <shmem/eager_layout.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ------------------------------------------------------------------- layout */

/* Returns a packet: 4 bytes of data and the token's number (epoch), in one word. The data comes
 * first in memory, whatever the order of bytes. */
static uint64_t make_packet(uint32_t data, uint32_t epoch)
{
    uint32_t halves[2] = {data, epoch};
    uint64_t whole;
    memcpy(&whole, halves, sizeof whole);
    return whole;
}

/* Stores a token (the data of one eager transfer) as packets, each by one store, which no reader
 * sees in part. The last one is filled up with zeros. */
static void send_packets(char *to, const char *source, uint32_t nbytes, uint32_t epoch)
{
    uint32_t i = 0, data;
    for (; i + sizeof data <= nbytes; i += sizeof data) {
        memcpy(&data, source + i, sizeof data);
        shmemi_write_once((uint64_t *)(to + 2 * (size_t)i), make_packet(data, epoch));
    }
    if (i == nbytes)
        return;
    data = 0;
    memcpy(&data, source + i, nbytes - i);
    shmemi_write_once((uint64_t *)(to + 2 * (size_t)i), make_packet(data, epoch));
}

/* Stores a token (the data of one eager transfer, 1 to 2^30 bytes) in tiles. The signal of a tile
 * is stored after its data, because a reader that finds the signal reads the data. */
static void send_tiles(char *to, const char *source, const shmemx_eager_t *e, uint32_t epoch)
{
    uint32_t data = shmemi_eager_data(e->nbytes, e->tile);
    for (uint32_t k = 0, at = 0; at < e->nbytes; k++, at += data) {
        memcpy(to + (size_t)k * e->tile, source + at,
               e->nbytes - at < data ? e->nbytes - at : data);
        shmemi_publish((uint64_t *)(to + shmemi_eager_signal_at(k, e->nbytes, e->tile)),
                       shmemi_eager_signal(e->nbytes, epoch));
    }
}

/* Stores a token with its signals at `to`, a slot of a PE or a buffer of this PE, in the layout of
 * its slots: in packets, in tiles, or whole. */
static void store_token(char *to, const char *source, const shmemx_eager_t *e, uint32_t epoch)
{
    if (e->tile == SHMEMI_EAGER_PACKET)
        send_packets(to, source, e->nbytes, epoch);
    else
        send_tiles(to, source, e, epoch);
}

/* ------------------------------------------------------------------ buffers */

/*
 * Buffers (boxes) of a PE for tokens that it sends over the network. They come after its slots,
 * which saves another symmetric allocation. A box has a head in cache lines of its own, and the
 * bytes of a token. At most one token for each box can be under way; there are fewer boxes for
 * large tokens.
 */
enum { BOXES = 16 };

/* The states of a box. FREE: no thread uses it. TAKEN: a thread fills it, or checks its write.
 * UNDER_WAY: its write was posted, and may be complete by now. */
enum { FREE = SHMEMI_EAGER_FREE, TAKEN = SHMEMI_EAGER_TAKEN, UNDER_WAY = SHMEMI_EAGER_UNDER_WAY };

/* The head of a buffer, which the bytes of its token follow. */
struct box {
    uint32_t state; /* the thread that has changed it to TAKEN owns the other fields */
    int32_t pe;     /* the target of its token; others read pe and slot, too */
    uint32_t slot;
    struct shmemi_request request; /* the token's write, which the core completes */
};
_Static_assert(sizeof(struct box) <= SHMEMI_EAGER_LINE, "the bytes follow the head");

/* Returns the bytes of a buffer, with its head. */
static size_t box_bytes(const shmemx_eager_t *e)
{
    return shmemi_eager_buffer(e->stride, e->tile);
}

/* Returns the address of the bytes in a buffer, after its head. */
static char *bytes_in(struct box *box, const shmemx_eager_t *e)
{
    return (char *)box + shmemi_eager_head(e->tile);
}

/* Returns how many buffers (boxes) the slots have for tokens that the host sends over a network;
 * the same on every PE. A small token without tiles needs none: it is sent as a message, which is
 * copied when it is posted. Nor does a large one, which is sent from the program's memory, because
 * a copy costs more than it saves. */
int shmemi_eager_boxes(const shmemx_eager_t *e)
{
    const size_t limit = 4 << 20; /* of the bytes of all buffers, unless one alone is larger */
    if (e->tile == SHMEMI_EAGER_NONE &&
        (e->nbytes <= shmemi_state.net_message || e->nbytes > limit))
        return 0;
    size_t n = limit / box_bytes(e);
    return n < 1 ? 1 : n < BOXES ? (int)n : BOXES;
}

/* Returns the bytes of all buffers after the slots: those of the host and those of kernels. */
size_t shmemi_eager_boxes_size(const shmemx_eager_t *e)
{
    size_t n = (size_t)shmemi_eager_boxes(e);
    if (shmemi_eager_buffers_apart())
        n += e->buffers;
    return n * box_bytes(e);
}

/* Returns the i-th of the host's buffers, which come after the slots and the buffers of kernels. */
static struct box *box_at(const shmemx_eager_t *e, int i)
{
    char *first = (char *)e->slots + (size_t)e->count * e->stride;
    size_t before = shmemi_eager_buffers_apart() ? e->buffers : 0; /* the buffers of kernels */
    return (struct box *)(void *)(first + (before + (size_t)i) * box_bytes(e));
}

/*
 * Claims a buffer that is free, or whose write has completed: its state is then TAKEN. Returns
 * false if it is in use. The state changes to TAKEN before the request is read. In the other order,
 * another thread could claim the buffer between the two and start the next write. If the write has
 * failed, this fails the call, and the buffer is claimed all the same.
 */
static bool claim_buffer(struct box *box, const char *call)
{
    uint32_t state = shmemi_read_once(&box->state);
    if (state == TAKEN || !shmemi_acquire_if(&box->state, &state, TAKEN))
        return false;
    if (state == FREE)
        return true;
    if (!shmemi_observe(&box->request.done)) {
        shmemi_release(&box->state, UNDER_WAY);
        return false;
    }
    if (box->request.status != 0) /* no quiet reports a write that has a request */
        shmemi_fail_network(box->pe, call);
    return true;
}

/* A search for a free buffer. */
struct search {
    const shmemx_eager_t *eager;
    struct box *found; /* the claimed buffer */
    int next, boxes;   /* the index of the buffer to look at next; how many there are */
    const char *call;
};

/* Claims the next free buffer of the search, round robin. Returns false if all are in use. */
static bool claim_next(struct search *s)
{
    for (int i = 0; i < s->boxes; i++) {
        struct box *box = box_at(s->eager, s->next);
        s->next = (s->next + 1) % s->boxes;
        if (claim_buffer(box, s->call)) {
            s->found = box;
            return true;
        }
    }
    return false;
}

/* For the hang report: says how many tokens fill the buffers. */
static void describe_search(const void *subject, char *text, size_t size)
{
    const struct search *s = subject;
    snprintf(text, size, "for one of the %d tokens in flight to arrive", s->boxes);
}

/* Waits for a free buffer, and claims it. One becomes free at last: the core completes each write,
 * even if its PE is lost, and threads complete their blocking sends. */
static struct box *claim_box(const shmemx_eager_t *e, const char *call)
{
    struct search s = {.eager = e, .boxes = shmemi_eager_boxes(e), .call = call};
    SHMEMI_WAIT_FOR(shmemi_my_ctl(), call, describe_search, &s, claim_next(&s),
                    .whom = SHMEMI_NOBODY);
    return s.found;
}

/* A slot of a PE to which an earlier token may still be under way from a buffer. */
struct same_slot {
    const shmemx_eager_t *eager;
    uint32_t slot;
    int pe, boxes;
    const char *call;
};

/* Frees the buffers from which a write to the slot has completed. Returns true if none is under way
 * any more. */
static bool settle_slot(const struct same_slot *s)
{
    for (int i = 0; i < s->boxes; i++) {
        struct box *box = box_at(s->eager, i);
        if (shmemi_observe(&box->state) == FREE || shmemi_read_once(&box->pe) != s->pe ||
            shmemi_read_once(&box->slot) != s->slot)
            continue;
        if (!claim_buffer(box, s->call))
            return false;
        shmemi_release(&box->state, FREE);
    }
    return true;
}

/* For the hang report: names the slot whose earlier token is in flight. */
static void describe_same(const void *subject, char *text, size_t size)
{
    const struct same_slot *s = subject;
    snprintf(text, size, "for the write of the previous token in slot %" PRIu32 " of PE %d",
             s->slot, s->pe);
}

/*
 * Waits until the write of the slot's previous token is complete. The reader may have had the token
 * before that: when one of several NICs is lost, a write whose outcome is not known is sent again,
 * and would overwrite this token.
 */
static void await_slot(const shmemx_eager_t *e, uint32_t slot, int pe, const char *call)
{
    struct same_slot s = {e, slot, pe, shmemi_eager_boxes(e), call};
    SHMEMI_WAIT_FOR(shmemi_my_ctl(), call, describe_same, &s, settle_slot(&s),
                    .whom = SHMEMI_NOBODY);
}

/* Reports whether no write from the buffer is under way. */
static bool is_complete(const struct box *box)
{
    return shmemi_observe(&box->state) != UNDER_WAY || shmemi_observe(&box->request.done);
}

/* Waits until the writes from all buffers are complete. It does not change the state of the
 * buffers: the program may have destroyed a copy of these slots before. */
void shmemi_eager_boxes_close(const shmemx_eager_t *e, const char *call)
{
    struct search s = {.boxes = shmemi_eager_goes_far() ? shmemi_eager_boxes(e) : 0};
    for (int i = 0; i < s.boxes; i++) {
        const struct box *box = box_at(e, i);
        SHMEMI_WAIT_FOR(shmemi_my_ctl(), call, describe_search, &s, is_complete(box),
                        .whom = SHMEMI_NOBODY);
        if (shmemi_read_once(&box->state) == UNDER_WAY && box->request.status != 0)
            shmemi_fail_network(box->pe, call);
    }
}

/* --------------------------------------------------------------------- send */

/* Posts the write of a token that is laid out in a buffer, to the slot at `offset` from the user
 * heap of PE pe. Returns true if the write is under way, false if it is complete. */
static bool post_write(const shmemx_eager_t *e, uint32_t slot, int64_t offset, uint32_t epoch,
                       struct box *box, int pe, const char *call)
{
    struct shmemi_host_operation o = {.kind = SHMEMI_OPERATION_PUT_SIGNAL,
                                      .pe = pe,
                                      .offset = offset,
                                      .nbytes = shmemi_eager_bytes(e->nbytes, e->tile),
                                      .source = bytes_in(box, e),
                                      .request = &box->request,
                                      .call = call};
    /* The signal of the token, where its tiles carry none. */
    switch (e->tile) {
    case SHMEMI_EAGER_NONE:
        o.nbytes = e->nbytes;
        o.signal_offset = offset + shmemi_eager_signal_at(0, e->nbytes, e->tile);
        o.operand = shmemi_eager_signal(e->nbytes, epoch);
        o.op = SHMEMI_AMO_SET;
        break;
    case SHMEMI_EAGER_NOTIFY:
        o.signal_offset = shmemi_notification_offset(shmemi_eager_counter(e, slot));
        o.operand = 1;
        o.op = SHMEMI_AMO_ADD;
        break;
    default:
        o.kind = SHMEMI_OPERATION_PUT;
    }
    if (shmemi_eager_bytes(e->nbytes, e->tile) <= shmemi_state.net_chunk)
        return shmemi_net_start(&o);
    shmemi_net_do(&o); /* in several writes, which are complete on return */
    return false;
}

/* Sends a token to a PE that is reached over the network: lays it out with its signals in a buffer,
 * and posts one write to the slot. */
static void send_far(const shmemx_eager_t *e, uint32_t slot, int64_t offset, const void *source,
                     uint32_t epoch, int pe, bool nbi, const char *call)
{
    await_slot(e, slot, pe, call);
    struct box *box = claim_box(e, call);
    shmemi_write_once(&box->pe, pe);
    shmemi_write_once(&box->slot, slot);
    store_token(bytes_in(box, e), source, e, epoch);
    bool under_way = post_write(e, slot, offset, epoch, box, pe, call);
    if (under_way && !nbi) {
        shmemi_net_finish(&box->request, pe, call);
        under_way = false;
    }
    shmemi_release(&box->state, under_way ? UNDER_WAY : FREE);
}

/* Sends a token as one put with signal. With a GPU the source may be in GPU memory, from which the
 * CPU cannot copy it into a slot's buffer. Such a put is complete before the call returns, because
 * await_slot waits only for writes from buffers. */
static void send_signalled(const shmemx_eager_t *e, uint32_t slot, char *at, int64_t offset,
                           const void *source, uint32_t epoch, int pe, bool nbi, const char *call)
{
    bool boxed = shmemi_eager_is_far(pe) && !shmemi_state.gpu && shmemi_eager_boxes(e) > 0;
    if (boxed && nbi) {
        send_far(e, slot, offset, source, epoch, pe, nbi, call);
        return;
    }
    if (boxed)
        await_slot(e, slot, pe, call);
    uint64_t *word = (uint64_t *)(void *)(at + shmemi_eager_signal_at(0, e->nbytes, e->tile));
    shmemi_put_signal(SHMEM_CTX_DEFAULT, at, source, e->nbytes, word,
                      shmemi_eager_signal(e->nbytes, epoch), SHMEM_SIGNAL_SET, pe, /* nbi */ false,
                      call);
}

/* Allocates n bytes of 0 in main memory, or ends the job. */
char *shmemi_eager_allocate(size_t n, const char *call)
{
    char *buffer = calloc(1, n);
    if (buffer == NULL)
        shmemi_abort(call, "use smaller tokens", "no memory for %zu bytes of a token", n);
    return buffer;
}

/* Stores a token in a slot of a PE on this node, at `to`. If its source is in GPU memory, which the
 * CPU cannot load, it is copied to main memory first. */
static void send_near(const shmemx_eager_t *e, char *to, const void *source, uint32_t epoch,
                      const char *call)
{
    if (SHMEMI_LIKELY(shmemi_loads(source))) {
        store_token(to, source, e, epoch);
        return;
    }
    char *buffer = shmemi_eager_allocate(e->nbytes, call);
    shmemi_move(buffer, source, e->nbytes, call);
    store_token(to, buffer, e, epoch);
    free(buffer);
}

/* Adds one to the counter of the slot at a PE of this node, which announces a token there, and
 * wakes threads of that PE that sleep. */
static void count_token(const shmemx_eager_t *e, uint32_t slot, int pe)
{
    shmemi_publish_add(shmemi_notification_of(pe, shmemi_eager_counter(e, slot)), 1);
    shmemi_notify(pe);
}

/* Sends a counted token to or from the memory of a GPU, to the slot at `offset` from the user heap
 * of PE pe: by copies of the driver or from a buffer of this call. The token has arrived when the
 * call returns. */
static void send_copied(const shmemx_eager_t *e, uint32_t slot, int64_t offset, const void *source,
                        uint32_t epoch, int pe, const char *call)
{
    const size_t n = shmemi_eager_bytes(e->nbytes, e->tile);
    const uint64_t signal = shmemi_eager_signal(e->nbytes, epoch);
    const size_t at = shmemi_eager_signal_at(0, e->nbytes, e->tile);
    char *base = shmemi_state.peer_base[pe] != NULL ? shmemi_reachable(pe, offset) : NULL;
    if (base != NULL) {
        shmemi_move(base + offset, source, e->nbytes, call);
        shmemi_move(base + offset + at, &signal, sizeof signal, call);
        count_token(e, slot, pe);
        return;
    }
    char *buffer = shmemi_eager_allocate(n, call);
    shmemi_move(buffer, source, e->nbytes, call);
    memcpy(buffer + at, &signal, sizeof signal);
    shmemi_net_do(&(struct shmemi_host_operation){
        .kind = SHMEMI_OPERATION_PUT_SIGNAL,
        .pe = pe,
        .offset = offset,
        .nbytes = n,
        .source = buffer,
        .signal_offset = shmemi_notification_offset(shmemi_eager_counter(e, slot)),
        .operand = 1,
        .op = SHMEMI_AMO_ADD,
        .call = call});
    free(buffer);
}

/* Implements shmemx_eager_send: sends a token (the data of one eager transfer, with its signals) to
 * a slot of a PE, by the path to it: by stores, by copies of the GPU driver, by one write from a
 * buffer, or by a put with signal. */
void shmemi_eager_send(const shmemx_eager_t *eager, uint32_t slot, const void *source,
                       uint32_t epoch, int pe, bool nbi, const char *call)
{
    char *at = shmemi_eager_place(eager, slot, call);
    int64_t offset = shmemi_check_target(at, eager->stride, source, pe, "source", call);
    if (shmemi_refuse_lost(pe, call))
        return;
    char *to = shmemi_near(at, pe);
    bool counted = eager->tile == SHMEMI_EAGER_NOTIFY;
    if (to != NULL) {
        send_near(eager, to, source, epoch, call);
        if (counted)
            count_token(eager, slot, pe);
        else
            shmemi_notify(pe);
    } else if (counted && shmemi_state.gpu) {
        send_copied(eager, slot, offset, source, epoch, pe, call);
    } else if (eager->tile == SHMEMI_EAGER_NONE) {
        send_signalled(eager, slot, at, offset, source, epoch, pe, nbi, call);
    } else if (counted || (int)eager->tile <= shmemi_eager_host_tile(pe)) {
        send_far(eager, slot, offset, source, epoch, pe, nbi, call);
    } else {
        shmemi_abort(call, "see shmemx_eager_tile, and make the slots with SHMEMX_EAGER_BEST",
                     "the host's path to PE %d keeps no tile of %" PRIu32 " bytes", pe,
                     eager->tile);
    }
}
