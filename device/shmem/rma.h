/*
 * rma.h: put, get, p and g, over loads and stores or through the ring. The public names of
 * shmem.cuh are one line each and call these functions.
 */
#ifndef SHMEM_RMA_H
#define SHMEM_RMA_H

#include "copy.h"
#include "path.h"

#ifdef SHMEMI_KERNEL

/* Puts an element to a PE whose memory this GPU cannot address: the element travels in the slot of
 * the operation. dest is an offset in the PE's segment. A slot has the logarithm of the bytes. */
SHMEMI_COLD void shmemi_send_element(const struct shmemi_device_image *image, uint64_t dest,
                                     uint64_t bits, uint32_t bytes, int pe)
{
    struct shmemi_words words = bytes == 8
                                    ? shmemi_pack_p_wide((uint32_t)pe, 0 /* context */, dest, bits)
                                    : shmemi_pack_p((uint32_t)pe, 0 /* context */, dest,
                                                    bytes >> 1 /* of 1, 2 or 4 */, (uint32_t)bits);
    shmemi_send(image, pe, &words, bytes == 8 ? SHMEMI_SLOTS_P_WIDE : SHMEMI_SLOTS_P);
}

/*
 * Gets an element from a PE whose memory this GPU cannot address; source is an offset in the PE's
 * segment. Replies carry words of 4 or 8 bytes, so a smaller element arrives within its word. The
 * bits above the element have no meaning.
 */
SHMEMI_COLD uint64_t shmemi_request_element(const struct shmemi_device_image *image,
                                            uint64_t source, uint32_t bytes, int pe)
{
    uint32_t width = bytes == 8 ? 3 : 2; /* logarithm of the word's bytes */
    uint64_t word = bytes < 4 ? source & ~(uint64_t)3 : source;
    struct shmemi_pending_reply q;
    shmemi_open_reply(image, pe, &q);
    q.shift = 8 * (uint32_t)(source - word);
    struct shmemi_words words =
        shmemi_pack_amo_wide((uint32_t)pe, 0 /* context */, word, SHMEMI_KIND_FETCH, width, 0, 0,
                             1 /* want a reply */, q.place);
    return shmemi_request(&q, &words, SHMEMI_SLOTS_AMO_WIDE);
}

/* Stores an element at PE pe: by an instruction if this GPU can address the PE's memory, else
 * through the ring. */
template <class T>
SHMEMI_D void shmemi_p(const struct shmemi_device_image *image, uint32_t call, T *dest, T value,
                       int pe)
{
    typedef typename shmemi_bits<sizeof(T)>::type bits;
    char *at = shmemi_reach(image, call, dest, sizeof(T), pe);
    if (at != NULL)
        shmemi_store_element(at, shmemi_as<bits>(value));
    else
        shmemi_send_element(image, shmemi_offset(image, dest), shmemi_as<bits>(value), sizeof(T),
                            pe);
}

/* Returns an element of PE pe: by an instruction if this GPU can address the PE's memory, else
 * through the ring, and then it waits for the reply. */
template <class T>
SHMEMI_D T shmemi_g(const struct shmemi_device_image *image, uint32_t call, const T *source, int pe)
{
    typename shmemi_bits<sizeof(T)>::type v;
    const char *at = shmemi_reach(image, call, source, sizeof(T), pe);
    if (at != NULL)
        shmemi_load_element(at, &v);
    else
        v = (typename shmemi_bits<sizeof(T)>::type)shmemi_request_element(
            image, shmemi_offset(image, source), sizeof(T), pe);
    return shmemi_as<T>(v);
}

/* The largest number of bytes that travel in slots, so that the proxy need not read them from other
 * memory. */
#define SHMEMI_SLOT_BYTES 16

/* Loads 1 to 16 bytes from any memory that this thread can read, the first in the lowest bits. */
SHMEMI_D shmemi_wide shmemi_gather(const void *source, uint64_t bytes)
{
    const unsigned char *at = (const unsigned char *)source;
    shmemi_wide v = {0, 0};
    if ((((uint64_t)(uintptr_t)source | bytes) & 7) == 0) {
        shmemi_load_weak(at, &v.a);
        if (bytes > 8)
            shmemi_load_weak(at + 8, &v.b);
        return v;
    }
#pragma unroll 1
    for (uint32_t i = 0; i < bytes; i++) {
        uint64_t b = (uint64_t)at[i] << 8 * (i & 7);
        v.a |= i < 8 ? b : 0;
        v.b |= i < 8 ? 0 : b;
    }
    return v;
}

/*
 * A put through the ring. dest and signal_at are offsets in the PE's segment. kind is the operation
 * on the signal (SHMEMI_KIND_SET or SHMEMI_KIND_ADD), with value; 0: there is no signal. The
 * arguments are in memory, since in registers, with those of the functions called below, they would
 * be more than each of 1024 threads has.
 */
struct shmemi_put_call {
    const struct shmemi_device_image *image;
    const char *source;
    uint64_t dest, bytes, signal_at, value;
    uint32_t kind;
    int pe;
};

/*
 * Puts the first `bytes` bytes of a call, 1 to SHMEMI_SLOT_BYTES, from any memory. The thread reads
 * them here, so it waits for no reply, and they need not be visible to others.
 */
SHMEMI_COLD void shmemi_send_bytes(const struct shmemi_put_call *c, uint32_t bytes)
{
    shmemi_wide v = shmemi_gather(c->source, bytes);
    struct shmemi_words words =
        shmemi_pack_p_bytes((uint32_t)c->pe, 0 /* context */, c->dest, bytes, v.a, v.b);
    shmemi_send(c->image, c->pe, &words, SHMEMI_SLOTS_P_BYTES);
}

/*
 * Reports whether the thread reads the bytes of a small put by itself. The library's own kernels do
 * not: a call on a stream may have memory that only the CPU reaches.
 */
#ifndef SHMEMI_READS_SOURCE
#define SHMEMI_READS_SOURCE 1
#endif

/*
 * Returns the calling thread's ring, if a put of these bytes can use a cell, the memory that some
 * rings have beside their slots; else NULL. The bytes must be whole words of 4: one thread copies
 * them, and single bytes would be too slow.
 */
SHMEMI_D const struct shmemi_ring *shmemi_cells_for(const struct shmemi_device_image *image,
                                                    const void *source, uint64_t bytes, int pe)
{
    const struct shmemi_ring *r = shmemi_ring_for(&image->job, (uint32_t)pe);
    return SHMEMI_READS_SOURCE && bytes <= SHMEMI_CELL_BYTES &&
                   (((uint64_t)(uintptr_t)source | bytes) & 3) == 0 && r->cells != NULL
               ? r
               : NULL;
}

/*
 * Copies n words by one thread, four under way at once: more would take too many registers, and so
 * would shmemi_copy_units, with which a kernel's put takes 68 on sm_120.
 */
template <class W> SHMEMI_D void shmemi_fill_words(char *to, const char *from, uint32_t n)
{
    W v[4];
#pragma unroll 1
    for (; n >= 4; n -= 4, to += 4 * sizeof(W), from += 4 * sizeof(W)) {
#pragma unroll
        for (uint32_t k = 0; k < 4; k++)
            shmemi_load_weak(from + k * sizeof(W), &v[k]);
#pragma unroll
        for (uint32_t k = 0; k < 4; k++)
            shmemi_store_weak(to + k * sizeof(W), v[k]);
    }
#pragma unroll 1
    for (; n > 0; n--, to += sizeof(W), from += sizeof(W)) {
        shmemi_load_weak(from, &v[0]);
        shmemi_store_weak(to, v[0]);
    }
}

/* A put whose bytes are in a cell, a ring's memory for bytes beside its slots. */
struct shmemi_cell_put {
    struct shmemi_operation op;
    uint64_t position;
    const char *source;
    uint32_t bytes;
};

/*
 * Reserves a position and its cell for a put, and packs its words. If the ring was stopped, the put
 * has no slots and no bytes, and the steps that follow do nothing. It wants no reply, because the
 * source may be used again once the bytes are in the cell.
 */
SHMEMI_COLD void shmemi_begin_cell(struct shmemi_cell_put *p, const struct shmemi_put_call *c)
{
    int status;
    p->op.ring = shmemi_ring_for(&c->image->job, (uint32_t)c->pe);
    p->source = c->source;
    p->op.slots = c->kind == 0 ? SHMEMI_SLOTS_PUT : SHMEMI_SLOTS_PUT_SIGNAL;
    p->position = shmemi_reserve_cell(p->op.ring, (uint64_t)p->op.slots, &status);
    uint64_t local = (uint64_t)(uintptr_t)shmemi_cell(p->op.ring, p->position);
    if (c->kind == 0)
        p->op.words = shmemi_pack_put((uint32_t)c->pe, 0 /* context */, c->dest, local, c->bytes,
                                      0 /* want */, 0 /* reply */);
    else
        p->op.words =
            shmemi_pack_put_signal((uint32_t)c->pe, 0 /* context */, c->dest, local, c->bytes,
                                   0 /* want */, 0 /* reply */, c->kind, c->value, c->signal_at);
    p->bytes = status == 0 ? (uint32_t)c->bytes : 0;
    if (status != 0)
        p->op.slots = 0;
}

/* Copies the put's bytes into its cell, by the widest words that divide the source and the length:
 * at least 4 bytes (shmemi_cells_for). shmemi_copy would take more registers. */
SHMEMI_COLD void shmemi_fill_cell(const struct shmemi_cell_put *p)
{
    const char *source = p->source;
    char *cell = shmemi_cell(p->op.ring, p->position);
    uint32_t bytes = p->bytes, width = shmemi_alignment((uint64_t)(uintptr_t)source | bytes);
    if (width == 16)
        shmemi_fill_words<shmemi_wide>(cell, source, bytes / 16);
    else if (width == 8)
        shmemi_fill_words<uint64_t>(cell, source, bytes / 8);
    else
        shmemi_fill_words<uint32_t>(cell, source, bytes / 4);
}

/* Makes the bytes in the cell visible to the proxy, and then stores the put's slots, by which the
 * proxy finds it. */
SHMEMI_COLD void shmemi_end_cell(const struct shmemi_cell_put *p)
{
    shmemi_before_slots();
    shmemi_store_some(p->op.ring, p->position, &p->op.words, p->op.slots);
    shmemi_wake_proxy(p->op.ring);
}

/*
 * Puts words from any memory through a cell, with a signal unless kind is 0. This thread copies
 * them to main memory: on an H200 1 KiB takes 2.3 us. A copy engine, with the word that marks the
 * end of its copy, takes 7.5 us.
 */
SHMEMI_COLD void shmemi_send_cell(const struct shmemi_put_call *c)
{
    struct shmemi_cell_put p;
    shmemi_begin_cell(&p, c);
    shmemi_fill_cell(&p);
    shmemi_end_cell(&p);
}

/*
 * Gets bytes into memory that the proxy does not reach. It reaches global memory only: data for a
 * kernel's own variables or for shared memory comes element by element, in the largest unit, up to
 * the 8 bytes of a reply, that divides dest, source (an offset in the PE's segment) and the length.
 */
SHMEMI_COLD void shmemi_get_elements(const struct shmemi_device_image *image, char *dest,
                                     uint64_t source, uint64_t bytes, int pe)
{
    uint32_t unit = shmemi_alignment(source | (uint64_t)(uintptr_t)dest | bytes | 8);
    for (uint64_t i = 0; i < bytes; i += unit) {
        uint64_t v = shmemi_request_element(image, source + i, unit, pe);
#pragma unroll 1
        for (uint32_t k = 0; k < unit; k++)
            dest[i + k] = (char)(v >> 8 * k);
    }
}

/* The form in which a put goes through the ring. */
enum shmemi_put_by {
    SHMEMI_BY_SLOTS, /* the thread reads the bytes into slots, of several operations if need be */
    SHMEMI_BY_CELL,  /* the thread copies the bytes to a cell */
    SHMEMI_BY_RANGE, /* the proxy or the NIC reads the bytes where they are */
};

/* Chooses the form in which a put goes through the ring. Memory that is not global (a kernel's own
 * variables, shared memory) is out of reach for the proxy and the NIC, so this thread reads it. */
SHMEMI_COLD enum shmemi_put_by shmemi_put_method(const struct shmemi_put_call *c)
{
    if (c->bytes > SHMEMI_SLOT_BYTES &&
        shmemi_cells_for(c->image, c->source, c->bytes, c->pe) != NULL)
        return SHMEMI_BY_CELL;
    if (!__isGlobal(c->source) || (SHMEMI_READS_SOURCE && c->bytes <= SHMEMI_SLOT_BYTES))
        return SHMEMI_BY_SLOTS;
    return SHMEMI_BY_RANGE;
}

/* Pushes the bytes of a put that goes by slots, all but those of its last operation: *c is then
 * that operation, with 1 to SHMEMI_SLOT_BYTES bytes. */
SHMEMI_D void shmemi_send_pieces(struct shmemi_put_call *c)
{
#pragma unroll 1
    for (; c->bytes > SHMEMI_SLOT_BYTES; c->bytes -= SHMEMI_SLOT_BYTES) {
        shmemi_send_bytes(c, SHMEMI_SLOT_BYTES);
        c->dest += SHMEMI_SLOT_BYTES;
        c->source += SHMEMI_SLOT_BYTES;
    }
}

/*
 * Chooses the ring, and with WAIT a reply place, for a put whose bytes the proxy or the NIC reads
 * in place. The caller then packs the put, and shmemi_end_range pushes it. WAIT: shmemi_end_range
 * waits until the source may be used again. Without WAIT the slot's reply place is not read, and is
 * 0.
 */
template <int WAIT>
SHMEMI_D void shmemi_begin_range(const struct shmemi_put_call *c, struct shmemi_pending_reply *q)
{
    q->op.ring = shmemi_ring_for(&c->image->job, (uint32_t)c->pe);
    q->place = 0;
    if (WAIT)
        shmemi_open_reply(c->image, c->pe, q);
    shmemi_before_slots();
}

/* Pushes the put that the caller has packed after shmemi_begin_range. WAIT: waits until its source
 * may be used again; the reply to a put has no value. */
template <int WAIT> SHMEMI_D void shmemi_end_range(struct shmemi_pending_reply *q)
{
    shmemi_submit(&q->op);
    if (WAIT)
        (void)shmemi_await_reply(q);
}

/*
 * Pushes a put whose bytes the proxy or the NIC reads in place. WAIT: waits until its source may be
 * used again.
 */
template <int WAIT> SHMEMI_COLD void shmemi_send_range(const struct shmemi_put_call *c)
{
    struct shmemi_pending_reply q;
    shmemi_begin_range<WAIT>(c, &q);
    q.op.slots = SHMEMI_SLOTS_PUT;
    q.op.words = shmemi_pack_put((uint32_t)c->pe, 0 /* context */, c->dest,
                                 (uint64_t)(uintptr_t)c->source, c->bytes, WAIT, q.place);
    shmemi_end_range<WAIT>(&q);
}

/*
 * Pushes a put, in the form that shmemi_put_method chooses. NBI: does not wait until the source may
 * be used again. If the proxy or the NIC reads the bytes later, a fence precedes the slots: it
 * makes the writes of this thread, and of the threads with which it has synchronised, visible to
 * them. Inlined, since a function would take registers on top of those of the functions that it
 * calls.
 */
template <int NBI> SHMEMI_D void shmemi_send_put(struct shmemi_put_call *c)
{
    if (c->bytes == 0)
        return;
    switch (shmemi_put_method(c)) {
    case SHMEMI_BY_SLOTS:
        shmemi_send_pieces(c);
        shmemi_send_bytes(c, (uint32_t)c->bytes);
        break;
    case SHMEMI_BY_CELL:
        shmemi_send_cell(c);
        break;
    default:
        shmemi_send_range<!NBI>(c);
    }
}

/* Pushes a blocking put from the heap that is one write of the network, however small it is: tokens
 * rely on the order of the bytes in one write. */
SHMEMI_D void shmemi_put_range(const struct shmemi_device_image *image, const void *dest,
                               const void *source, uint64_t bytes, int pe)
{
    struct shmemi_put_call c = {
        image, (const char *)source, shmemi_offset(image, dest), bytes, 0, 0, 0 /* no signal */,
        pe};
    shmemi_send_range<1 /* WAIT */>(&c);
}

/* Puts bytes through the ring, by the calling thread alone. NBI: does not wait until the source may
 * be used again. */
template <int NBI>
SHMEMI_D void shmemi_put_ring(const struct shmemi_device_image *image, const void *dest,
                              const void *source, uint64_t bytes, int pe)
{
    struct shmemi_put_call c = {
        image, (const char *)source, shmemi_offset(image, dest), bytes, 0, 0, 0 /* no signal */,
        pe};
    shmemi_send_put<NBI>(&c);
}

/*
 * Pushes a get into global memory; source is an offset in the PE's segment. WAIT: waits until the
 * data has arrived; the reply to a get has no value. Without WAIT the reply place is not read. The
 * fence ensures that earlier writes to dest do not arrive later than the get's data.
 */
template <int WAIT>
SHMEMI_COLD void shmemi_get_range(const struct shmemi_device_image *image, void *dest,
                                  uint64_t source, uint64_t bytes, int pe)
{
    struct shmemi_pending_reply q;
    q.op.ring = shmemi_ring_for(&image->job, (uint32_t)pe);
    q.place = 0;
    if (WAIT)
        shmemi_open_reply(image, pe, &q);
    shmemi_before_slots();
    q.op.slots = SHMEMI_SLOTS_GET;
    q.op.words = shmemi_pack_get((uint32_t)pe, 0 /* context */, source, (uint64_t)(uintptr_t)dest,
                                 bytes, WAIT, q.place);
    shmemi_submit(&q.op);
    if (WAIT)
        (void)shmemi_await_reply(&q);
}

/* Gets bytes through the ring, by the calling thread alone; source is an offset in the PE's
 * segment. NBI: does not wait for the data, if dest is global memory. */
template <int NBI>
SHMEMI_D void shmemi_send_get(const struct shmemi_device_image *image, void *dest, uint64_t source,
                              uint64_t bytes, int pe)
{
    if (bytes == 0)
        return;
    if (!__isGlobal(dest))
        shmemi_get_elements(image, (char *)dest, source, bytes, pe);
    else
        shmemi_get_range<!NBI>(image, dest, source, bytes, pe);
}

/*
 * Puts bytes by the threads of a scope. Through the ring one thread pushes all of it, after all
 * threads of the scope have arrived: any of them may have written the source. NBI only counts
 * there: stores have read their source anyway. A thread without bytes to copy (idle) only
 * synchronises; none is idle if there is a ring, so that all threads synchronise equally often.
 */
template <class SCOPE, int NBI>
SHMEMI_D void shmemi_put(const struct shmemi_device_image *image, uint32_t call, void *dest,
                         const void *source, uint64_t bytes, int pe)
{
    if (!shmemi_idle<SCOPE>(image, dest, source, bytes)) {
        char *to;
        if (!shmemi_plain(image, dest, pe, &to)) {
            to = shmemi_reach_slowly(image, call, dest, bytes, pe);
            if (to == NULL) {
                SCOPE::sync();
                if (SCOPE::rank() == 0)
                    shmemi_put_ring<NBI>(image, dest, source, bytes, pe);
                SCOPE::sync();
                return;
            }
        }
        shmemi_copy<SCOPE, 0 /* FAR */>(to, source, bytes);
    }
    SCOPE::sync();
}

/* Gets bytes by the threads of a scope: by loads if this GPU can address the PE's memory. Through
 * the ring one thread pushes all of it. NBI and idle threads: as in shmemi_put. */
template <class SCOPE, int NBI>
SHMEMI_D void shmemi_get(const struct shmemi_device_image *image, uint32_t call, void *dest,
                         const void *source, uint64_t bytes, int pe)
{
    if (!shmemi_idle<SCOPE>(image, dest, source, bytes)) {
        char *from;
        if (!shmemi_plain(image, source, pe, &from)) {
            from = shmemi_reach_slowly(image, call, source, bytes, pe);
            if (from == NULL) {
                SCOPE::sync();
                if (SCOPE::rank() == 0)
                    shmemi_send_get<NBI>(image, dest, shmemi_offset(image, source), bytes, pe);
                SCOPE::sync();
                return;
            }
        }
        shmemi_copy<SCOPE, 1 /* FAR */>(dest, from, bytes);
    }
    SCOPE::sync();
}

#endif

#endif
