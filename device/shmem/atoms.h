/*
 * atoms.h: atomic instructions on a word of symmetric memory, this PE's or a peer's, one
 * instruction each. They are in no order with other accesses, and atomic with the atomics of every
 * other thread of the machine. Instructions with a result return the value before.
 */
#ifndef SHMEM_ATOMS_H
#define SHMEM_ATOMS_H

#include "access.h"

#ifdef SHMEMI_KERNEL

SHMEMI_D uint32_t shmemi_swap_at(void *at, uint32_t v)
{
    uint32_t old;
    asm volatile("atom.relaxed.sys.global.exch.b32 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(at), "r"(v)
                 : "memory");
    return old;
}
SHMEMI_D uint64_t shmemi_swap_at(void *at, uint64_t v)
{
    uint64_t old;
    asm volatile("atom.relaxed.sys.global.exch.b64 %0, [%1], %2;"
                 : "=l"(old)
                 : "l"(at), "l"(v)
                 : "memory");
    return old;
}

SHMEMI_D uint16_t shmemi_cswap_at(void *at, uint16_t cond, uint16_t v)
{
    uint16_t old;
    asm volatile("atom.relaxed.sys.global.cas.b16 %0, [%1], %2, %3;"
                 : "=h"(old)
                 : "l"(at), "h"(cond), "h"(v)
                 : "memory");
    return old;
}
SHMEMI_D uint32_t shmemi_cswap_at(void *at, uint32_t cond, uint32_t v)
{
    uint32_t old;
    asm volatile("atom.relaxed.sys.global.cas.b32 %0, [%1], %2, %3;"
                 : "=r"(old)
                 : "l"(at), "r"(cond), "r"(v)
                 : "memory");
    return old;
}
SHMEMI_D uint64_t shmemi_cswap_at(void *at, uint64_t cond, uint64_t v)
{
    uint64_t old;
    asm volatile("atom.relaxed.sys.global.cas.b64 %0, [%1], %2, %3;"
                 : "=l"(old)
                 : "l"(at), "l"(cond), "l"(v)
                 : "memory");
    return old;
}

SHMEMI_D uint32_t shmemi_fetch_add_at(void *at, uint32_t v)
{
    uint32_t old;
    asm volatile("atom.relaxed.sys.global.add.u32 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(at), "r"(v)
                 : "memory");
    return old;
}
SHMEMI_D uint64_t shmemi_fetch_add_at(void *at, uint64_t v)
{
    uint64_t old;
    asm volatile("atom.relaxed.sys.global.add.u64 %0, [%1], %2;"
                 : "=l"(old)
                 : "l"(at), "l"(v)
                 : "memory");
    return old;
}
SHMEMI_D float shmemi_fetch_add_at(void *at, float v)
{
    float old;
    asm volatile("atom.relaxed.sys.global.add.f32 %0, [%1], %2;"
                 : "=f"(old)
                 : "l"(at), "f"(v)
                 : "memory");
    return old;
}
SHMEMI_D double shmemi_fetch_add_at(void *at, double v)
{
    double old;
    asm volatile("atom.relaxed.sys.global.add.f64 %0, [%1], %2;"
                 : "=d"(old)
                 : "l"(at), "d"(v)
                 : "memory");
    return old;
}
/* Half precision, its bits as an integer. */
SHMEMI_D uint16_t shmemi_fetch_add_half_at(void *at, uint16_t v)
{
    uint16_t old;
    asm volatile("atom.relaxed.sys.global.add.noftz.f16 %0, [%1], %2;"
                 : "=h"(old)
                 : "l"(at), "h"(v)
                 : "memory");
    return old;
}

SHMEMI_D void shmemi_add_at(void *at, uint32_t v)
{
    asm volatile("red.relaxed.sys.global.add.u32 [%0], %1;" ::"l"(at), "r"(v) : "memory");
}
SHMEMI_D void shmemi_add_at(void *at, uint64_t v)
{
    asm volatile("red.relaxed.sys.global.add.u64 [%0], %1;" ::"l"(at), "l"(v) : "memory");
}
SHMEMI_D void shmemi_add_at(void *at, float v)
{
    asm volatile("red.relaxed.sys.global.add.f32 [%0], %1;" ::"l"(at), "f"(v) : "memory");
}
SHMEMI_D void shmemi_add_at(void *at, double v)
{
    asm volatile("red.relaxed.sys.global.add.f64 [%0], %1;" ::"l"(at), "d"(v) : "memory");
}

SHMEMI_D uint32_t shmemi_fetch_and_at(void *at, uint32_t v)
{
    uint32_t old;
    asm volatile("atom.relaxed.sys.global.and.b32 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(at), "r"(v)
                 : "memory");
    return old;
}
SHMEMI_D uint64_t shmemi_fetch_and_at(void *at, uint64_t v)
{
    uint64_t old;
    asm volatile("atom.relaxed.sys.global.and.b64 %0, [%1], %2;"
                 : "=l"(old)
                 : "l"(at), "l"(v)
                 : "memory");
    return old;
}
SHMEMI_D uint32_t shmemi_fetch_or_at(void *at, uint32_t v)
{
    uint32_t old;
    asm volatile("atom.relaxed.sys.global.or.b32 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(at), "r"(v)
                 : "memory");
    return old;
}
SHMEMI_D uint64_t shmemi_fetch_or_at(void *at, uint64_t v)
{
    uint64_t old;
    asm volatile("atom.relaxed.sys.global.or.b64 %0, [%1], %2;"
                 : "=l"(old)
                 : "l"(at), "l"(v)
                 : "memory");
    return old;
}
SHMEMI_D uint32_t shmemi_fetch_xor_at(void *at, uint32_t v)
{
    uint32_t old;
    asm volatile("atom.relaxed.sys.global.xor.b32 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(at), "r"(v)
                 : "memory");
    return old;
}
SHMEMI_D uint64_t shmemi_fetch_xor_at(void *at, uint64_t v)
{
    uint64_t old;
    asm volatile("atom.relaxed.sys.global.xor.b64 %0, [%1], %2;"
                 : "=l"(old)
                 : "l"(at), "l"(v)
                 : "memory");
    return old;
}

SHMEMI_D void shmemi_and_at(void *at, uint32_t v)
{
    asm volatile("red.relaxed.sys.global.and.b32 [%0], %1;" ::"l"(at), "r"(v) : "memory");
}
SHMEMI_D void shmemi_and_at(void *at, uint64_t v)
{
    asm volatile("red.relaxed.sys.global.and.b64 [%0], %1;" ::"l"(at), "l"(v) : "memory");
}
SHMEMI_D void shmemi_or_at(void *at, uint32_t v)
{
    asm volatile("red.relaxed.sys.global.or.b32 [%0], %1;" ::"l"(at), "r"(v) : "memory");
}
SHMEMI_D void shmemi_or_at(void *at, uint64_t v)
{
    asm volatile("red.relaxed.sys.global.or.b64 [%0], %1;" ::"l"(at), "l"(v) : "memory");
}
SHMEMI_D void shmemi_xor_at(void *at, uint32_t v)
{
    asm volatile("red.relaxed.sys.global.xor.b32 [%0], %1;" ::"l"(at), "r"(v) : "memory");
}
SHMEMI_D void shmemi_xor_at(void *at, uint64_t v)
{
    asm volatile("red.relaxed.sys.global.xor.b64 [%0], %1;" ::"l"(at), "l"(v) : "memory");
}

#endif

#endif
