/*
 * memory.h: every access of a producer to memory that others see, named by its purpose. On the GPU
 * each is one instruction, whose scope and order the tests pin in the PTX; on the host it is a
 * builtin.
 *
 * Near memory is shared among producers only (device memory for a GPU); far memory also with the
 * proxy (pinned host memory).
 */
#ifndef SHMEM_MEMORY_H
#define SHMEM_MEMORY_H

#include "zz_wire.h"

#ifndef __CUDACC_RTC__
#include <sched.h>
#endif

#ifdef SHMEMI_TSAN
/* Whether a fence comes before the thread's next slots. */
static __thread int shmemi_fenced __attribute__((unused));
#endif

/*
 * Before slots whose operation names memory that was just written: makes the writes visible to the
 * proxy and the NIC. Once for a burst. A release on each slot would cost the same each time: 1117
 * cycles on an H200, where a relaxed slot costs 26.
 */
SHMEMI_HD void shmemi_before_slots(void)
{
#ifdef __CUDA_ARCH__
    asm volatile("fence.acq_rel.sys;" ::: "memory");
#elif defined(SHMEMI_TSAN)
    shmemi_fenced = 1;
#else
    __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

/*
 * Stores both words of a slot. Relaxed: each carries a lap, so their order does not matter, and
 * writes that must come before them have a fence of their own. ThreadSanitizer does not know
 * fences: for it the stores of a push with a fence are releases, so that it reports a push that
 * lacks one.
 */
SHMEMI_HD void shmemi_store_slot(void *slot, uint64_t a, uint64_t b)
{
#ifdef __CUDA_ARCH__
    asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(slot), "l"(a), "l"(b)
                 : "memory");
#elif defined(SHMEMI_TSAN)
    if (shmemi_fenced) {
        __atomic_store_n((uint64_t *)slot, a, __ATOMIC_RELEASE);
        __atomic_store_n((uint64_t *)slot + 1, b, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n((uint64_t *)slot, a, __ATOMIC_RELAXED);
        __atomic_store_n((uint64_t *)slot + 1, b, __ATOMIC_RELAXED);
    }
#else
    __atomic_store_n((uint64_t *)slot, a, __ATOMIC_RELAXED);
    __atomic_store_n((uint64_t *)slot + 1, b, __ATOMIC_RELAXED);
#endif
}

/* Adds to a word of near memory and returns what it was. */
SHMEMI_HD uint64_t shmemi_take_near(uint64_t *word, uint64_t n)
{
#ifdef __CUDA_ARCH__
    uint64_t old;
    asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;"
                 : "=l"(old)
                 : "l"(word), "l"(n)
                 : "memory");
    return old;
#else
    return __atomic_fetch_add(word, n, __ATOMIC_RELAXED);
#endif
}

/*
 * Loads the cached tail. Acquire on the host: the proxy has read the slots that the tail frees
 * before it published the tail, and must not see the next stores in those reads. A GPU does not
 * store ahead of the branch that tests the tail; a thread that had to wait acquires nevertheless
 * (shmemi_acquire_near), because the PTX memory model does not promise it.
 */
SHMEMI_HD uint64_t shmemi_load_near(const uint64_t *word)
{
#ifdef __CUDA_ARCH__
    uint64_t v;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(word) : "memory");
    return v;
#else
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}

/* The same, behind a wait: what happened before shmemi_publish_near stored the value, the proxy's
 * reads included, happens before what this thread stores next. */
SHMEMI_HD uint64_t shmemi_acquire_near(const uint64_t *word)
{
#ifdef __CUDA_ARCH__
    uint64_t v;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(word) : "memory");
    return v;
#else
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}

/* Stores the proxy's tail for other producers, after shmemi_acquire_far has loaded it. */
SHMEMI_HD void shmemi_publish_near(uint64_t *word, uint64_t v)
{
#ifdef __CUDA_ARCH__
    asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(v) : "memory");
#else
    __atomic_store_n(word, v, __ATOMIC_RELEASE);
#endif
}

SHMEMI_HD void shmemi_store_near(uint64_t *word, uint64_t v)
{
#ifdef __CUDA_ARCH__
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(v) : "memory");
#else
    __atomic_store_n(word, v, __ATOMIC_RELEASE);
#endif
}

/* Sets bits of a word of near memory and returns what it was. */
SHMEMI_HD uint32_t shmemi_claim_near(uint32_t *word, uint32_t bits)
{
#ifdef __CUDA_ARCH__
    uint32_t old;
    asm volatile("atom.acquire.gpu.global.or.b32 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(word), "r"(bits)
                 : "memory");
    return old;
#else
    return __atomic_fetch_or(word, bits, __ATOMIC_ACQUIRE);
#endif
}

/* Clears bits, after the last use of what they stood for. */
SHMEMI_HD void shmemi_release_claim(uint32_t *word, uint32_t bits)
{
#ifdef __CUDA_ARCH__
    asm volatile("red.release.gpu.global.and.b32 [%0], %1;" ::"l"(word), "r"(~bits) : "memory");
#else
    __atomic_fetch_and(word, ~bits, __ATOMIC_RELEASE);
#endif
}

/* A word that the proxy writes, where only its value counts. */
SHMEMI_HD uint32_t shmemi_load_far32(const uint32_t *word)
{
#ifdef __CUDA_ARCH__
    uint32_t v;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(word) : "memory");
    return v;
#else
    return __atomic_load_n(word, __ATOMIC_RELAXED);
#endif
}

/* Loads a value that an earlier acquire covers. */
SHMEMI_HD uint64_t shmemi_load_far(const uint64_t *word)
{
#ifdef __CUDA_ARCH__
    uint64_t v;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(word) : "memory");
    return v;
#else
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}

/* Loads a word that the proxy writes last: the proxy's earlier writes are visible afterwards. */
SHMEMI_HD uint32_t shmemi_acquire_far32(const uint32_t *word)
{
#ifdef __CUDA_ARCH__
    uint32_t v;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(word) : "memory");
    return v;
#else
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}

SHMEMI_HD uint64_t shmemi_acquire_far(const uint64_t *word)
{
#ifdef __CUDA_ARCH__
    uint64_t v;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(word) : "memory");
    return v;
#else
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}

/*
 * Pauses between two looks at a word that the proxy changes; looks counts them. A GPU's look takes
 * a microsecond over PCIe and needs no pause. A host thread yields after a while, because the
 * thread that it waits for may need its processor.
 */
SHMEMI_HD void shmemi_pause(uint32_t *looks)
{
    ++*looks;
#ifndef __CUDA_ARCH__
    if (*looks > 256)
        sched_yield();
#if defined(__x86_64__) || defined(__i386__)
    else
        __builtin_ia32_pause();
#endif
#endif
}

/* The same for near memory, at which a GPU would look too often. */
SHMEMI_HD void shmemi_pause_near(uint32_t *looks)
{
#ifdef __CUDA_ARCH__
    ++*looks;
    __nanosleep(64);
#else
    shmemi_pause(looks);
#endif
}

/* After the slots of a push: keeps the compiler from moving later accesses ahead of them. */
SHMEMI_HD void shmemi_after_slots(void)
{
#ifndef __CUDA_ARCH__
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
#ifdef SHMEMI_TSAN
    shmemi_fenced = 0;
#endif
#endif
}

#endif
