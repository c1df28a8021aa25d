/*
 * operators.h: the operators of reductions and of atomic updates, each of which combines two
 * values.
 */
#ifndef SHMEM_OPERATORS_H
#define SHMEM_OPERATORS_H

#include "access.h"

#ifdef SHMEMI_KERNEL

#define SHMEMI_OPERATOR(name, result)                                                              \
    struct shmemi_##name {                                                                         \
        template <class T> SHMEMI_D T apply(T a, T b)                                              \
        {                                                                                          \
            return (T)(result);                                                                    \
        }                                                                                          \
    };

SHMEMI_OPERATOR(sum, (a + b))
SHMEMI_OPERATOR(prod, (a * b))
SHMEMI_OPERATOR(min, b < a ? b : a)
SHMEMI_OPERATOR(max, b > a ? b : a)
SHMEMI_OPERATOR(and, (a & b))
SHMEMI_OPERATOR(or, (a | b))
SHMEMI_OPERATOR(xor, (a ^ b))

/* Selects the element whose member x is greater, and b, the element of the later PE, if both are
 * equal. */
SHMEMI_OPERATOR(maxloc, a.x > b.x ? a : b)

/*
 * The operators of the 16-bit floating-point types, by the functions of CUDA's headers cuda_fp16.h
 * and cuda_bf16.h: a program may have switched off these headers' own operators, such as +. "late":
 * the functions are looked up when a call is instantiated, so the headers may be included later.
 */
SHMEMI_OPERATOR(late_sum, __hadd(a, b))
SHMEMI_OPERATOR(late_prod, __hmul(a, b))
SHMEMI_OPERATOR(late_min, __hlt(b, a) ? b : a)
SHMEMI_OPERATOR(late_max, __hgt(b, a) ? b : a)

#endif

#endif
