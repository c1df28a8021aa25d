/*
 * element.h: the elements of reductions, and the operators on two words of them. The 16-bit
 * floating-point types are computed as float and rounded once. That gives the results of the GPU's
 * own instructions for them, and needs none of CUDA's headers.
 */
#ifndef SHMEM_KERNELS_ELEMENT_H
#define SHMEM_KERNELS_ELEMENT_H

#include <shmem/operators.h>
#include <shmem/packed.h>

/* A half-precision number and a bfloat16 number, as their bits. */
struct shmemi_f16 {
    uint16_t bits;
};
struct shmemi_bf16 {
    uint16_t bits;
};

/* Converts a half-precision number to float. */
SHMEMI_D float shmemi_widen(struct shmemi_f16 v)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v.bits));
    return f;
}

/* Converts a bfloat16 number to float. */
SHMEMI_D float shmemi_widen(struct shmemi_bf16 v)
{
    return __uint_as_float((uint32_t)v.bits << 16);
}

/* Rounds a float to half precision, to nearest even. */
SHMEMI_D void shmemi_narrow(float f, struct shmemi_f16 *v)
{
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(v->bits) : "f"(f));
}

/* Rounds a float to bfloat16, to nearest even; a NaN stays a NaN. GPUs before sm_80 have no
 * instruction for it, so it is done by integer arithmetic. */
SHMEMI_D void shmemi_narrow(float f, struct shmemi_bf16 *v)
{
    uint32_t u = __float_as_uint(f);
    v->bits = (uint16_t)(f == f ? (u + 0x7fff + (u >> 16 & 1)) >> 16 : 0x7fff);
}

/*
 * The operation on two elements (apply, of OP), and on all elements in two words of 8 bytes (word,
 * of shmemi_by_word). batch is the number of 16-byte words that a thread has under way at once
 * (reduce.h): one for small integers, which need much code for each word.
 */
template <class OP, class T> struct shmemi_each : OP, shmemi_by_word<OP, T> {
    static constexpr uint32_t batch = sizeof(T) < 4 ? 1 : 4;
};

/* shmemi_each for types that are computed as float and then rounded. */
template <class OP, class T> struct shmemi_each_narrow {
    static constexpr uint32_t batch = 4;
    SHMEMI_D uint64_t word(uint64_t a, uint64_t b)
    {
        return shmemi_apply_word<shmemi_each_narrow, T>(a, b);
    }
    template <class E> SHMEMI_D E apply(E a, E b)
    {
        E v;
        shmemi_narrow(OP::template apply<float>(shmemi_widen(a), shmemi_widen(b)), &v);
        return v;
    }
};

/* shmemi_each for bitwise operations: they do not depend on the type, so an element is a byte. */
template <class OP> struct shmemi_each_bit : OP {
    static constexpr uint32_t batch = 4;
    SHMEMI_D uint64_t word(uint64_t a, uint64_t b)
    {
        return OP::template apply<uint64_t>(a, b);
    }
};

#endif
