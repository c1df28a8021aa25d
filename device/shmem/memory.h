/*
 * memory.h: every access of a producer to memory that others see, named by its purpose. A producer
 * is a thread that pushes operations into a ring, of a kernel or of the host, and the proxy is the
 * thread of the host that carries them out. On the GPU each access is one instruction of access.h
 * or atoms.h, whose scope and order the tests pin in the PTX; on the host it is a builtin.
 *
 * Near memory is shared among producers only (device memory for a GPU); far memory also with the
 * proxy (pinned host memory).
 */
#ifndef SHMEM_MEMORY_H
#define SHMEM_MEMORY_H

#include "atoms.h"
#include "zz_wire.h"

#ifndef __CUDACC_RTC__
#include <sched.h>
#endif

#ifdef __CUDA_ARCH__
#define SHMEMI_EITHER(gpu, host) gpu
#else
#define SHMEMI_EITHER(gpu, host) host
#endif

#ifdef SHMEMI_TSAN
/* Set by shmemi_before_slots: ThreadSanitizer knows no fences, so the next store of a slot is a
 * release instead. */
static __thread int shmemi_fenced __attribute__((unused));
#endif

/*
 * Called before the slots of an operation that names memory that was just written: makes the writes
 * visible to the proxy and the NIC. One call serves a whole burst of operations. A release on each
 * slot would cost the same each time: 1117 cycles on an H200, while a relaxed slot costs 26.
 */
SHMEMI_HD void shmemi_before_slots(void)
{
#ifdef __CUDA_ARCH__
    shmemi_fence_system();
#elif defined(SHMEMI_TSAN)
    shmemi_fenced = 1;
#else
    __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

/*
 * Stores both words of a slot. Relaxed: each carries a lap bit, by which the consumer sees that it
 * is new, so their order does not matter, and writes that must come before them have a fence of
 * their own. ThreadSanitizer does not know fences: for it the stores of a push with a fence are
 * releases, so that it reports a push that lacks one.
 */
SHMEMI_HD void shmemi_store_slot(void *slot, uint64_t a, uint64_t b)
{
#ifdef __CUDA_ARCH__
    shmemi_wide both = {a, b};
    shmemi_store_element(slot, both);
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

/*
 * Each row defines a function. name: the function; on: the GPU's access in access.h or atoms.h;
 * builtin and order: the host's.
 */
#define SHMEMI_WORD_LOAD(name, T, on, order)                                                       \
    SHMEMI_HD T name(const T *word)                                                                \
    {                                                                                              \
        T v;                                                                                       \
        SHMEMI_EITHER(on(word, &v), v = __atomic_load_n(word, order));                             \
        return v;                                                                                  \
    }
#define SHMEMI_WORD_STORE(name, T, on, order)                                                      \
    SHMEMI_HD void name(T *word, T v)                                                              \
    {                                                                                              \
        SHMEMI_EITHER(on(word, v), __atomic_store_n(word, v, order));                              \
    }
#define SHMEMI_WORD_UPDATE(name, T, on, builtin, order)                                            \
    SHMEMI_HD T name(T *word, T v)                                                                 \
    {                                                                                              \
        return SHMEMI_EITHER(on(word, v), builtin(word, v, order));                                \
    }

/* Adds to a word of near memory (memory that only producers share) and returns the value before. */
SHMEMI_WORD_UPDATE(shmemi_fetch_add_near, uint64_t, shmemi_fetch_add_gpu, __atomic_fetch_add,
                   __ATOMIC_RELAXED)

/*
 * Loads a word of near memory, which only producers share, such as their copy of the proxy's tail.
 * Acquire on the host: the proxy has read the slots that the tail frees before it published the
 * tail, and must not see the next stores in those reads. A GPU does not store ahead of the branch
 * that tests the tail; a thread that had to wait acquires nevertheless (shmemi_acquire_near),
 * because the PTX memory model does not promise it.
 */
SHMEMI_WORD_LOAD(shmemi_load_near, uint64_t, shmemi_load_gpu, __ATOMIC_ACQUIRE)

/* Loads a word in near memory at the end of a wait: everything before the shmemi_publish_near that
 * stored the value, the proxy's reads included, happens before this thread's next stores. */
SHMEMI_WORD_LOAD(shmemi_acquire_near, uint64_t, shmemi_acquire_gpu, __ATOMIC_ACQUIRE)

/* Stores the proxy's tail for other producers, after shmemi_acquire_far has loaded it. */
SHMEMI_WORD_STORE(shmemi_publish_near, uint64_t, shmemi_release_gpu, __ATOMIC_RELEASE)

/* Stores a word of near memory. On a GPU the store orders nothing: where others rely on earlier
 * writes, the caller makes a fence before it or a sync of its threads after it. */
SHMEMI_WORD_STORE(shmemi_store_near, uint64_t, shmemi_store_gpu, __ATOMIC_RELEASE)

/*
 * Sets bits of a word of near memory, which only producers share, and returns the value before:
 * bits that were 0 are now claimed by this thread.
 */
SHMEMI_WORD_UPDATE(shmemi_claim_near, uint32_t, shmemi_claim_gpu, __atomic_fetch_or,
                   __ATOMIC_ACQUIRE)

/* Releases claimed bits of a word, after the last use of what they protect. */
SHMEMI_HD void shmemi_release_claim(uint32_t *word, uint32_t bits)
{
    SHMEMI_EITHER(shmemi_and_release_gpu(word, ~bits),
                  __atomic_fetch_and(word, ~bits, __ATOMIC_RELEASE));
}

/*
 * Loads a word that the proxy writes, where only its value counts and no other writes are read
 * after it.
 */
SHMEMI_WORD_LOAD(shmemi_load_far32, uint32_t, shmemi_load_element, __ATOMIC_RELAXED)

/* Loads a value that the proxy wrote before a word that this thread has acquired. */
SHMEMI_WORD_LOAD(shmemi_load_far, uint64_t, shmemi_load_element, __ATOMIC_ACQUIRE)

/* Loads a word that the proxy writes last: the proxy's earlier writes are visible afterwards. */
SHMEMI_WORD_LOAD(shmemi_acquire_far32, uint32_t, shmemi_load_flag, __ATOMIC_ACQUIRE)
SHMEMI_WORD_LOAD(shmemi_acquire_far, uint64_t, shmemi_load_flag, __ATOMIC_ACQUIRE)

/*
 * Pauses between two polls of a word that the proxy changes; polls counts them. A poll by a GPU
 * takes a microsecond over PCIe and needs no pause. A host thread yields after a while, because the
 * thread that it waits for may need its processor.
 */
SHMEMI_HD void shmemi_pause(uint32_t *polls)
{
    ++*polls;
#ifndef __CUDA_ARCH__
    if (*polls > 256)
        sched_yield();
#if defined(__x86_64__) || defined(__i386__)
    else
        __builtin_ia32_pause();
#endif
#endif
}

/* Pauses between two polls of a word in memory of the processor that polls: without the pause a GPU
 * would poll its own memory too often. polls counts the polls. */
SHMEMI_HD void shmemi_pause_near(uint32_t *polls)
{
#ifdef __CUDA_ARCH__
    ++*polls;
    __nanosleep(64);
#else
    shmemi_pause(polls);
#endif
}

/* Called after the slots of a push: stops the compiler from moving later accesses before them. */
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
