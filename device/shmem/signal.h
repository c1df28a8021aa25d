/*
 * signal.h: signals: a word at another PE that is set or added to, alone or
 * after data.
 */
#ifndef SHMEM_SIGNAL_H
#define SHMEM_SIGNAL_H

#include "atomic.h"
#include "order.h"
#include "zz_words.h"

#ifdef SHMEMI_KERNEL

/* Stops the kernel unless the operation on a signal is set or add. */
SHMEMI_D void shmemi_check_signal_op(const struct shmemi_device_image *image, uint32_t call,
                                     const void *signal, int op, int pe)
{
    if (op != SHMEMI_SIGNAL_SET && op != SHMEMI_SIGNAL_ADD)
        shmemi_fault(image, SHMEMI_FAULT_SIGNAL_OP, call, pe, (uint64_t)(uintptr_t)signal,
                     (uint64_t)op);
}

/* Returns the kind of atomic operation in a ring (SHMEMI_KIND_...) that sets a signal or adds to
 * it. */
SHMEMI_D uint32_t shmemi_signal_kind(int op)
{
    return op == SHMEMI_SIGNAL_SET ? SHMEMI_KIND_SET : SHMEMI_KIND_ADD;
}

/* Sets a signal that this GPU can address, or adds to it, after all earlier writes of the thread.
 */
SHMEMI_D void shmemi_signal_at(void *at, uint64_t value, int op)
{
    if (op == SHMEMI_SIGNAL_SET)
        shmemi_store_signal(at, value);
    else
        shmemi_add_signal(at, value);
}

/* Sets a signal of a PE whose memory this GPU cannot address, or adds to it, through the ring. */
SHMEMI_D void shmemi_signal_ring(const struct shmemi_device_image *image, const void *signal,
                                 uint64_t value, int op, int pe)
{
    shmemi_send_atom(image, shmemi_signal_kind(op), shmemi_offset(image, signal), 8 /* bytes */,
                     value, pe);
}

/* Sets a signal of PE pe, or adds to it, without data. It has no order with earlier operations:
 * where that matters, a fence precedes it. */
SHMEMI_D void shmemi_signal(const struct shmemi_device_image *image, uint32_t call,
                            uint64_t *signal, uint64_t value, int op, int pe)
{
    char *at = shmemi_reach(image, call, signal, 8 /* bytes */, pe);
    shmemi_check_signal_op(image, call, signal, op, pe);
    if (at == NULL)
        shmemi_signal_ring(image, signal, value, op, pe);
    else if (op == SHMEMI_SIGNAL_SET)
        shmemi_store_element(at, value);
    else
        shmemi_add_at(at, value);
}

/* Pushes a put of 1 to SHMEMI_SLOT_BYTES with its signal; the bytes travel in the slots. */
SHMEMI_COLD void shmemi_send_bytes_signal(const struct shmemi_put_call *c)
{
    shmemi_wide v = shmemi_gather(c->source, c->bytes);
    struct shmemi_words words =
        shmemi_pack_p_signal((uint32_t)c->pe, 0 /* context */, c->dest, (uint32_t)c->bytes, v.a,
                             v.b, c->kind, c->value, c->signal_at);
    shmemi_send(c->image, c->pe, &words, SHMEMI_SLOTS_P_SIGNAL);
}

/* Pushes a put with a signal whose bytes the proxy or the NIC reads in place. WAIT: waits until its
 * source may be used again. */
template <int WAIT> SHMEMI_COLD void shmemi_send_range_signal(const struct shmemi_put_call *c)
{
    struct shmemi_pending_reply q;
    shmemi_begin_range<WAIT>(c, &q);
    q.op.slots = SHMEMI_SLOTS_PUT_SIGNAL;
    q.op.words = shmemi_pack_put_signal((uint32_t)c->pe, 0 /* context */, c->dest,
                                        (uint64_t)(uintptr_t)c->source, c->bytes, WAIT, q.place,
                                        c->kind, c->value, c->signal_at);
    shmemi_end_range<WAIT>(&q);
}

/*
 * Pushes a put with a signal, of 1 byte or more. A put in slots may be several operations; without
 * the fence its pieces would have no order with the signal. It changes *c. NBI: it does not wait
 * until the source may be used again.
 */
template <int NBI> SHMEMI_D void shmemi_send_put_signal(struct shmemi_put_call *c)
{
    switch (shmemi_put_method(c)) {
    case SHMEMI_BY_SLOTS:
        if (c->bytes > SHMEMI_SLOT_BYTES) {
            shmemi_send_pieces(c);
            shmemi_fence_rings(c->image);
        }
        shmemi_send_bytes_signal(c);
        break;
    case SHMEMI_BY_CELL:
        shmemi_send_cell(c);
        break;
    default:
        shmemi_send_range_signal<!NBI>(c);
    }
}

/*
 * Does a put with a signal through the ring, by the calling thread alone. NBI: it does not wait
 * until its source may be used again. Without bytes only the signal is sent.
 */
template <int NBI>
SHMEMI_D void shmemi_put_signal_ring(const struct shmemi_device_image *image, const void *dest,
                                     const void *source, uint64_t bytes, const uint64_t *signal,
                                     uint64_t value, int op, int pe)
{
    if (bytes == 0) {
        shmemi_signal_ring(image, signal, value, op, pe);
        return;
    }
    struct shmemi_put_call c = {image,
                                (const char *)source,
                                shmemi_offset(image, dest),
                                bytes,
                                shmemi_offset(image, signal),
                                value,
                                shmemi_signal_kind(op),
                                pe};
    shmemi_send_put_signal<NBI>(&c);
}

/*
 * Does a put with a signal by the threads of a scope. They synchronise after their stores. Then the
 * first thread sends the signal with a release, so that the stores of all threads are visible
 * before it. A thread without bytes to copy (idle) only synchronises. The first thread is never
 * idle, and none is if there is a ring, so that all threads synchronise equally often.
 */
template <class SCOPE, int NBI>
SHMEMI_D void shmemi_put_signal(const struct shmemi_device_image *image, uint32_t call, void *dest,
                                const void *source, uint64_t bytes, uint64_t *signal,
                                uint64_t value, int op, int pe)
{
    int idle = shmemi_idle<SCOPE>(image, dest, source, bytes);
    char *to = NULL;
    if (!idle) {
        to = shmemi_reach(image, call, dest, bytes, pe);
        shmemi_check_range(image, call, pe, signal, 8 /* bytes */);
        shmemi_check_signal_op(image, call, signal, op, pe);
    }
    if (idle || to != NULL) {
        if (!idle)
            shmemi_copy<SCOPE, 0 /* FAR */>(to, source, bytes);
        SCOPE::sync();
        /* The target's signal has the same distance from the caller's as its data from dest. */
        if (SCOPE::rank() == 0)
            shmemi_signal_at((char *)signal + (to - (char *)dest), value, op);
    } else {
        SCOPE::sync();
        if (SCOPE::rank() == 0)
            shmemi_put_signal_ring<NBI>(image, dest, source, bytes, signal, value, op, pe);
        SCOPE::sync();
    }
}

/* Returns the value of a signal of this PE; data that was sent before the signal is then visible.
 * The check of the PE stops a kernel that has no job. */
SHMEMI_D uint64_t shmemi_signal_fetch(const struct shmemi_device_image *image, uint32_t call,
                                      const uint64_t *signal)
{
    uint64_t v;
    shmemi_check_pe(image, call, image->job.me, signal, 8 /* bytes */);
    shmemi_check_range(image, call, image->job.me, signal, 8 /* bytes */);
    shmemi_load_flag(signal, &v);
    return v;
}

#endif

#endif
