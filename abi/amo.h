/*
 * amo.h: the one set of instructions for every atomic on an object in main memory. PEs of the
 * object's node run them on its memory; for other PEs the core (libshmem_core.so) of the object's
 * PE runs them when their active message arrives. So all atomics on an object are atomic with
 * respect to each other.
 */
#ifndef SHMEMI_AMO_H
#define SHMEMI_AMO_H

#include "zz_fabric.h"

#include <stdbool.h>

#define SHMEMI_INLINE static inline __attribute__((always_inline))

/* The body of the two functions below, for objects of type T. SHMEMI_AMO_SET returns 0, not the old
 * value. op is a constant in the generated code, so that the compiler removes the switch; where it
 * is not, the caller has checked that it is one of these. compare is only for SHMEMI_AMO_CSWAP.
 * After a failed compare-exchange `expected` has the old value, after one that succeeded it has it,
 * too. */
#define SHMEMI_AMO_BODY(T)                                                                         \
    switch (op) {                                                                                  \
    case SHMEMI_AMO_SET:                                                                           \
        __atomic_store_n(at, operand, __ATOMIC_SEQ_CST);                                           \
        return 0;                                                                                  \
    case SHMEMI_AMO_SWAP:                                                                          \
        return __atomic_exchange_n(at, operand, __ATOMIC_SEQ_CST);                                 \
    case SHMEMI_AMO_CSWAP: {                                                                       \
        T expected = compare;                                                                      \
        __atomic_compare_exchange_n(at, &expected, operand, false, __ATOMIC_SEQ_CST,               \
                                    __ATOMIC_SEQ_CST);                                             \
        return expected;                                                                           \
    }                                                                                              \
    case SHMEMI_AMO_FETCH:                                                                         \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                              \
    case SHMEMI_AMO_ADD:                                                                           \
    case SHMEMI_AMO_FETCH_ADD:                                                                     \
        return __atomic_fetch_add(at, operand, __ATOMIC_SEQ_CST);                                  \
    case SHMEMI_AMO_AND:                                                                           \
    case SHMEMI_AMO_FETCH_AND:                                                                     \
        return __atomic_fetch_and(at, operand, __ATOMIC_SEQ_CST);                                  \
    case SHMEMI_AMO_OR:                                                                            \
    case SHMEMI_AMO_FETCH_OR:                                                                      \
        return __atomic_fetch_or(at, operand, __ATOMIC_SEQ_CST);                                   \
    case SHMEMI_AMO_XOR:                                                                           \
    case SHMEMI_AMO_FETCH_XOR:                                                                     \
        return __atomic_fetch_xor(at, operand, __ATOMIC_SEQ_CST);                                  \
    }                                                                                              \
    __builtin_unreachable()

/* Applies an atomic operation to an object of 32 bits, and returns its old value. */
SHMEMI_INLINE uint32_t shmemi_amo_at32(enum shmemi_amo op, uint32_t *at, uint32_t operand,
                                       uint32_t compare)
{
    SHMEMI_AMO_BODY(uint32_t);
}

/* Applies an atomic operation to an object of 64 bits, and returns its old value. */
SHMEMI_INLINE uint64_t shmemi_amo_at64(enum shmemi_amo op, uint64_t *at, uint64_t operand,
                                       uint64_t compare)
{
    SHMEMI_AMO_BODY(uint64_t);
}

#endif
