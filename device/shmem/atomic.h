/*
 * atomic.h: atomic operations on another PE's memory: by an instruction if this GPU can address
 * that memory, else through the ring, the queue by which kernels pass operations to the PE's proxy
 * on the host. `at` is an address in functions that apply an instruction, and in those that use the
 * ring a byte offset in the segment (the symmetric memory) of PE pe.
 *
 * KIND is one of SHMEMI_KIND_... and known when the call is compiled. The kinds from
 * SHMEMI_KIND_SWAP on have a result.
 */
#ifndef SHMEM_ATOMIC_H
#define SHMEM_ATOMIC_H

#include "atoms.h"
#include "operators.h"
#include "rma.h"

#ifdef SHMEMI_KERNEL

/*
 * Applies the atomic instruction of a kind at an address that this GPU reaches. T is uint32_t or
 * uint64_t. Returns the value before, or 0 if the kind has no result.
 */
template <int KIND, class T> SHMEMI_D T shmemi_atom(void *at, T v, T cond)
{
    T old = 0;
    switch (KIND) {
    case SHMEMI_KIND_SET:
        shmemi_store_element(at, v);
        break;
    case SHMEMI_KIND_ADD:
        shmemi_add_at(at, v);
        break;
    case SHMEMI_KIND_AND:
        shmemi_and_at(at, v);
        break;
    case SHMEMI_KIND_OR:
        shmemi_or_at(at, v);
        break;
    case SHMEMI_KIND_XOR:
        shmemi_xor_at(at, v);
        break;
    case SHMEMI_KIND_SWAP:
        old = shmemi_swap_at(at, v);
        break;
    case SHMEMI_KIND_CSWAP:
        old = shmemi_cswap_at(at, cond, v);
        break;
    case SHMEMI_KIND_FETCH:
        shmemi_load_element(at, &old);
        break;
    case SHMEMI_KIND_FETCH_ADD:
        old = shmemi_fetch_add_at(at, v);
        break;
    case SHMEMI_KIND_FETCH_AND:
        old = shmemi_fetch_and_at(at, v);
        break;
    case SHMEMI_KIND_FETCH_OR:
        old = shmemi_fetch_or_at(at, v);
        break;
    case SHMEMI_KIND_FETCH_XOR:
        old = shmemi_fetch_xor_at(at, v);
        break;
    }
    return old;
}

/*
 * Pushes an atomic operation with a result, on 4 or 8 bytes, and waits for the proxy's reply in the
 * reply place that q has claimed. A slot holds the width as its binary logarithm: 2 or 3. Context 0
 * is the default one.
 */
SHMEMI_COLD uint64_t shmemi_request_packed(struct shmemi_pending_reply *q, uint32_t kind,
                                           uint64_t at, uint32_t bytes, uint64_t v, uint64_t cond,
                                           int pe)
{
    struct shmemi_words words =
        shmemi_pack_amo_wide((uint32_t)pe, 0 /* context */, at, kind, bytes == 8 ? 3 : 2, v, cond,
                             1 /* want a reply */, q->place);
    return shmemi_request(q, &words, SHMEMI_SLOTS_AMO_WIDE);
}

/* Carries out an atomic operation with a result on a PE whose memory this GPU cannot address,
 * through the ring: on 4 or 8 bytes at an offset in its segment. */
SHMEMI_D uint64_t shmemi_request_atom(const struct shmemi_device_image *image, uint32_t kind,
                                      uint64_t at, uint32_t bytes, uint64_t v, uint64_t cond,
                                      int pe)
{
    struct shmemi_pending_reply q;
    shmemi_open_reply(image, pe, &q);
    return shmemi_request_packed(&q, kind, at, bytes, v, cond, pe);
}

/*
 * Pushes an atomic operation without a result, for which the thread does not wait. It takes one
 * slot if the operand fits into 32 bits, from which the proxy extends its sign, else two.
 */
SHMEMI_COLD void shmemi_send_atom(const struct shmemi_device_image *image, uint32_t kind,
                                  uint64_t at, uint32_t bytes, uint64_t v, int pe)
{
    uint32_t width = bytes == 8 ? 3 : 2; /* its logarithm */
    int narrow = bytes == 4 || (uint64_t)(int64_t)(int32_t)v == v;
    struct shmemi_words words =
        narrow ? shmemi_pack_amo((uint32_t)pe, 0 /* context */, at, kind, width, (uint32_t)v)
               : shmemi_pack_amo_wide((uint32_t)pe, 0 /* context */, at, kind, width, v,
                                      0 /* comparand */, 0 /* want */, 0 /* reply */);
    shmemi_send(image, pe, &words, narrow ? SHMEMI_SLOTS_AMO : SHMEMI_SLOTS_AMO_WIDE);
}

/*
 * Carries out an atomic operation on a PE whose memory this GPU cannot address, through the ring.
 * Returns the value before, or 0 if the kind has no result; then the thread does not wait.
 */
template <int KIND>
SHMEMI_D uint64_t shmemi_atom_ring(const struct shmemi_device_image *image, uint64_t at,
                                   uint32_t bytes, uint64_t v, uint64_t cond, int pe)
{
    if (KIND >= SHMEMI_KIND_SWAP)
        return shmemi_request_atom(image, KIND, at, bytes, v, cond, pe);
    shmemi_send_atom(image, KIND, at, bytes, v, pe);
    return 0;
}

/*
 * Carries out an atomic operation of any kind on PE pe, by an instruction if this GPU can address
 * the PE's memory, else through the ring. T is any type of 4 or 8 bytes whose bits the kind works
 * on.
 */
template <int KIND, class T>
SHMEMI_D T shmemi_amo(const struct shmemi_device_image *image, uint32_t call, const T *object,
                      T value, T cond, int pe)
{
    typedef typename shmemi_bits<sizeof(T)>::type bits;
    bits v = shmemi_as<bits>(value), c = shmemi_as<bits>(cond), old;
    char *at = shmemi_reach(image, call, object, sizeof(T), pe);
    if (at != NULL)
        old = shmemi_atom<KIND, bits>(at, v, c);
    else
        old =
            (bits)shmemi_atom_ring<KIND>(image, shmemi_offset(image, object), sizeof(T), v, c, pe);
    return shmemi_as<T>(old);
}

/*
 * The update of a 16-bit exchange for shmemi_update_half: the new value, whatever the old one
 * is. The ring has no 16-bit exchange.
 */
struct shmemi_then_set {
    template <class T> SHMEMI_D T apply(T, T v)
    {
        return v;
    }
};

/*
 * Updates a word of a PE whose memory this GPU cannot address by THEN, such as an addition of
 * floats, for which the ring has no operation. It repeats a compare-and-swap through the ring until
 * no other thread has changed the word in between. Returns the value before.
 */
template <class THEN, class T>
SHMEMI_D T shmemi_update_ring(const struct shmemi_device_image *image, uint64_t at, T value, int pe)
{
    typedef typename shmemi_bits<sizeof(T)>::type bits;
    bits old = (bits)shmemi_request_element(image, at, sizeof(T), pe);
    for (;;) {
        bits next = shmemi_as<bits>(THEN::template apply<T>(shmemi_as<T>(old), value));
        bits seen =
            (bits)shmemi_request_atom(image, SHMEMI_KIND_CSWAP, at, sizeof(T), next, old, pe);
        if (seen == old)
            return shmemi_as<T>(old);
        old = seen;
    }
}

/* Adds to a float or double of PE pe atomically, and returns the value before. */
template <class T>
SHMEMI_D T shmemi_fetch_add_real(const struct shmemi_device_image *image, uint32_t call, T *object,
                                 T value, int pe)
{
    char *at = shmemi_reach(image, call, object, sizeof(T), pe);
    if (at != NULL)
        return shmemi_fetch_add_at(at, value);
    return shmemi_update_ring<shmemi_sum, T>(image, shmemi_offset(image, object), value, pe);
}

/* Adds to a float or double of PE pe atomically, without a result. */
template <class T>
SHMEMI_D void shmemi_add_real(const struct shmemi_device_image *image, uint32_t call, T *object,
                              T value, int pe)
{
    char *at = shmemi_reach(image, call, object, sizeof(T), pe);
    if (at != NULL)
        shmemi_add_at(at, value);
    else
        (void)shmemi_update_ring<shmemi_sum, T>(image, shmemi_offset(image, object), value, pe);
}

/*
 * Updates a 16-bit value of another PE through the ring by THEN, and returns the value before.
 * Operations in rings work on words of 4 bytes: the half changes within its word, and its neighbour
 * is written back unchanged. `at` is the half's offset, a multiple of 2.
 */
template <class THEN, class H>
SHMEMI_D H shmemi_update_half(const struct shmemi_device_image *image, uint64_t at, H value, int pe)
{
    uint64_t word = at & ~(uint64_t)3;
    uint32_t shift = 8 * (uint32_t)(at - word), mask = 0xffffu << shift;
    uint32_t old = (uint32_t)shmemi_request_element(image, word, 4 /* bytes */, pe);
    for (;;) {
        H had = shmemi_as<H>((uint16_t)(old >> shift));
        uint16_t next = shmemi_as<uint16_t>(THEN::template apply<H>(had, value));
        uint32_t changed = (old & ~mask) | (uint32_t)next << shift;
        uint32_t seen = (uint32_t)shmemi_request_atom(image, SHMEMI_KIND_CSWAP, word, 4 /* bytes */,
                                                      changed, old, pe);
        if (seen == old)
            return had;
        old = seen;
    }
}

/* Adds to a 16-bit floating-point number of PE pe atomically, and returns the value before. */
template <class H>
SHMEMI_D H shmemi_fetch_add_half(const struct shmemi_device_image *image, uint32_t call, H *object,
                                 H value, int pe)
{
    char *at = shmemi_reach(image, call, object, sizeof(H), pe);
    if (at != NULL)
        return shmemi_as<H>(shmemi_fetch_add_half_at(at, shmemi_as<uint16_t>(value)));
    return shmemi_update_half<shmemi_late_sum, H>(image, shmemi_offset(image, object), value, pe);
}

/* Exchanges 16 bits of PE pe atomically, and returns the value before. The GPU has only a
 * compare-and-swap for 16 bits, so it is repeated until no other thread has changed the value in
 * between. */
template <class H>
SHMEMI_D H shmemi_swap_half(const struct shmemi_device_image *image, uint32_t call, H *object,
                            H value, int pe)
{
    char *at = shmemi_reach(image, call, object, sizeof(H), pe);
    if (at == NULL)
        return shmemi_update_half<shmemi_then_set, H>(image, shmemi_offset(image, object), value,
                                                      pe);
    uint16_t old, seen;
    shmemi_load_element(at, &seen);
    do {
        old = seen;
        seen = shmemi_cswap_at(at, old, shmemi_as<uint16_t>(value));
    } while (seen != old);
    return shmemi_as<H>(old);
}

/* Sets 16 bits of PE pe atomically. Through the ring, which has only words, its neighbour is
 * written back unchanged. */
template <class H>
SHMEMI_D void shmemi_set_half(const struct shmemi_device_image *image, uint32_t call, H *object,
                              H value, int pe)
{
    char *at = shmemi_reach(image, call, object, sizeof(H), pe);
    if (at != NULL)
        shmemi_store_element(at, shmemi_as<uint16_t>(value));
    else
        (void)shmemi_update_half<shmemi_then_set, H>(image, shmemi_offset(image, object), value,
                                                     pe);
}

#endif

#endif
