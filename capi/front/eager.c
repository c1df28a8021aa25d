/*
 * eager.c: eager transfers between threads of the host: the slots and the readers. eager_send.c has
 * the senders.
 *
 * A token is a message of fixed size. Its signal is a word with the token's size, in the upper 32
 * bits, and its number (epoch). The sender writes a token in tiles: pieces of a size that the path
 * makes visible to the
 * reader all at once. Each tile ends with the signal. Within the node the sender's CPU stores the
 * data of a tile first, and then the signal by a store with release; readers load the signal with
 * acquire. So a reader that sees the signal sees the tile, on any processor. A packet is a tile of
 * 4 bytes of data and the epoch, which one store writes, so that it needs no order.
 *
 * Without tiles the signal follows the bytes of the token, which has arrived when its signal has.
 * With SHMEMX_EAGER_NOTIFY a token has arrived when the counter of its slot has counted it. Its
 * signal is in the same write as the bytes and may be visible before them, so the reader uses the
 * signal only to detect a wrong epoch or size.
 */
#include "eager.h"

#include "address.h"
#include "eager_counters.h"
#include "eager_send.h"
#include "eager_slots.h"
#include "error.h"
#include "exchange.h"
#include "failure.h"
#include "front.h"
#include "gpu.h"
#include "memory.h"
#include "netcall.h"
#include "sync.h"
#include "team.h"
#include "until.h"
#include "wait.h"

#include <shmem/eager_layout.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

_Static_assert(SHMEMX_EAGER_NONE == SHMEMI_EAGER_NONE &&
                   SHMEMX_EAGER_NOTIFY == SHMEMI_EAGER_NOTIFY &&
                   SHMEMX_EAGER_PACKET == SHMEMI_EAGER_PACKET &&
                   SHMEMX_EAGER_LINE == SHMEMI_EAGER_LINE &&
                   SHMEMX_EAGER_BLOCK == SHMEMI_EAGER_BLOCK,
               "the numbers of the table");

/* ---------------------------------------------------------------- arguments */

/* Ends the job unless a token (the data of one eager transfer) may have nbytes bytes, and tiles of
 * this size (pieces with a signal at the end) exist. */
static void check_token(size_t nbytes, int64_t tile, const char *call)
{
    if (nbytes == 0 || nbytes > SHMEMI_EAGER_MOST)
        shmemi_abort(call, "use 1 to 2^30", "a token of %zu bytes does not fit a slot", nbytes);
    if (!shmemi_eager_tile_valid(tile))
        shmemi_abort(call,
                     "use SHMEMX_EAGER_BLOCK, SHMEMX_EAGER_LINE, SHMEMX_EAGER_PACKET, "
                     "SHMEMX_EAGER_NOTIFY or SHMEMX_EAGER_NONE",
                     "there is no tile of %" PRId64 " bytes", tile);
}

/* ------------------------------------------------------------------- paths */

/* Implements shmemx_eager_tile: returns the size of the largest piece of a token (a tile) that
 * becomes visible all at once on the path to a PE, so that a signal at its end is enough. */
int shmemi_eager_tile(int pe, const char *call)
{
    shmemi_check_pe(pe, call);
    return shmemi_eager_host_tile(pe);
}

/* Implements shmemx_eager_size: returns how many bytes of a slot a token of nbytes occupies if it
 * is written in tiles of this size, each with a signal at its end. */
size_t shmemi_eager_size(size_t nbytes, int tile, const char *call)
{
    check_token(nbytes, tile, call);
    return shmemi_eager_bytes((uint32_t)nbytes, (uint32_t)tile);
}

/* --------------------------------------------------------------------- slots */

/* The arguments of shmemx_eager_create that PEs compare. */
enum { NBYTES, COUNT, TILE, ARGUMENTS };

/* The properties that all PEs have agreed on. */
struct agreement {
    int largest_tile; /* the largest tile that every path between PEs makes visible at once */
    bool far;         /* the CPU of some PE reaches a PE over a network */
    bool rings;       /* some kernel reaches a PE over its ring, by the proxy */
    bool message;     /* a token and its signal are one message where no stores reach */
    bool counts;      /* the slots may have counters: kernels of all PEs with a GPU have them */
    bool carries; /* each network carries the notification of a token in the write of its bytes */
};

/* Reports whether a network carries a token of nbytes bytes and its notification in one write. */
static bool is_carried(int64_t nbytes)
{
    return shmemi_eager_bytes((uint32_t)nbytes, SHMEMI_EAGER_NOTIFY) <= shmemi_state.net_notified;
}

/* Compares the arguments of all PEs, and returns what the paths of all PEs can do. One reduction
 * computes the minimum of each entry over all PEs. Each argument is an entry, and so is its
 * negative. Their minima are the smallest argument and the negative of the largest one; if these
 * differ, the job ends. LARGEST_TILE is the size of a tile. Each entry after it is 1 if the
 * property holds on this PE, else 0, so that the minimum is 1 only if it holds on every PE. struct
 * agreement explains the properties; its far and rings are the opposites of NO_NETWORK and
 * NO_RINGS. */
static struct agreement compare_arguments(const int64_t values[ARGUMENTS], const char *call)
{
    enum {
        LARGEST_TILE = 2 * ARGUMENTS,
        NO_NETWORK,
        NO_RINGS,
        ONE_MESSAGE,
        HAS_COUNTERS,
        NOTIFIES_IN_WRITE,
        ENTRIES
    };
    static const struct shmemi_reducer least = {shmemi_min_i64, sizeof(int64_t)};
    static const char *const names[ARGUMENTS] = {"nbytes", "count", "tile"};
    const struct shmemi_state *s = &shmemi_state;
    const bool message = values[NBYTES] <= s->net_message; /* a token fits in a message */
    int64_t mine[ENTRIES] = {[LARGEST_TILE] = SHMEMI_EAGER_BLOCK,
                             [NO_NETWORK] = 1,
                             [NO_RINGS] = 1,
                             [NOTIFIES_IN_WRITE] = 1};
    int64_t all[ENTRIES];
    mine[ONE_MESSAGE] = message;
    mine[HAS_COUNTERS] = !s->uncounted;
    for (uint32_t pe = 0; pe < s->n_pes; pe++) {
        if (!shmemi_eager_on_gpu()) {
            int host = shmemi_eager_host_tile((int)pe);
            if (shmemi_eager_is_far((int)pe)) {
                mine[NO_NETWORK] = 0;
                mine[NOTIFIES_IN_WRITE] = !message && is_carried(values[NBYTES]);
                /* Where stores do not reach, a token that fits in a message needs no tiles. */
                host = message ? SHMEMI_EAGER_NONE : host;
            }
            mine[LARGEST_TILE] = host < mine[LARGEST_TILE] ? host : mine[LARGEST_TILE];
        }
        if (s->gpu) { /* kernels use slots in main memory, too */
            int kernels = shmemi_eager_kernels_tile((int)pe);
            mine[NO_RINGS] = mine[NO_RINGS] && shmemi_eager_is_direct((int)pe);
            mine[LARGEST_TILE] = kernels < mine[LARGEST_TILE] ? kernels : mine[LARGEST_TILE];
        }
    }
    for (int i = 0; i < ARGUMENTS; i++) {
        mine[i] = values[i];
        mine[ARGUMENTS + i] = -values[i];
    }
    shmemi_exchange(&shmemi_world, all, mine, ENTRIES, &least, call);
    if (!shmemi_collective_unbroken()) /* a PE is lost, and the caller does not use the result */
        return (struct agreement){.largest_tile = SHMEMI_EAGER_NONE};
    for (int i = 0; i < ARGUMENTS; i++)
        if (all[i] != -all[ARGUMENTS + i])
            shmemi_abort(call, "pass the same on every PE",
                         "%s is %" PRId64 " on a PE and %" PRId64 " on another", names[i], all[i],
                         -all[ARGUMENTS + i]);
    return (struct agreement){.largest_tile = (int)all[LARGEST_TILE],
                              .far = all[NO_NETWORK] == 0,
                              .rings = all[NO_RINGS] == 0,
                              .message = all[ONE_MESSAGE] != 0,
                              .counts = all[HAS_COUNTERS] != 0,
                              .carries = all[NOTIFIES_IN_WRITE] != 0};
}

/* Returns the size of tile that SHMEMX_EAGER_BEST selects, the same on every PE: the largest that
 * all paths make visible at once. If no such tile exists, it selects a counter for each slot where
 * that saves messages, else no tiles. */
static int best_tile(const struct agreement *all, size_t count)
{
    if (all->largest_tile != SHMEMI_EAGER_NONE)
        return all->largest_tile;
    bool saves = (all->rings && !all->message) || (all->far && all->carries);
    return all->counts && saves && shmemi_eager_counters_left(count) ? SHMEMI_EAGER_NOTIFY
                                                                     : SHMEMI_EAGER_NONE;
}

/* Bytes of a PE's heap that must be registered with NICs: the slots. */
struct announced {
    int pe;
    int64_t offset;
    size_t bytes;
};

/* Reports whether PE a->pe has announced to this PE that NICs can access those bytes, or is lost.
 */
static bool has_announced(const struct announced *a)
{
    return shmemi_is_lost(a->pe) || shmemi_state.core->reaches(a->pe, a->offset, a->bytes);
}

/* For the hang report: names the PE whose heap NICs do not reach yet. */
static void describe_announced(const void *subject, char *text, size_t size)
{
    const struct announced *a = subject;
    snprintf(text, size, "for PE %d to announce that NICs reach %zu bytes of its heap", a->pe,
             a->bytes);
}

/*
 * Reports whether NICs can access the slots of all PEs, and the buffers after the slots, if these
 * are in the memory of GPUs; the result is the same on every PE. Tokens to memory that NICs cannot
 * access pass through host buffers, in no particular order. A PE whose heap has grown announces the
 * new part by messages. This function waits for these messages, because tokens sent before they
 * arrive would pass through host buffers. After the loss of a PE it returns false.
 */
static bool are_reached(const void *slots, size_t bytes, const char *call)
{
    static const struct shmemi_reducer least = {shmemi_min_i64, sizeof(int64_t)};
    const struct shmemi_state *s = &shmemi_state;
    struct announced a = {s->my_pe, (int64_t)((uintptr_t)slots - s->heap_base), bytes};
    const bool on_gpu = shmemi_eager_on_gpu();
    int64_t mine = !on_gpu || s->core->reaches(a.pe, a.offset, a.bytes), all = 0;
    if (!shmemi_collective_begin(&shmemi_world, call))
        return false;
    shmemi_exchange(&shmemi_world, &all, &mine, 1, &least, call);
    if (!shmemi_collective_end() || all == 0)
        return false;
    for (a.pe = 0; on_gpu && a.pe < (int)s->n_pes; a.pe++)
        if (!shmemi_eager_is_direct(a.pe))
            SHMEMI_WAIT_FOR(shmemi_my_ctl(), call, describe_announced, &a, has_announced(&a),
                            .whom = SHMEMI_NOBODY);
    return true;
}

/* Results of shmemx_eager_create besides 0, which is success. */
enum { NOT_AT_ONCE = 1, NO_ROOM };

/* Allocates slots for tokens in tiles of a given size, on all PEs, with the buffers and counters
 * that they need. e->buffers is how many buffers kernels have. Returns 0, NOT_AT_ONCE if some path
 * does not make such a tile visible at once, or NO_ROOM; the same on every PE. */
static int allocate_slots(shmemx_eager_t *e, const struct agreement *all, int tile,
                          const char *call)
{
    const bool counted = tile == SHMEMX_EAGER_NOTIFY;
    if (counted ? !all->counts : tile > all->largest_tile)
        return NOT_AT_ONCE;
    e->tile = (uint32_t)tile;
    e->stride = shmemi_eager_stride(e->nbytes, e->tile);
    if (counted && !shmemi_eager_counters_allocate(e->count, &e->counter, call))
        return NO_ROOM;
    /* Kernels send tiles by their rings, which need buffers. All tiles are PACKET or larger. */
    const bool by_rings = tile >= SHMEMX_EAGER_PACKET && all->rings;
    size_t bytes = (size_t)e->count * e->stride;
    e->buffers = by_rings || (counted && (all->rings || all->far)) ? shmemi_eager_boxes(e) : 0;
    if (all->far || all->rings)
        bytes += shmemi_eager_boxes_size(e);
    e->slots = shmemi_align(SHMEMI_EAGER_BLOCK, bytes, call);
    if (e->slots == NULL) {
        if (counted)
            shmemi_eager_counters_free(e->counter, e->count);
        return NO_ROOM;
    }
    if (by_rings && !are_reached(e->slots, bytes, call)) {
        shmemi_free(e->slots, call);
        return NOT_AT_ONCE;
    }
    shmemi_clear(e->slots, bytes, call);
    shmemi_barrier_all(call);
    return 0;
}

/* Implements shmemx_eager_create: allocates count slots for tokens of nbytes, on all PEs.
 * SHMEMX_EAGER_BEST selects the largest tile that all paths make visible at once. If NICs then
 * cannot access the slots, it selects no tiles, or a counter. Returns 0 and sets *eager, or returns
 * NOT_AT_ONCE or NO_ROOM, which is also the result after the loss of a PE. */
int shmemi_eager_create(size_t nbytes, size_t count, int tile, shmemx_eager_t *eager,
                        const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    if (eager == NULL)
        shmemi_abort(call, "pass the address of a shmemx_eager_t", "eager is NULL");
    check_token(nbytes, tile == SHMEMX_EAGER_BEST ? SHMEMI_EAGER_NONE : tile, call);
    if (count == 0 || count > INT32_MAX)
        shmemi_abort(call, "use 1 to 2^31 - 1", "there cannot be %zu slots", count);
    if (!shmemi_collective_begin(&shmemi_world, call))
        return NO_ROOM;
    struct agreement all =
        compare_arguments((int64_t[]){(int64_t)nbytes, (int64_t)count, tile}, call);
    if (!shmemi_collective_end())
        return NO_ROOM;
    shmemx_eager_t e = {.count = (uint32_t)count, .nbytes = (uint32_t)nbytes};
    int result =
        allocate_slots(&e, &all, tile == SHMEMX_EAGER_BEST ? best_tile(&all, count) : tile, call);
    if (result == NOT_AT_ONCE && tile == SHMEMX_EAGER_BEST) {
        all.largest_tile = SHMEMI_EAGER_NONE; /* NICs do not reach these slots */
        result = allocate_slots(&e, &all, best_tile(&all, count), call);
    }
    if (result == 0)
        *eager = e;
    return result;
}

/* Implements shmemx_eager_destroy: ends the job if the last slot, and with it *eager, is not valid,
 * waits until no write from the buffers is under way, and frees the slots and counters. */
void shmemi_eager_destroy(shmemx_eager_t *eager, const char *call)
{
    (void)shmemi_eager_place(eager, eager != NULL ? eager->count - 1 : 0, call);
    shmemi_eager_boxes_close(eager, call);
    shmemi_free(eager->slots, call);
    if (eager->tile == SHMEMI_EAGER_NOTIFY)
        shmemi_eager_counters_free(eager->counter, eager->count);
    memset(eager, 0, sizeof *eager);
}

/* ------------------------------------------------------------------- receive */

/* A token that is being read tile by tile, as the tiles arrive. */
struct reading {
    const shmemx_eager_t *eager;
    char *slot, *dest; /* dest: NULL if the caller only waits for the token */
    uint32_t number, epoch, tiles;
    uint32_t next; /* the first tile that has not arrived yet */
    const char *call;
};

/* Returns the state of a read of one token (the data of an eager transfer) from its slot. Ends the
 * job if the host cannot read tokens of the slot. */
static struct reading begin_reading(const shmemx_eager_t *eager, uint32_t slot, void *dest,
                                    uint32_t epoch, const char *call)
{
    char *at = shmemi_eager_place(eager, slot, call);
    if (eager->tile >= SHMEMI_EAGER_PACKET && shmemi_on_gpu(at))
        shmemi_abort(call, "call it in a kernel, or make the slots with SHMEMX_EAGER_NOTIFY",
                     "the host reads no tiles in the memory of a GPU");
    return (struct reading){.eager = eager,
                            .slot = at,
                            .dest = dest,
                            .number = slot,
                            .epoch = epoch,
                            .tiles = shmemi_eager_tiles(eager->nbytes, eager->tile),
                            .call = call};
}

/* Ends the job because the slot has a token of another size or with another number (epoch) than
 * the reader expects: the program has skipped a token, or sent one before the reader had read the
 * one in the slot. */
static SHMEMI_COLD void refuse_token(const struct reading *r, uint32_t seen, uint32_t size,
                                     enum shmemi_eager_found found)
{
    if (found == SHMEMI_EAGER_DIFFERENT)
        shmemi_abort(r->call, "pass the eager of the same shmemx_eager_create on both sides",
                     "the token in slot %" PRIu32 " has %" PRIu32 " bytes, and %" PRIu32
                     " are expected",
                     r->number, size, r->eager->nbytes);
    shmemi_abort(r->call,
                 "raise the epoch of a slot by one for each token, and send a token only after the "
                 "one before was read",
                 "slot %" PRIu32 " is at epoch %" PRIu32 ", and epoch %" PRIu32 " is expected",
                 r->number, seen, r->epoch);
}

/* Copies the packets that have arrived since the last call to dest. A packet is a tile of 8 bytes:
 * 4 of data and the token's number (epoch). Ends the job at a packet of another token than the
 * expected one, unless that is an earlier one. Returns true if the token is complete. */
static bool copy_packets(struct reading *r)
{
    const uint64_t *from = (const uint64_t *)r->slot;
    for (; r->next < r->tiles; r->next++) {
        /* The data of a packet, as many bytes as come before its signal. */
        uint32_t at = r->next * SHMEMI_EAGER_PACKET_SIGNAL, rest = r->eager->nbytes - at, halves[2];
        uint64_t whole = shmemi_read_once(from + r->next);
        memcpy(halves, &whole, sizeof halves);
        enum shmemi_eager_found found = shmemi_eager_check_epoch(halves[1], r->epoch);
        if (found == SHMEMI_EAGER_NOT_YET)
            return false;
        if (found != SHMEMI_EAGER_THERE)
            refuse_token(r, halves[1], 0, found);
        if (r->dest != NULL && SHMEMI_LIKELY(rest >= sizeof halves[0]))
            memcpy(r->dest + at, halves, sizeof halves[0]);
        else if (r->dest != NULL)
            memcpy(r->dest + at, halves, rest);
    }
    return true;
}

/* Copies the data of the next tile to dest if the tile has arrived: its signal has the token's size
 * and number (epoch). Otherwise returns false. With a counter the token has arrived already, so
 * another signal is an error. */
static bool copy_tile(struct reading *r)
{
    const shmemx_eager_t *e = r->eager;
    uint32_t data = shmemi_eager_data(e->nbytes, e->tile), at = r->next * data;
    const uint64_t *word =
        (const uint64_t *)(r->slot + shmemi_eager_signal_at(r->next, e->nbytes, e->tile));
    uint64_t seen =
        shmemi_on_gpu(word) ? shmemi_read_gpu(word, sizeof *word, r->call) : shmemi_observe(word);
    enum shmemi_eager_found found = shmemi_eager_check(seen, e->nbytes, r->epoch);
    if (found == SHMEMI_EAGER_NOT_YET && e->tile != SHMEMI_EAGER_NOTIFY)
        return false;
    if (found != SHMEMI_EAGER_THERE)
        refuse_token(r, (uint32_t)seen, (uint32_t)(seen >> 32), found);
    if (r->dest != NULL)
        shmemi_move(r->dest + at, r->slot + (size_t)r->next * e->tile,
                    e->nbytes - at < data ? e->nbytes - at : data, r->call);
    return true;
}

/* Reports whether the counter of the slot has counted this token: its lower 32 bits are the epoch
 * of the slot's last token. If the value that the host read last is too small, it reads anew what
 * kernels have added. */
static bool is_counted(const struct reading *r)
{
    int counter = shmemi_eager_counter(r->eager, r->number);
    uint32_t seen = (uint32_t)shmemi_notification_known(counter);
    enum shmemi_eager_found found = shmemi_eager_check_epoch(seen, r->epoch);
    if (found != SHMEMI_EAGER_THERE && shmemi_state.notify_stores != NULL) {
        seen = (uint32_t)shmemi_notification_value(counter, r->call);
        found = shmemi_eager_check_epoch(seen, r->epoch);
    }
    if (found == SHMEMI_EAGER_SKIPPED)
        refuse_token(r, seen, 0, found);
    return found == SHMEMI_EAGER_THERE;
}

/* Copies the tiles of a token that have arrived since the last call to the program's memory.
 * Returns true if the token is complete; otherwise the caller tries again. */
static bool copy_tiles(struct reading *r)
{
    if (r->eager->tile == SHMEMI_EAGER_NOTIFY && !is_counted(r))
        return false;
    if (r->eager->tile == SHMEMI_EAGER_PACKET)
        return copy_packets(r);
    for (; r->next < r->tiles; r->next++)
        if (!copy_tile(r))
            return false;
    return true;
}

/* For the hang report: names the token, and counts the tiles that have arrived. */
static void describe_reading(const void *subject, char *text, size_t size)
{
    const struct reading *r = subject;
    snprintf(text, size,
             "for the token of epoch %" PRIu32 " in slot %" PRIu32 ", of which %" PRIu32
             " of %" PRIu32 " tiles are there",
             r->epoch, r->number, r->next, r->tiles);
}

/* Waits until a token is complete in its slot, and meanwhile copies its tiles, which have a signal
 * each, to the program's memory as they arrive. */
static void read_all(struct reading *r)
{
    SHMEMI_WAIT(SHMEMI_ANY_TOKEN, r->call, describe_reading, r, copy_tiles(r));
}

/* Implements shmemx_eager_ready: returns 1 if the token with this number (epoch) is complete in its
 * slot, else 0. It does not wait, but polls the network once. */
int shmemi_eager_ready(const shmemx_eager_t *eager, uint32_t slot, uint32_t epoch, const char *call)
{
    struct reading r = begin_reading(eager, slot, /* dest */ NULL, epoch, call);
    if (copy_tiles(&r))
        return 1;
    if (shmemi_state.networked)
        shmemi_net_poll(call);
    shmemi_fail_test_if_lost(call);
    return copy_tiles(&r);
}

/* Implements shmemx_eager_wait: waits until the token with this number (epoch) is complete in its
 * slot, without copying it. */
void shmemi_eager_wait(const shmemx_eager_t *eager, uint32_t slot, uint32_t epoch, const char *call)
{
    struct reading r = begin_reading(eager, slot, /* dest */ NULL, epoch, call);
    read_all(&r);
}

/* Implements shmemx_eager_recv: waits for the token with this number (epoch) in its slot, and
 * copies its data, without the signals, to dest. Packets are copied by the CPU, so for a dest in
 * GPU memory they go through main memory. */
void shmemi_eager_recv(const shmemx_eager_t *eager, uint32_t slot, void *dest, uint32_t epoch,
                       const char *call)
{
    if (dest == NULL)
        shmemi_abort(call, "pass room for a token", "dest is NULL");
    struct reading r = begin_reading(eager, slot, dest, epoch, call);
    if (SHMEMI_LIKELY(eager->tile != SHMEMI_EAGER_PACKET || shmemi_loads(dest))) {
        read_all(&r);
        return;
    }
    r.dest = shmemi_eager_allocate(eager->nbytes, call);
    read_all(&r);
    shmemi_move(dest, r.dest, eager->nbytes, call);
    free(r.dest);
}
