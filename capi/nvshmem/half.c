/*
 * half.c: reductions of half and bfloat16 elements, whose arithmetic is done in float.
 */
#include "own.h"

#include <string.h>

/* Returns the bits of a float. */
static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Returns the float that has these bits (IEEE 754 binary32). */
static float of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Returns a bfloat16 as a float, of which it is the upper half. */
static float of_bfloat16(uint16_t b)
{
    return of_bits((uint32_t)b << 16);
}

/* Rounds to the nearest bfloat16, and halfway between two to the even one. */
static uint16_t to_bfloat16(float x)
{
    uint32_t bits = bits_of(x);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40); /* not a number, and quiet */
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Returns a 16-bit half (IEEE 754 binary16) as a float, which can represent every half exactly. */
static float of_half(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
    if (rest >= 0x7c00) /* infinite, or not a number */
        return of_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest >= 0x400) /* normal: the biases of the exponents, 127 and 15, differ by 112 */
        return of_bits(sign | ((rest << 13) + (112u << 23)));
    float small = (float)rest * 0x1p-24f; /* 0 or subnormal: a multiple of 2^-24 */
    return sign ? -small : small;
}

/* Rounds a float to the nearest half, and halfway between two to the even one. What is too large
 * becomes infinite. */
static uint16_t to_half(float x)
{
    uint32_t bits = bits_of(x), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest > 0x7f800000) /* not a number: stays one, and quiet */
        return (uint16_t)(sign | 0x7e00 | (rest >> 13 & 0x1ff));
    if (rest >= 0x477ff000) /* rounds to more than 65504 */
        return (uint16_t)(sign | 0x7c00);
    if (rest < 0x38800000) /* less than 2^-14: adding 0.5 rounds to a multiple of 2^-24 */
        return (uint16_t)(sign | (bits_of(of_bits(rest) + 0.5f) - bits_of(0.5f)));
    return (uint16_t)(sign | (rest - (112u << 23) + 0xfff + (rest >> 13 & 1)) >> 13);
}

/* Defines nvshmemi_<type>_<op>, which replaces each element of acc by the expression of it (a) and
 * of the same element of `in` (b). If one of them is not a number, max and min keep that of acc. */
#define REDUCER(type, op, expression)                                                              \
    static void type##_##op(void *acc, const void *in, size_t nelems)                              \
    {                                                                                              \
        uint16_t *to = acc;                                                                        \
        const uint16_t *from = in;                                                                 \
        for (size_t i = 0; i < nelems; i++) {                                                      \
            float a = of_##type(to[i]), b = of_##type(from[i]);                                    \
            to[i] = to_##type(expression);                                                         \
        }                                                                                          \
    }                                                                                              \
    const struct shmemi_reducer nvshmemi_##type##_##op = {type##_##op, sizeof(uint16_t)};

REDUCER(half, max, b > a ? b : a)
REDUCER(half, min, b < a ? b : a)
REDUCER(half, sum, a + b)
REDUCER(half, prod, a *b)
REDUCER(bfloat16, max, b > a ? b : a)
REDUCER(bfloat16, min, b < a ? b : a)
REDUCER(bfloat16, sum, a + b)
REDUCER(bfloat16, prod, a *b)
