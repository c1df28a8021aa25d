/*
 * eager.c: eager transfers between threads of the host.
 *
 * Within the node a tile is written by stores of the CPU, the data first and the signal by a store
 * with release; readers load the signal with acquire. So the node keeps every tile by the
 * language's memory model, whatever the processor. A packet is one store, which needs no order.
 *
 * By a network that shows the bytes of a write in blocks the tiles are laid out here, in one of a
 * few buffers behind the slots, and go as one write. A copy engine and other networks keep no tile:
 * tokens without tiles go there as a put with a signal.
 */
#include "eager.h"

#include "address.h"
#include "below.h"
#include "error.h"
#include "exchange.h"
#include "failure.h"
#include "front.h"
#include "gpu.h"
#include "memory.h"
#include "sync.h"
#include "team.h"
#include "until.h"
#include "wait.h"

#include <shmem/eager_layout.h>

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>

_Static_assert(SHMEMX_EAGER_NONE == SHMEMI_EAGER_NONE &&
                   SHMEMX_EAGER_PACKET == SHMEMI_EAGER_PACKET &&
                   SHMEMX_EAGER_LINE == SHMEMI_EAGER_LINE &&
                   SHMEMX_EAGER_BLOCK == SHMEMI_EAGER_BLOCK,
               "the numbers of the table");

/* ---------------------------------------------------------------- arguments */

static void check_token(size_t nbytes, int64_t tile, const char *call)
{
    if (nbytes == 0 || nbytes > SHMEMI_EAGER_MOST)
        shmemi_abort(call, "use 1 to 2^30", "a token of %zu bytes does not fit a slot", nbytes);
    if (!shmemi_eager_known(tile))
        shmemi_abort(call,
                     "use SHMEMX_EAGER_BLOCK, SHMEMX_EAGER_LINE, SHMEMX_EAGER_PACKET or "
                     "SHMEMX_EAGER_NONE",
                     "there is no tile of %" PRId64 " bytes", tile);
}

/* The place of a slot of this PE, as a symmetric address. */
static char *place_of(const shmemx_eager_t *e, uint32_t slot, const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    if (e == NULL || e->slots == NULL || !shmemi_eager_known(e->tile))
        shmemi_abort(call, "pass what shmemx_eager_create has filled",
                     "eager has no slots that a call has made");
    if (slot >= e->count)
        shmemi_abort(call, "use 0 to count - 1",
                     "slot %" PRIu32 " does not exist, there are %" PRIu32, slot, e->count);
    char *at = (char *)e->slots + (size_t)slot * e->stride;
    if (!shmemi_in_heap(at, e->stride) || e->stride != shmemi_eager_stride(e->nbytes, e->tile))
        shmemi_abort(call, "pass what shmemx_eager_create has filled, until shmemx_eager_destroy",
                     "slot %" PRIu32 " at %p is not in the symmetric heap", slot, (void *)at);
    return at;
}

/* ------------------------------------------------------------------- routes */

/* Reports whether the way to a PE is the network. */
static bool is_far(int pe)
{
    const struct shmemi_state *s = &shmemi_state;
    return s->near_base[pe] == NULL && (!s->gpu || s->mapped_base[pe] == NULL);
}

static int host_keeps(int pe)
{
    const struct shmemi_state *s = &shmemi_state;
    if (s->near_base[pe] != NULL)
        return SHMEMI_EAGER_BLOCK;
    return is_far(pe) ? (int)s->net_tile : SHMEMI_EAGER_NONE;
}

/* Kernels store to memory of a GPU of this node, and release their signals as the host does. */
static int kernels_keep(int pe)
{
    const struct shmemi_state *s = &shmemi_state;
    bool direct =
        pe == s->my_pe || (s->p2p && s->mapped_base[pe] != NULL && s->near_base[pe] == NULL);
    return direct ? SHMEMI_EAGER_BLOCK : SHMEMI_EAGER_NONE;
}

static bool heap_on_gpu(void)
{
    return shmemi_state.gpu && shmemi_state.near_base[shmemi_state.my_pe] == NULL;
}

int shmemi_eager_tile(int pe, const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    if ((uint32_t)pe >= shmemi_state.n_pes)
        shmemi_abort(call, "use 0 to shmem_n_pes() - 1", "PE %d does not exist, there are %" PRIu32,
                     pe, shmemi_state.n_pes);
    return host_keeps(pe);
}

size_t shmemi_eager_size(size_t nbytes, int tile, const char *call)
{
    check_token(nbytes, tile, call);
    return shmemi_eager_bytes((uint32_t)nbytes, (uint32_t)tile);
}

/* --------------------------------------------------------------------- slots */

/* Buffers of a PE for tokens that go by the network, behind its slots: a head of a line, and the
 * tiles. Another symmetric block would be one more allocation. */
enum { BOXES = 4, BOX_HEAD = 128 };

static size_t box_bytes(const shmemx_eager_t *e)
{
    return BOX_HEAD + (size_t)e->stride;
}

enum { NBYTES, COUNT, TILE, ARGUMENTS };

/* What the PEs have agreed on: the largest tile that the routes between all of them keep, and
 * whether some are networks. */
struct agreement {
    int kept;
    bool far;
};

/* Ends the job when PEs pass different arguments. */
static struct agreement agree(const int64_t values[ARGUMENTS], const char *call)
{
    enum { KEPT = 2 * ARGUMENTS, NEAR, VOTES };
    static const struct shmemi_reducer votes = {shmemi_min_i64, sizeof(int64_t)};
    static const char *const names[ARGUMENTS] = {"nbytes", "count", "tile"};
    const struct shmemi_state *s = &shmemi_state;
    int64_t mine[VOTES] = {[KEPT] = SHMEMI_EAGER_BLOCK, [NEAR] = 1}, all[VOTES];
    for (uint32_t pe = 0; pe < s->n_pes; pe++) {
        /* Kernels use slots in main memory, too, where the PE has a GPU. */
        int here = heap_on_gpu() ? SHMEMI_EAGER_BLOCK : host_keeps((int)pe);
        if (s->gpu && kernels_keep((int)pe) < here)
            here = kernels_keep((int)pe);
        if (!heap_on_gpu() && is_far((int)pe)) {
            mine[NEAR] = 0;
            here = values[NBYTES] > s->net_message ? here : SHMEMI_EAGER_NONE; /* a message */
        }
        mine[KEPT] = here < mine[KEPT] ? here : mine[KEPT];
    }
    for (int i = 0; i < ARGUMENTS; i++) {
        mine[i] = values[i];
        mine[ARGUMENTS + i] = -values[i];
    }
    shmemi_exchange(&shmemi_world, all, mine, VOTES, &votes, call);
    if (!shmemi_collective_holds())
        return (struct agreement){SHMEMI_EAGER_NONE, false};
    for (int i = 0; i < ARGUMENTS; i++)
        if (all[i] != -all[ARGUMENTS + i])
            shmemi_abort(call, "pass the same on every PE",
                         "%s is %" PRId64 " on a PE and %" PRId64 " on another", names[i], all[i],
                         -all[ARGUMENTS + i]);
    return (struct agreement){(int)all[KEPT], all[NEAR] == 0};
}

int shmemi_eager_create(size_t nbytes, size_t count, int tile, shmemx_eager_t *eager,
                        const char *call)
{
    enum { KEPT_NOT = 1, NO_ROOM };
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    if (eager == NULL)
        shmemi_abort(call, "pass where the answer goes", "eager is NULL");
    check_token(nbytes, tile == SHMEMX_EAGER_BEST ? SHMEMI_EAGER_NONE : tile, call);
    if (count == 0 || count > INT32_MAX)
        shmemi_abort(call, "use 1 to 2^31 - 1", "there cannot be %zu slots", count);
    if (!shmemi_collective_begin(&shmemi_world, call))
        return NO_ROOM;
    struct agreement all = agree((int64_t[]){(int64_t)nbytes, (int64_t)count, tile}, call);
    if (!shmemi_collective_end())
        return NO_ROOM;
    if (tile > all.kept)
        return KEPT_NOT;
    shmemx_eager_t e = {.count = (uint32_t)count,
                        .nbytes = (uint32_t)nbytes,
                        .tile = (uint32_t)(tile == SHMEMX_EAGER_BEST ? all.kept : tile)};
    e.stride = shmemi_eager_stride(e.nbytes, e.tile);
    size_t bytes = count * e.stride;
    if (all.far && e.tile != SHMEMI_EAGER_NONE)
        bytes += BOXES * box_bytes(&e);
    e.slots = shmemi_align(SHMEMI_EAGER_BLOCK, bytes, call);
    if (e.slots == NULL)
        return NO_ROOM;
    shmemi_clear(e.slots, bytes, call);
    shmemi_barrier_all(call);
    *eager = e;
    return 0;
}

void shmemi_eager_destroy(shmemx_eager_t *eager, const char *call)
{
    (void)place_of(eager, 0, call);
    shmemi_free(eager->slots, call);
    memset(eager, 0, sizeof *eager);
}

/* ---------------------------------------------------------------------- send */

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

/* Takes a buffer of this PE. Threads that find none wait for the puts of others to end. */
static uint32_t *take_box(const shmemx_eager_t *e)
{
    char *first = (char *)e->slots + (size_t)e->count * e->stride;
    for (unsigned i = 0;; i++) {
        uint32_t *box = (uint32_t *)(first + i % BOXES * box_bytes(e)), free = 0;
        if (__atomic_compare_exchange_n(box, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return box;
        if (i % BOXES == BOXES - 1)
            sched_yield();
    }
}

/* A token as one write, which ends before its buffer is free again. */
static void send_far(const shmemx_eager_t *e, char *at, const void *source, uint32_t epoch, int pe,
                     const char *call)
{
    uint32_t *box = take_box(e);
    char *tiles = (char *)box + BOX_HEAD;
    fill(tiles, source, e, epoch);
    (void)shmemi_net_put(SHMEM_CTX_DEFAULT, pe, shmemi_offset(at), tiles,
                         shmemi_eager_bytes(e->nbytes, e->tile), false, call);
    __atomic_store_n(box, 0, __ATOMIC_RELEASE);
}

void shmemi_eager_send(const shmemx_eager_t *eager, uint32_t slot, const void *source,
                       uint32_t epoch, int pe, const char *call)
{
    char *at = place_of(eager, slot, call);
    (void)shmemi_check_target(at, eager->stride, source, pe, "source", call);
    if (shmemi_refuse_lost(pe, call))
        return;
    char *to = shmemi_near(at, pe);
    if (to != NULL) {
        fill(to, source, eager, epoch);
        shmemi_notify(pe);
    } else if (eager->tile == SHMEMI_EAGER_NONE) {
        uint32_t signal = shmemi_eager_signal_at(0, eager->nbytes, eager->tile);
        shmemi_put_signal(SHMEM_CTX_DEFAULT, at, source, eager->nbytes, (uint64_t *)(at + signal),
                          shmemi_eager_signal(eager->nbytes, epoch), SHMEM_SIGNAL_SET, pe, false,
                          call);
    } else if ((int)eager->tile <= host_keeps(pe)) {
        send_far(eager, at, source, epoch, pe, call);
    } else {
        shmemi_abort(call, "see shmemx_eager_tile, and make the slots with SHMEMX_EAGER_BEST",
                     "the host's route to PE %d keeps no tile of %" PRIu32 " bytes", pe,
                     eager->tile);
    }
}

/* ------------------------------------------------------------------- receive */

/* A token that is read tile by tile, as it comes. */
struct reading {
    const shmemx_eager_t *eager;
    char *slot, *dest; /* dest: NULL where its bytes are only waited for */
    uint32_t number, epoch, tiles;
    uint32_t next; /* the first tile that was not seen yet */
    const char *call;
};

static struct reading reading_of(const shmemx_eager_t *eager, uint32_t slot, void *dest,
                                 uint32_t epoch, const char *call)
{
    char *at = place_of(eager, slot, call);
    if (eager->tile != SHMEMI_EAGER_NONE && shmemi_on_gpu(at))
        shmemi_abort(call, "call it in a kernel, or make the slots with SHMEMX_EAGER_NONE",
                     "the host reads no tiles in the memory of a GPU");
    return (struct reading){
        eager, at, dest, slot, epoch, shmemi_eager_tiles(eager->nbytes, eager->tile), 0, call};
}

static SHMEMI_COLD void refuse(const struct reading *r, uint32_t seen, uint32_t size,
                               enum shmemi_eager_found found)
{
    if (found == SHMEMI_EAGER_DIFFERENT)
        shmemi_abort(r->call, "pass the eager of the same shmemx_eager_create on both sides",
                     "the token in slot %" PRIu32 " has %" PRIu32 " bytes, and %" PRIu32
                     " are expected",
                     r->number, size, r->eager->nbytes);
    shmemi_abort(r->call,
                 "count the tokens of each slot by one, and send the next when the last was taken",
                 "slot %" PRIu32 " is at epoch %" PRIu32 ", and epoch %" PRIu32 " is expected",
                 r->number, seen, r->epoch);
}

/* Takes the packets that are there from the next one on. Reports whether these are all. */
static bool take_packets(struct reading *r)
{
    const uint64_t *from = (const uint64_t *)r->slot;
    for (; r->next < r->tiles; r->next++) {
        uint32_t at = r->next * SHMEMI_EAGER_PACKET_SIGNAL, rest = r->eager->nbytes - at, halves[2];
        uint64_t whole = __atomic_load_n(from + r->next, __ATOMIC_RELAXED);
        memcpy(halves, &whole, sizeof halves);
        enum shmemi_eager_found found = shmemi_eager_look_epoch(halves[1], r->epoch);
        if (found == SHMEMI_EAGER_NOT_YET)
            return false;
        if (found != SHMEMI_EAGER_THERE)
            refuse(r, halves[1], 0, found);
        if (r->dest != NULL && SHMEMI_LIKELY(rest >= sizeof halves[0]))
            memcpy(r->dest + at, halves, sizeof halves[0]);
        else if (r->dest != NULL)
            memcpy(r->dest + at, halves, rest);
    }
    return true;
}

/* Reports whether the next tile is there, and then copies its data. */
static bool take_tile(struct reading *r)
{
    const shmemx_eager_t *e = r->eager;
    uint32_t data = shmemi_eager_data(e->nbytes, e->tile), at = r->next * data;
    const uint64_t *word =
        (const uint64_t *)(r->slot + shmemi_eager_signal_at(r->next, e->nbytes, e->tile));
    uint64_t seen = shmemi_on_gpu(word) ? shmemi_read_gpu(word, sizeof *word, r->call)
                                        : __atomic_load_n(word, __ATOMIC_ACQUIRE);
    enum shmemi_eager_found found = shmemi_eager_look(seen, e->nbytes, r->epoch);
    if (found == SHMEMI_EAGER_NOT_YET)
        return false;
    if (found != SHMEMI_EAGER_THERE)
        refuse(r, (uint32_t)seen, (uint32_t)(seen >> 32), found);
    if (r->dest != NULL)
        shmemi_move(r->dest + at, r->slot + (size_t)r->next * e->tile,
                    e->nbytes - at < data ? e->nbytes - at : data, r->call);
    return true;
}

/* Reports whether the whole token is there. */
static bool take(struct reading *r)
{
    if (r->eager->tile == SHMEMI_EAGER_PACKET)
        return take_packets(r);
    for (; r->next < r->tiles; r->next++)
        if (!take_tile(r))
            return false;
    return true;
}

static void describe_reading(const void *subject, char *text, size_t size)
{
    const struct reading *r = subject;
    snprintf(text, size,
             "for the token of epoch %" PRIu32 " in slot %" PRIu32 ", of which %" PRIu32
             " of %" PRIu32 " tiles are there",
             r->epoch, r->number, r->next, r->tiles);
}

static void read_all(struct reading *r)
{
    SHMEMI_WAIT(shmemi_my_ctl(), r->call, describe_reading, r, take(r));
}

int shmemi_eager_ready(const shmemx_eager_t *eager, uint32_t slot, uint32_t epoch, const char *call)
{
    struct reading r = reading_of(eager, slot, NULL, epoch, call);
    if (take(&r))
        return 1;
    if (shmemi_state.networked)
        shmemi_state.core->poll();
    shmemi_tell_unseen(call);
    return take(&r);
}

void shmemi_eager_wait(const shmemx_eager_t *eager, uint32_t slot, uint32_t epoch, const char *call)
{
    struct reading r = reading_of(eager, slot, NULL, epoch, call);
    read_all(&r);
}

void shmemi_eager_recv(const shmemx_eager_t *eager, uint32_t slot, void *dest, uint32_t epoch,
                       const char *call)
{
    if (dest == NULL)
        shmemi_abort(call, "pass room for a token", "dest is NULL");
    struct reading r = reading_of(eager, slot, dest, epoch, call);
    read_all(&r);
}
