/*
 * atomics.c: atomic additions to floating-point numbers, by compare and swap of their bits.
 */
#include "own.h"

#include <shmem.h>

#include <string.h>

/* Adds to a float of a PE atomically, and returns the value before. OpenSHMEM has no such
 * operation, so a compare-and-swap is repeated until no other PE has changed the float in between.
 */
float nvshmemi_add_float(float *dest, float value, int pe)
{
    uint32_t *word = (uint32_t *)dest, seen = shmem_uint32_atomic_fetch(word, pe);
    for (;;) {
        float old, sum;
        uint32_t bits, before = seen;
        memcpy(&old, &before, sizeof old);
        sum = old + value;
        memcpy(&bits, &sum, sizeof bits);
        seen = shmem_uint32_atomic_compare_swap(word, before, bits, pe);
        if (seen == before)
            return old;
    }
}

/* Adds to a double of a PE atomically, and returns the value before, by repeated compare-and-swaps
 * as nvshmemi_add_float. */
double nvshmemi_add_double(double *dest, double value, int pe)
{
    uint64_t *word = (uint64_t *)dest, seen = shmem_uint64_atomic_fetch(word, pe);
    for (;;) {
        double old, sum;
        uint64_t bits, before = seen;
        memcpy(&old, &before, sizeof old);
        sum = old + value;
        memcpy(&bits, &sum, sizeof bits);
        seen = shmem_uint64_atomic_compare_swap(word, before, bits, pe);
        if (seen == before)
            return old;
    }
}

/* Adds value to *dest at the PE, and returns the number before the addition. It swaps the word of
 * 32 bits that contains *dest, and does not change the other half of that word. */
struct __half nvshmemi_add_half(struct __half *dest, struct __half value, int pe)
{
    uintptr_t at = (uintptr_t)dest;
    uint32_t *word = (uint32_t *)(at & ~(uintptr_t)3);
    unsigned shift = (at & 2) * 8;
    uint32_t seen = shmem_uint32_atomic_fetch(word, pe);
    for (;;) {
        uint32_t before = seen;
        uint16_t old = (uint16_t)(before >> shift), sum = old;
        nvshmemi_half_sum.combine(&sum, &value.bits, 1);
        uint32_t bits = (before & ~((uint32_t)0xffff << shift)) | (uint32_t)sum << shift;
        seen = shmem_uint32_atomic_compare_swap(word, before, bits, pe);
        if (seen == before)
            return (struct __half){old};
    }
}
