/*
 * rma.h: put, get, p and g, by both routes. The names of shmem.cuh are one line
 * each over these.
 */
#ifndef SHMEM_RMA_H
#define SHMEM_RMA_H

#include "copy.h"
#include "route.h"

#ifdef SHMEMI_KERNEL

/* An element to a PE that has no address here: it rides in the slot. */
SHMEMI_COLD void shmemi_send_element(const struct shmemi_device_image *image, uint64_t dest,
                                     uint64_t bits, uint32_t bytes, int pe)
{
    if (bytes == 8) {
        struct shmemi_words words = shmemi_pack_p_wide((uint32_t)pe, 0, dest, bits);
        shmemi_send(image, pe, &words, SHMEMI_SLOTS_P_WIDE);
    } else {
        struct shmemi_words words =
            shmemi_pack_p((uint32_t)pe, 0, dest, bytes >> 1, (uint32_t)bits);
        shmemi_send(image, pe, &words, SHMEMI_SLOTS_P);
    }
}

/*
 * An element of a PE that has no address here. Answers carry words of 4 or 8
 * bytes, so a smaller element comes within its word.
 */
SHMEMI_COLD uint64_t shmemi_ask_element(const struct shmemi_device_image *image, uint64_t source,
                                        uint32_t bytes, int pe)
{
    uint32_t width = bytes == 8 ? 3 : 2;
    uint64_t word = bytes < 4 ? source & ~(uint64_t)3 : source;
    struct shmemi_answer answer = shmemi_expect(image, pe);
    struct shmemi_words words = shmemi_pack_amo_wide((uint32_t)pe, 0, word, SHMEMI_KIND_FETCH,
                                                     width, 0, 0, 1, answer.place);
    return shmemi_ask(&answer, &words, SHMEMI_SLOTS_AMO_WIDE) >> 8 * (source - word);
}

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

template <class T>
SHMEMI_D T shmemi_g(const struct shmemi_device_image *image, uint32_t call, const T *source, int pe)
{
    typename shmemi_bits<sizeof(T)>::type v;
    const char *at = shmemi_reach(image, call, source, sizeof(T), pe);
    if (at != NULL)
        shmemi_load_element(at, &v);
    else
        v = (typename shmemi_bits<sizeof(T)>::type)shmemi_ask_element(
            image, shmemi_offset(image, source), sizeof(T), pe);
    return shmemi_as<T>(v);
}

/* The most bytes that travel in slots, where the proxy need not look for them. */
#define SHMEMI_SLOT_BYTES 16

/* So many bytes of any memory that this thread can read, the first in the lowest bits. */
SHMEMI_D shmemi_wide shmemi_gather(const void *source, uint64_t bytes)
{
    const unsigned char *at = (const unsigned char *)source;
    shmemi_wide v = {0, 0};
    if ((((uint64_t)(uintptr_t)source | bytes) & 7) == 0) {
        shmemi_move<uint64_t>::load(at, &v.a);
        if (bytes > 8)
            shmemi_move<uint64_t>::load(at + 8, &v.b);
        return v;
    }
    for (uint32_t i = 0; i < bytes; i++) {
        uint64_t b = (uint64_t)at[i] << 8 * (i & 7);
        v.a |= i < 8 ? b : 0;
        v.b |= i < 8 ? 0 : b;
    }
    return v;
}

/*
 * Puts what lies anywhere, by as many operations as it takes. The bytes are read
 * here, so nobody waits for an answer, and nothing has to be visible to others.
 */
SHMEMI_COLD void shmemi_send_bytes(const struct shmemi_device_image *image, uint64_t dest,
                                   const char *source, uint64_t bytes, int pe)
{
    for (uint64_t i = 0; i < bytes; i += SHMEMI_SLOT_BYTES) {
        uint64_t n = bytes - i < SHMEMI_SLOT_BYTES ? bytes - i : SHMEMI_SLOT_BYTES;
        shmemi_wide v = shmemi_gather(source + i, n);
        struct shmemi_words words =
            shmemi_pack_p_bytes((uint32_t)pe, 0, dest + i, (uint32_t)n, v.a, v.b);
        shmemi_send(image, pe, &words, SHMEMI_SLOTS_P_BYTES);
    }
}

/*
 * The proxy reaches global memory only. What is to come into a kernel's own
 * variables or into shared memory comes element by element, in the largest unit
 * that divides both addresses and the length.
 */
SHMEMI_COLD void shmemi_get_elements(const struct shmemi_device_image *image, char *dest,
                                     uint64_t source, uint64_t bytes, int pe)
{
    uint32_t unit = shmemi_alignment(source | (uint64_t)(uintptr_t)dest | bytes | 8);
    for (uint64_t i = 0; i < bytes; i += unit) {
        uint64_t v = shmemi_ask_element(image, source + i, unit, pe);
        for (uint32_t k = 0; k < unit; k++)
            dest[i + k] = (char)(v >> 8 * k);
    }
}

/*
 * Hands a put over. The fence makes what this thread wrote, and what those wrote
 * whom it met, visible to the proxy and the NIC.
 */
SHMEMI_COLD void shmemi_send_put(const struct shmemi_device_image *image, uint64_t dest,
                                 const void *source, uint64_t bytes, int pe, int nbi)
{
    uint64_t local = (uint64_t)(uintptr_t)source;
    if (bytes == 0)
        return;
    if (bytes <= SHMEMI_SLOT_BYTES || !__isGlobal(source)) {
        shmemi_send_bytes(image, dest, (const char *)source, bytes, pe);
    } else if (nbi) {
        shmemi_before_slots();
        struct shmemi_words words = shmemi_pack_put((uint32_t)pe, 0, dest, local, bytes, 0, 0);
        shmemi_send(image, pe, &words, SHMEMI_SLOTS_PUT);
    } else {
        struct shmemi_answer answer = shmemi_expect(image, pe);
        shmemi_before_slots();
        struct shmemi_words words =
            shmemi_pack_put((uint32_t)pe, 0, dest, local, bytes, 1, answer.place);
        shmemi_ask(&answer, &words, SHMEMI_SLOTS_PUT);
    }
}

/* The fence: what was written to dest before must not arrive there later. */
SHMEMI_COLD void shmemi_send_get(const struct shmemi_device_image *image, void *dest,
                                 uint64_t source, uint64_t bytes, int pe, int nbi)
{
    uint64_t local = (uint64_t)(uintptr_t)dest;
    if (bytes == 0)
        return;
    if (!__isGlobal(dest)) {
        shmemi_get_elements(image, (char *)dest, source, bytes, pe);
    } else if (nbi) {
        shmemi_before_slots();
        struct shmemi_words words = shmemi_pack_get((uint32_t)pe, 0, source, local, bytes, 0, 0);
        shmemi_send(image, pe, &words, SHMEMI_SLOTS_GET);
    } else {
        struct shmemi_answer answer = shmemi_expect(image, pe);
        shmemi_before_slots();
        struct shmemi_words words =
            shmemi_pack_get((uint32_t)pe, 0, source, local, bytes, 1, answer.place);
        shmemi_ask(&answer, &words, SHMEMI_SLOTS_GET);
    }
}

/*
 * Over the ring one thread hands the whole over, after all threads of the scope
 * have come: any of them may have written the source.
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
                SCOPE::meet();
                if (SCOPE::rank() == 0)
                    shmemi_send_put(image, shmemi_offset(image, dest), source, bytes, pe, NBI);
                SCOPE::meet();
                return;
            }
        }
        shmemi_copy<SCOPE, 0>(to, source, bytes);
    }
    SCOPE::meet();
}

template <class SCOPE, int NBI>
SHMEMI_D void shmemi_get(const struct shmemi_device_image *image, uint32_t call, void *dest,
                         const void *source, uint64_t bytes, int pe)
{
    if (!shmemi_idle<SCOPE>(image, dest, source, bytes)) {
        char *from;
        if (!shmemi_plain(image, source, pe, &from)) {
            from = shmemi_reach_slowly(image, call, source, bytes, pe);
            if (from == NULL) {
                SCOPE::meet();
                if (SCOPE::rank() == 0)
                    shmemi_send_get(image, dest, shmemi_offset(image, source), bytes, pe, NBI);
                SCOPE::meet();
                return;
            }
        }
        shmemi_copy<SCOPE, 1>(dest, from, bytes);
    }
    SCOPE::meet();
}

#endif

#endif
