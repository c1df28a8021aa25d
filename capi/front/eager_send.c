/*
 * eager_send.c: eager transfers between threads of the host: tokens that they send.
 *
 * Within the node the tiles are stored in the slot (eager.c). By a network that shows the bytes of
 * a write in blocks the tiles are laid out here, in one of a few buffers behind the slots, and go
 * as one write. So do tokens with a notification: the bytes and the signal in one write, whose
 * immediate data names the counter of the slot. Other tokens without tiles are a put with a signal.
 */
#include "eager_send.h"

#include "address.h"
#include "below.h"
#include "eager_counters.h"
#include "eager_slots.h"
#include "error.h"
#include "failure.h"
#include "front.h"
#include "wait.h"

#include <shmem/eager_layout.h>

#include <inttypes.h>
#include <stdio.h>

/* ------------------------------------------------------------------- layout */

/* A packet in memory, whatever the order of its bytes: the data comes first. */
static uint64_t packet(uint32_t data, uint32_t epoch)
{
    uint32_t halves[2] = {data, epoch};
    uint64_t whole;
    memcpy(&whole, halves, sizeof whole);
    return whole;
}

static void send_packets(char *to, const char *source, uint32_t nbytes, uint32_t epoch)
{
    uint32_t i = 0, data;
    for (; i + sizeof data <= nbytes; i += sizeof data) {
        memcpy(&data, source + i, sizeof data);
        __atomic_store_n((uint64_t *)(to + 2 * (size_t)i), packet(data, epoch), __ATOMIC_RELAXED);
    }
    if (i == nbytes)
        return;
    data = 0;
    memcpy(&data, source + i, nbytes - i);
    __atomic_store_n((uint64_t *)(to + 2 * (size_t)i), packet(data, epoch), __ATOMIC_RELAXED);
}

static void send_tiles(char *to, const char *source, const shmemx_eager_t *e, uint32_t epoch)
{
    uint32_t data = shmemi_eager_data(e->nbytes, e->tile);
    for (uint32_t k = 0, at = 0; at < e->nbytes; k++, at += data) {
        memcpy(to + (size_t)k * e->tile, source + at,
               e->nbytes - at < data ? e->nbytes - at : data);
        __atomic_store_n((uint64_t *)(to + shmemi_eager_signal_at(k, e->nbytes, e->tile)),
                         shmemi_eager_signal(e->nbytes, epoch), __ATOMIC_RELEASE);
    }
}

static void fill(char *to, const char *source, const shmemx_eager_t *e, uint32_t epoch)
{
    if (e->tile == SHMEMI_EAGER_PACKET)
        send_packets(to, source, e->nbytes, epoch);
    else
        send_tiles(to, source, e, epoch);
}

/* ------------------------------------------------------------------ buffers */

/*
 * Buffers of a PE for tokens that go by the network, behind its slots: a head in lines of its own,
 * and the bytes. Another symmetric block would be one more allocation. As many tokens as there are
 * buffers are under way at a time.
 */
enum { BOXES = 16, BOX_HEAD = 128 };

enum { FREE, TAKEN, UNDER_WAY };

struct box {
    uint32_t state; /* a thread that has changed it to TAKEN owns the rest */
    int32_t pe;
    struct shmemi_request request; /* of the write that is under way; the core ends it */
};
_Static_assert(sizeof(struct box) <= BOX_HEAD, "the bytes follow the head");

static size_t box_bytes(const shmemx_eager_t *e)
{
    return BOX_HEAD + (size_t)e->stride;
}

size_t shmemi_eager_boxes_size(const shmemx_eager_t *e)
{
    return BOXES * box_bytes(e);
}

static struct box *box_at(const shmemx_eager_t *e, int i)
{
    char *first = (char *)e->slots + (size_t)e->count * e->stride;
    return (struct box *)(void *)(first + (size_t)i * box_bytes(e));
}

/*
 * Reports whether the caller owns the box now: it was free, or its write has ended. It is taken
 * before its request is looked at: between a look and the taking, another thread could take it and
 * have the next write under way.
 */
static bool take(struct box *box, const char *call)
{
    uint32_t state = __atomic_load_n(&box->state, __ATOMIC_RELAXED);
    if (state == TAKEN || !__atomic_compare_exchange_n(&box->state, &state, TAKEN, false,
                                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return false;
    if (state == FREE)
        return true;
    if (!__atomic_load_n(&box->request.done, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&box->state, UNDER_WAY, __ATOMIC_RELEASE);
        return false;
    }
    if (box->request.status != 0) /* no quiet reports what has a request */
        shmemi_net_failed(box->pe, call);
    return true;
}

struct search {
    const shmemx_eager_t *eager;
    struct box *found;
    int next;
    const char *call;
};

static bool find(struct search *s)
{
    for (int i = 0; i < BOXES; i++) {
        struct box *box = box_at(s->eager, s->next);
        s->next = (s->next + 1) % BOXES;
        if (take(box, s->call)) {
            s->found = box;
            return true;
        }
    }
    return false;
}

static void describe_search(const void *subject, char *text, size_t size)
{
    (void)subject;
    snprintf(text, size, "for one of the %d tokens that are under way to arrive", BOXES);
}

/* The core ends each write, also when its PE is lost, and a thread its blocking send. */
static struct box *take_box(const shmemx_eager_t *e, const char *call)
{
    struct search s = {.eager = e, .call = call};
    SHMEMI_WAIT_FOR(shmemi_my_ctl(), call, describe_search, &s, find(&s), .whom = SHMEMI_NOBODY);
    return s.found;
}

static bool has_ended(const struct box *box)
{
    return __atomic_load_n(&box->state, __ATOMIC_ACQUIRE) != UNDER_WAY ||
           __atomic_load_n(&box->request.done, __ATOMIC_ACQUIRE);
}

/* It changes nothing: the slots may be those of a copy that the program has destroyed before. */
void shmemi_eager_boxes_close(const shmemx_eager_t *e, const char *call)
{
    if (e->tile == SHMEMI_EAGER_NONE || !shmemi_eager_goes_far())
        return;
    for (int i = 0; i < BOXES; i++) {
        const struct box *box = box_at(e, i);
        SHMEMI_WAIT_FOR(shmemi_my_ctl(), call, describe_search, NULL, has_ended(box),
                        .whom = SHMEMI_NOBODY);
        if (__atomic_load_n(&box->state, __ATOMIC_RELAXED) == UNDER_WAY && box->request.status != 0)
            shmemi_net_failed(box->pe, call);
    }
}

/* --------------------------------------------------------------------- send */

/* Posts a token that is laid out. Returns true when its write is under way. */
static bool post(const shmemx_eager_t *e, uint32_t slot, int64_t offset, struct box *box, int pe,
                 const char *call)
{
    const char *bytes = (const char *)box + BOX_HEAD;
    size_t n = shmemi_eager_bytes(e->nbytes, e->tile);
    int64_t counter = shmemi_eager_counter_offset(e, slot);
    bool counted = e->tile == SHMEMI_EAGER_NOTIFY;
    if (n <= shmemi_state.net_chunk)
        return counted
                   ? shmemi_net_put_signal_start(SHMEM_CTX_DEFAULT, pe, offset, bytes, n, counter,
                                                 1, SHMEMI_AMO_ADD, &box->request, call)
                   : shmemi_net_put_start(SHMEM_CTX_DEFAULT, pe, offset, bytes, n, &box->request,
                                          call);
    if (counted)
        shmemi_net_put_signal(SHMEM_CTX_DEFAULT, pe, offset, bytes, n, counter, 1, SHMEMI_AMO_ADD,
                              false, call);
    else
        shmemi_net_put(SHMEM_CTX_DEFAULT, pe, offset, bytes, n, false, call);
    return false;
}

/* A token as one write. */
static void send_far(const shmemx_eager_t *e, uint32_t slot, int64_t offset, const void *source,
                     uint32_t epoch, int pe, bool nbi, const char *call)
{
    struct box *box = take_box(e, call);
    fill((char *)box + BOX_HEAD, source, e, epoch);
    bool under_way = post(e, slot, offset, box, pe, call);
    box->pe = pe;
    if (under_way && !nbi) {
        shmemi_net_finish(&box->request, pe, call);
        under_way = false;
    }
    __atomic_store_n(&box->state, under_way ? UNDER_WAY : FREE, __ATOMIC_RELEASE);
}

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
        fill(to, source, eager, epoch);
        if (counted)
            __atomic_fetch_add(shmemi_eager_counter(pe, eager, slot), 1, __ATOMIC_RELEASE);
        shmemi_notify(pe);
    } else if (eager->tile == SHMEMI_EAGER_NONE) {
        uint32_t signal = shmemi_eager_signal_at(0, eager->nbytes, eager->tile);
        shmemi_put_signal(
            SHMEM_CTX_DEFAULT, at, source, eager->nbytes, (uint64_t *)(void *)(at + signal),
            shmemi_eager_signal(eager->nbytes, epoch), SHMEM_SIGNAL_SET, pe, nbi, call);
    } else if (counted || (int)eager->tile <= shmemi_eager_host_keeps(pe)) {
        send_far(eager, slot, offset, source, epoch, pe, nbi, call);
    } else {
        shmemi_abort(call, "see shmemx_eager_tile, and make the slots with SHMEMX_EAGER_BEST",
                     "the host's route to PE %d keeps no tile of %" PRIu32 " bytes", pe,
                     eager->tile);
    }
}
