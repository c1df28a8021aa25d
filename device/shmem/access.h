/*
 * access.h: every access of a kernel to symmetric memory, its own or a peer's, named by its
 * purpose. Each is one instruction, whose scope and order the tests pin in the PTX. A peer's memory
 * has an address on this GPU: over NVLink, over PCIe, or in the same memory.
 *
 * Bulk data is moved by weak accesses, which are not visible to others until a fence or a signal
 * follows them. Elements and flags, which others may read while they change, are moved by strong
 * accesses.
 */
#ifndef SHMEM_ACCESS_H
#define SHMEM_ACCESS_H

#include "types.h"

#ifdef SHMEMI_KERNEL

#define SHMEMI_D static __device__ __forceinline__
/*
 * Code that goes through the ring, handles an error, or takes many steps anyway is a function of
 * its own. Inlined, the ring would be 300 instructions at each call, most of which never run and
 * whose registers the other instructions would lack.
 */
#define SHMEMI_COLD static inline __device__ __noinline__

/* The integer type of this many bytes, which carries an element of any type. */
template <int BYTES> struct shmemi_bits;
template <> struct shmemi_bits<1> {
    typedef uint8_t type;
};
template <> struct shmemi_bits<2> {
    typedef uint16_t type;
};
template <> struct shmemi_bits<4> {
    typedef uint32_t type;
};
template <> struct shmemi_bits<8> {
    typedef uint64_t type;
};

/* A value as another type of its size. */
template <class TO, class FROM> SHMEMI_D TO shmemi_as(FROM value)
{
    static_assert(sizeof(TO) == sizeof(FROM), "the sizes differ");
    union either {
        FROM from;
        TO to;
        __device__ either()
        {
        }
    } u;
    u.from = value;
    return u.to;
}

/* 16 bytes, the most that one instruction moves. */
struct alignas(16) shmemi_wide {
    uint64_t a, b;
};

/* Stores an element that others may read at any time: whole, in no order. */
SHMEMI_D void shmemi_store_element(void *at, uint8_t v)
{
    asm volatile("st.relaxed.sys.global.u8 [%0], %1;" ::"l"(at), "r"((uint32_t)v) : "memory");
}
SHMEMI_D void shmemi_store_element(void *at, uint16_t v)
{
    asm volatile("st.relaxed.sys.global.u16 [%0], %1;" ::"l"(at), "h"(v) : "memory");
}
SHMEMI_D void shmemi_store_element(void *at, uint32_t v)
{
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(at), "r"(v) : "memory");
}
SHMEMI_D void shmemi_store_element(void *at, uint64_t v)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(at), "l"(v) : "memory");
}

SHMEMI_D void shmemi_load_element(const void *at, uint8_t *v)
{
    uint32_t wide;
    asm volatile("ld.relaxed.sys.global.u8 %0, [%1];" : "=r"(wide) : "l"(at) : "memory");
    *v = (uint8_t)wide;
}
SHMEMI_D void shmemi_load_element(const void *at, uint16_t *v)
{
    asm volatile("ld.relaxed.sys.global.u16 %0, [%1];" : "=h"(*v) : "l"(at) : "memory");
}
SHMEMI_D void shmemi_load_element(const void *at, uint32_t *v)
{
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(*v) : "l"(at) : "memory");
}
SHMEMI_D void shmemi_load_element(const void *at, uint64_t *v)
{
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(*v) : "l"(at) : "memory");
}

/* Loads two words that others may store at any time: each whole, in no order. */
SHMEMI_D void shmemi_load_pair(const void *at, uint64_t *a, uint64_t *b)
{
    asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(*a), "=l"(*b)
                 : "l"(at)
                 : "memory");
}

/* Adds to a word without a result, in no order. */
SHMEMI_D void shmemi_add_element(void *at, uint64_t v)
{
    asm volatile("red.relaxed.sys.global.add.u64 [%0], %1;" ::"l"(at), "l"(v) : "memory");
}

/*
 * Loads a word that this thread waits for. Everything that the writer had seen or written before is
 * visible to this thread afterwards.
 */
SHMEMI_D void shmemi_load_flag(const void *at, uint16_t *v)
{
    asm volatile("ld.acquire.sys.global.u16 %0, [%1];" : "=h"(*v) : "l"(at) : "memory");
}
SHMEMI_D void shmemi_load_flag(const void *at, uint32_t *v)
{
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(*v) : "l"(at) : "memory");
}
SHMEMI_D void shmemi_load_flag(const void *at, uint64_t *v)
{
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(*v) : "l"(at) : "memory");
}

/* Waits until 128 threads have come to the barrier of this number. */
SHMEMI_D void shmemi_meet_four_warps(uint32_t barrier)
{
    asm volatile("bar.sync %0, 128;" ::"r"(barrier) : "memory");
}

/*
 * Makes the compiler compute later addresses from these two, and from nothing that it has computed
 * before. Else it keeps a register pair for each address of a loop's next round.
 */
SHMEMI_D void shmemi_rebase(char **to, const char **from)
{
    asm volatile("" : "+l"(*to), "+l"(*from));
}

/*
 * Stores a signal behind its data: a reader of the signal sees what this thread wrote before, and
 * what other threads wrote before this one met them at a barrier.
 */
SHMEMI_D void shmemi_store_signal(void *at, uint64_t v)
{
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(at), "l"(v) : "memory");
}
SHMEMI_D void shmemi_add_signal(void *at, uint64_t v)
{
    asm volatile("red.release.sys.global.add.u64 [%0], %1;" ::"l"(at), "l"(v) : "memory");
}

/* Orders this thread's earlier writes before its later ones. */
SHMEMI_D void shmemi_fence_system(void)
{
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}

/*
 * Waits until this thread's earlier writes are visible everywhere. It is the stronger fence,
 * because a get after a quiet must not return a value from before it: two PEs that each put, quiet
 * and get must not both miss the other's put.
 */
SHMEMI_D void shmemi_complete_system(void)
{
    asm volatile("fence.sc.sys;" ::: "memory");
}

/*
 * Bulk data. This PE's own side may be shared or local memory too, so the instruction takes any
 * address. A load from a peer is a strong one: the first-level cache may answer a weak one with
 * data from before the peer's write. The versions with a predicate do nothing where it is 0,
 * without a branch, so that the loads of a batch leave together.
 */
template <class T> struct shmemi_move;

template <> struct shmemi_move<shmemi_wide> {
    SHMEMI_D void load(const void *at, shmemi_wide *v)
    {
        asm volatile("ld.v2.u64 {%0, %1}, [%2];" : "=l"(v->a), "=l"(v->b) : "l"(at) : "memory");
    }
    SHMEMI_D void load_far(const void *at, shmemi_wide *v)
    {
        asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
                     : "=l"(v->a), "=l"(v->b)
                     : "l"(at)
                     : "memory");
    }
    SHMEMI_D void store(void *at, shmemi_wide v)
    {
        asm volatile("st.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(v.a), "l"(v.b) : "memory");
    }
    SHMEMI_D void load_if(int on, const void *at, shmemi_wide *v)
    {
        asm volatile("{ .reg .pred on; setp.ne.s32 on, %2, 0; @on ld.v2.u64 {%0, %1}, [%3]; }"
                     : "=l"(v->a), "=l"(v->b)
                     : "r"(on), "l"(at)
                     : "memory");
    }
    SHMEMI_D void load_far_if(int on, const void *at, shmemi_wide *v)
    {
        asm volatile("{ .reg .pred on; setp.ne.s32 on, %2, 0; "
                     "@on ld.relaxed.sys.global.v2.u64 {%0, %1}, [%3]; }"
                     : "=l"(v->a), "=l"(v->b)
                     : "r"(on), "l"(at)
                     : "memory");
    }
    SHMEMI_D void store_if(int on, void *at, shmemi_wide v)
    {
        asm volatile(
            "{ .reg .pred on; setp.ne.s32 on, %0, 0; @on st.v2.u64 [%1], {%2, %3}; }" ::"r"(on),
            "l"(at), "l"(v.a), "l"(v.b)
            : "memory");
    }
};
template <> struct shmemi_move<uint64_t> {
    SHMEMI_D void load(const void *at, uint64_t *v)
    {
        asm volatile("ld.u64 %0, [%1];" : "=l"(*v) : "l"(at) : "memory");
    }
    SHMEMI_D void load_far(const void *at, uint64_t *v)
    {
        asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(*v) : "l"(at) : "memory");
    }
    SHMEMI_D void store(void *at, uint64_t v)
    {
        asm volatile("st.u64 [%0], %1;" ::"l"(at), "l"(v) : "memory");
    }
};
template <> struct shmemi_move<uint32_t> {
    SHMEMI_D void load(const void *at, uint32_t *v)
    {
        asm volatile("ld.u32 %0, [%1];" : "=r"(*v) : "l"(at) : "memory");
    }
    SHMEMI_D void load_far(const void *at, uint32_t *v)
    {
        asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(*v) : "l"(at) : "memory");
    }
    SHMEMI_D void store(void *at, uint32_t v)
    {
        asm volatile("st.u32 [%0], %1;" ::"l"(at), "r"(v) : "memory");
    }
};
template <> struct shmemi_move<uint16_t> {
    SHMEMI_D void load(const void *at, uint16_t *v)
    {
        asm volatile("ld.u16 %0, [%1];" : "=h"(*v) : "l"(at) : "memory");
    }
    SHMEMI_D void load_far(const void *at, uint16_t *v)
    {
        asm volatile("ld.relaxed.sys.global.u16 %0, [%1];" : "=h"(*v) : "l"(at) : "memory");
    }
    SHMEMI_D void store(void *at, uint16_t v)
    {
        asm volatile("st.u16 [%0], %1;" ::"l"(at), "h"(v) : "memory");
    }
};
template <> struct shmemi_move<uint8_t> {
    SHMEMI_D void load(const void *at, uint8_t *v)
    {
        uint32_t wide;
        asm volatile("ld.u8 %0, [%1];" : "=r"(wide) : "l"(at) : "memory");
        *v = (uint8_t)wide;
    }
    SHMEMI_D void load_far(const void *at, uint8_t *v)
    {
        uint32_t wide;
        asm volatile("ld.relaxed.sys.global.u8 %0, [%1];" : "=r"(wide) : "l"(at) : "memory");
        *v = (uint8_t)wide;
    }
    SHMEMI_D void store(void *at, uint8_t v)
    {
        asm volatile("st.u8 [%0], %1;" ::"l"(at), "r"((uint32_t)v) : "memory");
    }
};

#endif

#endif
