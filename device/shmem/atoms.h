/*
 * atoms.h: atomic instructions on a word of symmetric memory, this PE's or a peer's, one
 * instruction each. They are relaxed: they order no other accesses. They are atomic with respect to
 * the atomics of all threads of the machine. Instructions with a result return the value before.
 */
#ifndef SHMEM_ATOMS_H
#define SHMEM_ATOMS_H

#include "access.h"

#ifdef SHMEMI_KERNEL

/*
 * Each row defines a function: SHMEMI_ATOM one that applies v to the word, SHMEMI_CSWAP one that
 * stores v if the word equals cond. They have the arguments of SHMEMI_STORE (access.h), which makes
 * the functions without a result, so that SHMEMI_WORDS and SHMEMI_REALS can make the rows of each;
 * they need no REG.
 */
#define SHMEMI_ATOM(name, ptx, T, REG, in)                                                         \
    SHMEMI_D T name(void *at, T v)                                                                 \
    {                                                                                              \
        T old;                                                                                     \
        asm volatile(ptx " %0, [%1], %2;" : "=" in(old) : "l"(at), in(v) : "memory");              \
        return old;                                                                                \
    }
#define SHMEMI_CSWAP(name, ptx, T, REG, in)                                                        \
    SHMEMI_D T name(void *at, T cond, T v)                                                         \
    {                                                                                              \
        T old;                                                                                     \
        asm volatile(ptx " %0, [%1], %2, %3;"                                                      \
                     : "=" in(old)                                                                 \
                     : "l"(at), in(cond), in(v)                                                    \
                     : "memory");                                                                  \
        return old;                                                                                \
    }
/* A row for each size of integers, and of floating-point numbers: ptx lacks only the size. */
#define SHMEMI_WORDS(ROW, name, ptx)                                                               \
    ROW(name, ptx "32", uint32_t, uint32_t, "r")                                                   \
    ROW(name, ptx "64", uint64_t, uint64_t, "l")
#define SHMEMI_REALS(ROW, name, ptx)                                                               \
    ROW(name, ptx "32", float, float, "f")                                                         \
    ROW(name, ptx "64", double, double, "d")

SHMEMI_WORDS(SHMEMI_ATOM, shmemi_swap_at, "atom.relaxed.sys.global.exch.b")
SHMEMI_WORDS(SHMEMI_CSWAP, shmemi_cswap_at, "atom.relaxed.sys.global.cas.b")
SHMEMI_CSWAP(shmemi_cswap_at, "atom.relaxed.sys.global.cas.b16", uint16_t, uint16_t, "h")
SHMEMI_WORDS(SHMEMI_ATOM, shmemi_fetch_add_at, "atom.relaxed.sys.global.add.u")
SHMEMI_REALS(SHMEMI_ATOM, shmemi_fetch_add_at, "atom.relaxed.sys.global.add.f")
SHMEMI_WORDS(SHMEMI_ATOM, shmemi_fetch_and_at, "atom.relaxed.sys.global.and.b")
SHMEMI_WORDS(SHMEMI_ATOM, shmemi_fetch_or_at, "atom.relaxed.sys.global.or.b")
SHMEMI_WORDS(SHMEMI_ATOM, shmemi_fetch_xor_at, "atom.relaxed.sys.global.xor.b")
SHMEMI_WORDS(SHMEMI_STORE, shmemi_add_at, "red.relaxed.sys.global.add.u")
SHMEMI_REALS(SHMEMI_STORE, shmemi_add_at, "red.relaxed.sys.global.add.f")
SHMEMI_WORDS(SHMEMI_STORE, shmemi_and_at, "red.relaxed.sys.global.and.b")
SHMEMI_WORDS(SHMEMI_STORE, shmemi_or_at, "red.relaxed.sys.global.or.b")
SHMEMI_WORDS(SHMEMI_STORE, shmemi_xor_at, "red.relaxed.sys.global.xor.b")
/* Adds to a 16-bit floating-point number. The values are passed as their bits. */
SHMEMI_ATOM(shmemi_fetch_add_half_at, "atom.relaxed.sys.global.add.noftz.f16", uint16_t, uint16_t,
            "h")

/* Updates of words that the producers of a ring on this GPU share (memory.h). */
SHMEMI_ATOM(shmemi_fetch_add_gpu, "atom.relaxed.gpu.global.add.u64", uint64_t, uint64_t, "l")
SHMEMI_ATOM(shmemi_claim_gpu, "atom.acquire.gpu.global.or.b32", uint32_t, uint32_t, "r")
SHMEMI_STORE(shmemi_and_release_gpu, "red.release.gpu.global.and.b32", uint32_t, uint32_t, "r")

#endif

#endif
