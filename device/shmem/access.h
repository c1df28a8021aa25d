/*
 * access.h: every access of a kernel to symmetric memory, its own or a peer's, named by its
 * purpose. Each access is one PTX instruction. A row below defines it, with its scope and memory
 * order, and tests compare the compiled PTX with these rows. A peer's memory has an address on this
 * GPU: over NVLink, over PCIe, or in the same memory.
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
 * Code that goes through the ring (the queue by which kernels pass operations to the PE's proxy, a
 * thread of the host), handles an error, or takes many steps anyway is a function of its own.
 * Inlined, the ring would be 300 instructions at each call, most of which never run and
 * whose registers the other instructions would lack.
 */
#define SHMEMI_COLD static inline __device__ __noinline__

/* The unsigned integer type of BYTES bytes, which carries an element of any type of that size. */
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

/* Returns the bits of a value as another type of the same size, such as a float as the uint32_t
 * that an instruction moves. The union needs a constructor of its own, because a member, such as
 * __half, may have one. */
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

/*
 * Each row defines an access function. name: the function; T: the type of the element; REG and in:
 * the type and the constraint letter of the register that carries the element. PTX has no registers
 * of 8 bits, so a byte is in one of 32.
 */
#define SHMEMI_LOAD(name, ptx, T, REG, in)                                                         \
    SHMEMI_D void name(const void *at, T *v)                                                       \
    {                                                                                              \
        REG held;                                                                                  \
        asm volatile(ptx " %0, [%1];" : "=" in(held) : "l"(at) : "memory");                        \
        *v = (T)held;                                                                              \
    }
#define SHMEMI_STORE(name, ptx, T, REG, in)                                                        \
    SHMEMI_D void name(void *at, T v)                                                              \
    {                                                                                              \
        asm volatile(ptx " [%0], %1;" ::"l"(at), in((REG)v) : "memory");                           \
    }
#define SHMEMI_FENCE(name, ptx)                                                                    \
    SHMEMI_D void name(void)                                                                       \
    {                                                                                              \
        asm volatile(ptx ";" ::: "memory");                                                        \
    }
/* A row for elements of each size; loads and stores also have one for 16 bytes. */
#define SHMEMI_ELEMENTS(ROW, name, ptx)                                                            \
    ROW(name, ptx ".u8", uint8_t, uint32_t, "r")                                                   \
    ROW(name, ptx ".u16", uint16_t, uint16_t, "h")                                                 \
    ROW(name, ptx ".u32", uint32_t, uint32_t, "r")                                                 \
    ROW(name, ptx ".u64", uint64_t, uint64_t, "l")
#define SHMEMI_LOADS(name, ptx)                                                                    \
    SHMEMI_ELEMENTS(SHMEMI_LOAD, name, ptx)                                                        \
    SHMEMI_D void name(const void *at, shmemi_wide *v)                                             \
    {                                                                                              \
        asm volatile(ptx ".v2.u64 {%0, %1}, [%2];" : "=l"(v->a), "=l"(v->b) : "l"(at) : "memory"); \
    }
#define SHMEMI_STORES(name, ptx)                                                                   \
    SHMEMI_ELEMENTS(SHMEMI_STORE, name, ptx)                                                       \
    SHMEMI_D void name(void *at, shmemi_wide v)                                                    \
    {                                                                                              \
        asm volatile(ptx ".v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(v.a), "l"(v.b) : "memory");      \
    }

/*
 * Stores and loads of elements that other threads may access at the same time. Each element is seen
 * whole; none is ordered with other accesses.
 */
SHMEMI_STORES(shmemi_store_element, "st.relaxed.sys.global")
SHMEMI_LOADS(shmemi_load_element, "ld.relaxed.sys.global")

/* Loads two adjacent words of 8 bytes by one instruction. Each word is seen whole, even while a
 * writer changes it. */
SHMEMI_D void shmemi_load_pair(const void *at, uint64_t *a, uint64_t *b)
{
    shmemi_wide v;
    shmemi_load_element(at, &v);
    *a = v.a;
    *b = v.b;
}

/*
 * Loads a word that this thread waits for. Everything that the writer had seen or written before is
 * visible to this thread afterwards.
 */
SHMEMI_ELEMENTS(SHMEMI_LOAD, shmemi_load_flag, "ld.acquire.sys.global")

/*
 * Store a signal, or add to it, after its data: a reader of the signal sees what this thread wrote
 * before, and what other threads wrote before a barrier with this one.
 */
SHMEMI_STORE(shmemi_store_signal, "st.release.sys.global.u64", uint64_t, uint64_t, "l")
SHMEMI_STORE(shmemi_add_signal, "red.release.sys.global.add.u64", uint64_t, uint64_t, "l")

/* Accesses to words that the producers of a ring on this GPU share (memory.h). */
SHMEMI_LOAD(shmemi_load_gpu, "ld.relaxed.gpu.global.u64", uint64_t, uint64_t, "l")
SHMEMI_LOAD(shmemi_acquire_gpu, "ld.acquire.gpu.global.u64", uint64_t, uint64_t, "l")
SHMEMI_STORE(shmemi_store_gpu, "st.relaxed.gpu.global.u64", uint64_t, uint64_t, "l")
SHMEMI_STORE(shmemi_release_gpu, "st.release.gpu.global.u64", uint64_t, uint64_t, "l")

/* Orders this thread's earlier writes before its later ones. */
SHMEMI_FENCE(shmemi_fence_system, "fence.acq_rel.sys")

/*
 * Waits until this thread's earlier writes are visible everywhere. The fence is .sc, not .acq_rel,
 * because a get after a quiet must not return a value from before the quiet: two PEs that each put,
 * quiet and get must not both miss the other's put.
 */
SHMEMI_FENCE(shmemi_complete_system, "fence.sc.sys")

/*
 * Loads and stores of bulk data. The operand of this PE may also be in shared or local memory, so
 * these instructions take any address. They do not load from a peer's memory: the first-level cache
 * may serve a weak load with data from before the peer's write, so that load is a strong one
 * (shmemi_load_element).
 */
SHMEMI_LOADS(shmemi_load_weak, "ld")
SHMEMI_STORES(shmemi_store_weak, "st")

/* Waits until 128 threads of the block have called this with the number of the same barrier, 1 to
 * 15; barrier 0 is that of __syncthreads. */
SHMEMI_D void shmemi_sync_four_warps(uint32_t barrier)
{
    asm volatile("bar.sync %0, 128;" ::"r"(barrier) : "memory");
}

#endif

#endif
