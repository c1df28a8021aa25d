/*
 * emulated.h: replacements for GPU features that a host compiler lacks, so that the device header's
 * own text runs as threads of the host, with the library's real rings and proxies. It stands in for
 * access.h, atoms.h, fault.h, context.h and names.h, whose guards it defines: those are
 * instructions and directives for the GPU's compiler. block.h has the blocks of threads.
 */
#ifndef SHMEM_EMULATED_H
#define SHMEM_EMULATED_H

#include <shmem.h>
#include <shmem/state.h>
#include <shmem/unit.h>

#include "block.h"
#include "types.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define SHMEM_ACCESS_H
#define SHMEM_ATOMS_H
#define SHMEM_FAULT_H
#define SHMEM_CONTEXT_H
#define SHMEM_NAMES_H
#define SHMEM_CUH

#define SHMEMI_KERNEL 1
#define SHMEMI_D static inline __attribute__((unused))
#define SHMEMI_COLD static __attribute__((noinline, unused))
#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline, unused))
#define __builtin_assume(what) ((void)0)

static inline void shmemi_sync_four_warps(uint32_t barrier)
{
    if (barrier < 8 || barrier > 15) {
        fprintf(stderr, "four warps meet at barrier %u, which is CUTLASS's or none\n", barrier);
        abort();
    }
    __syncthreads(); /* blocks here have no more */
}

/* Whether a proxy can access an address; tests turn it off. */
static bool emulated_global = true;
static inline bool __isGlobal(const void *)
{
    return emulated_global;
}

SHMEMI_D uint64_t shmemi_push_lanes(const struct shmemi_ring *r, const struct shmemi_words *words,
                                    int slots)
{
    return shmemi_push(r, words, slots);
}

/* ---------------------------------------------------------------------- memory */

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
template <class TO, class FROM> SHMEMI_D TO shmemi_as(FROM value)
{
    TO to;
    static_assert(sizeof to == sizeof value, "the sizes differ");
    memcpy(&to, &value, sizeof to);
    return to;
}

struct alignas(16) shmemi_wide {
    uint64_t a, b;
};

template <class T> SHMEMI_D void shmemi_store_element(void *at, T v)
{
    emulated_turn();
    __atomic_store_n((T *)at, v, __ATOMIC_RELEASE);
}
template <class T> SHMEMI_D void shmemi_load_element(const void *at, T *v)
{
    emulated_turn();
    *v = __atomic_load_n((const T *)at, __ATOMIC_ACQUIRE);
}
template <class T> SHMEMI_D void shmemi_load_flag(const void *at, T *v)
{
    emulated_look();
    *v = __atomic_load_n((const T *)at, __ATOMIC_ACQUIRE);
}
SHMEMI_D void shmemi_load_pair(const void *at, uint64_t *a, uint64_t *b)
{
    shmemi_load_flag(at, a);
    shmemi_load_flag((const uint64_t *)at + 1, b);
}
SHMEMI_D void shmemi_store_signal(void *at, uint64_t v)
{
    emulated_turn();
    __atomic_store_n((uint64_t *)at, v, __ATOMIC_RELEASE);
}
SHMEMI_D void shmemi_add_signal(void *at, uint64_t v)
{
    emulated_turn();
    __atomic_fetch_add((uint64_t *)at, v, __ATOMIC_RELEASE);
}
SHMEMI_D void shmemi_fence_system(void)
{
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
}
SHMEMI_D void shmemi_complete_system(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* A GPU stops a kernel there. */
SHMEMI_D void emulated_aligned(const void *at, size_t bytes)
{
    if ((uintptr_t)at % bytes != 0) {
        fprintf(stderr, "a word of %zu bytes at %p\n", bytes, at);
        abort();
    }
}

template <class T> SHMEMI_D void shmemi_load_weak(const void *at, T *v)
{
    emulated_aligned(at, sizeof(T));
    memcpy(v, at, sizeof(T));
}
template <class T> SHMEMI_D void shmemi_store_weak(void *at, T v)
{
    emulated_aligned(at, sizeof(T));
    memcpy(at, &v, sizeof(T));
}
SHMEMI_D void shmemi_load_element(const void *at, shmemi_wide *v)
{
    shmemi_load_weak(at, v);
}
template <class T> SHMEMI_D T shmemi_swap_at(void *at, T v)
{
    emulated_turn();
    return __atomic_exchange_n((T *)at, v, __ATOMIC_RELAXED);
}
template <class T> SHMEMI_D T shmemi_cswap_at(void *at, T cond, T v)
{
    emulated_turn();
    __atomic_compare_exchange_n((T *)at, &cond, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return cond;
}
template <class T> SHMEMI_D T shmemi_fetch_add_at(void *at, T v)
{
    emulated_turn();
    return __atomic_fetch_add((T *)at, v, __ATOMIC_RELAXED);
}
template <class R> SHMEMI_D R emulated_real_add(void *at, R v)
{
    emulated_turn();
    typedef typename shmemi_bits<sizeof(R)>::type bits;
    bits seen = __atomic_load_n((bits *)at, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n((bits *)at, &seen,
                                        shmemi_as<bits>((R)(shmemi_as<R>(seen) + v)), false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return shmemi_as<R>(seen);
}
template <> inline float shmemi_fetch_add_at<float>(void *at, float v)
{
    return emulated_real_add(at, v);
}
template <> inline double shmemi_fetch_add_at<double>(void *at, double v)
{
    return emulated_real_add(at, v);
}
SHMEMI_D uint16_t shmemi_fetch_add_half_at(void *at, uint16_t v)
{
    return shmemi_as<uint16_t>(emulated_real_add(at, shmemi_as<__half>(v)));
}
template <class T> SHMEMI_D void shmemi_add_at(void *at, T v)
{
    (void)shmemi_fetch_add_at(at, v);
}
template <class T> SHMEMI_D T shmemi_fetch_and_at(void *at, T v)
{
    emulated_turn();
    return __atomic_fetch_and((T *)at, v, __ATOMIC_RELAXED);
}
template <class T> SHMEMI_D T shmemi_fetch_or_at(void *at, T v)
{
    emulated_turn();
    return __atomic_fetch_or((T *)at, v, __ATOMIC_RELAXED);
}
template <class T> SHMEMI_D T shmemi_fetch_xor_at(void *at, T v)
{
    emulated_turn();
    return __atomic_fetch_xor((T *)at, v, __ATOMIC_RELAXED);
}
template <class T> SHMEMI_D void shmemi_and_at(void *at, T v)
{
    (void)shmemi_fetch_and_at(at, v);
}
template <class T> SHMEMI_D void shmemi_or_at(void *at, T v)
{
    (void)shmemi_fetch_or_at(at, v);
}
template <class T> SHMEMI_D void shmemi_xor_at(void *at, T v)
{
    (void)shmemi_fetch_xor_at(at, v);
}

/* --------------------------------------------------------- errors, contexts, names */

[[noreturn]] static void shmemi_fault(const struct shmemi_device_image *, uint32_t fault,
                                      uint32_t call, int pe, uint64_t address, uint64_t length)
{
    fprintf(stderr, "fault %u in call %#x: PE %d, address %#llx, length %llu\n", fault, call, pe,
            (unsigned long long)address, (unsigned long long)length);
    shmem_global_exit(1);
    abort();
}
SHMEMI_D void shmemi_report_fault(const struct shmemi_device_image *, uint32_t, uint32_t, int,
                                  uint64_t, uint64_t length)
{
    shmem_global_exit((int)length); /* the only report after which a thread would continue */
}
[[noreturn]] SHMEMI_D void shmemi_end(void)
{
    fprintf(stderr, "a wait was ended\n");
    abort();
}

/* The state of this process, with memory for collectives. */
static struct shmemi_device_image shmemi_here;

struct shmem_context {
    const struct shmemi_device_image *image;
    shmem_context(const struct shmemi_device_image *i) : image(i)
    {
    }
    shmem_context(shmem_ctx_t) : image(&shmemi_here)
    {
    }
};
static inline const struct shmemi_device_image *shmemi_open(shmem_context ctx, uint32_t)
{
    return ctx.image;
}
SHMEMI_D shmem_context shmemi_context_of(const struct shmemi_device_image *image)
{
    return shmem_context(image);
}
static inline shmem_context shmem_ctx(const void *)
{
    return shmem_context(&shmemi_here);
}

#define SHMEMI_SHARED static inline __attribute__((unused))
#define SHMEMI_ONLY static inline __attribute__((unused))
#define SHMEMI_DO(...)                                                                             \
    {                                                                                              \
        return __VA_ARGS__;                                                                        \
    }
#define SHMEMI_RUN(result, ...)                                                                    \
    {                                                                                              \
        return __VA_ARGS__;                                                                        \
    }
#define SHMEMI_JOB (&shmemi_here)
template <class H> struct shmemi_late {
    typedef H type;
};

#include <shmem/atomic.h>
#include <shmem/eager_parts.h>
#include <shmem/notify.h>
#include <shmem/queue.h>
#include <shmem/reduce.h>
#include <shmem/setup.h>
#include <shmem/strided.h>
#include <shmem/work.h>

extern "C" int shmemi_context(const void *target, void *context, size_t size);

/*
 * With EMULATED_GPU=1 it is the state of the PE's kernels itself: the process simulates the GPU, so
 * the GPU's memory is the process's own.
 */
static inline void emulated_take(void)
{
    struct {
        const struct shmemi_device_image *image;
        uint64_t heap;
    } made;
    void *target = shmem_malloc(64);
    shmemi_context(target, &made, sizeof made);
    shmemi_here = *made.image;
    shmem_free(target);
}

/* The host's data for kernels beside the state: queues, and the addresses of heaps. */
static inline void emulated_queues(void)
{
    static std::vector<struct shmemi_device_image> queues;
    static std::vector<uint64_t> heaps;
    struct shmemi_device_state *job = &shmemi_here.job;
    for (int pe = 0; pe < job->n_pes; pe++) {
        char *at = (char *)((struct shmemi_device_peer *)job->peers)[pe].direct;
        heaps.push_back(at == nullptr ? 0 : (uint64_t)(uintptr_t)at + job->heap - job->segment);
    }
    job->heaps = heaps.data();
    queues.assign(job->ring_count, shmemi_here);
    for (uint32_t i = 0; i < job->ring_count; i++) {
        queues[i].job.rings = (struct shmemi_ring *)job->rings + i;
        queues[i].job.ring_count = 1;
    }
    if (job->ring_count > 0)
        job->queues = queues.data();
}

/* Fills the state; collective. */
static inline void emulated_begin(void)
{
    if (getenv("EMULATED_GPU") != nullptr) {
        emulated_take();
        return;
    }
    const struct shmemi_device_state *s = shmemi_host_state();
    static uint64_t stop;
    shmemi_here.job = *s;
    uint64_t size = shmemi_work_size((uint64_t)s->n_pes);
    void *work = shmem_align(128, size);
    memset(work, 0, size);
    shmemi_here.job.work = (uint64_t)(uintptr_t)work;
    shmemi_here.job.work_size = size;
    /* Some PEs use the path for kernels that check ranges, some the short one. */
    shmemi_here.job.checks = shmemi_here.job.me & 1 ? 2 : 1;
    for (int pe = 0; pe < s->n_pes && pe < SHMEMI_IMAGE_PES && shmemi_here.job.checks < 2; pe++)
        shmemi_here.direct[pe] =
            (uint64_t)(uintptr_t)((struct shmemi_device_peer *)s->peers)[pe].direct;
    if (shmemi_here.job.stop == nullptr)
        shmemi_here.job.stop = &stop;
    emulated_queues();
    shmem_barrier_all();
}

/* The names, apart from those of the host: the library's own, or those of NVSHMEM. */
#ifdef NVSHMEM_NAMES
#include <nvshmem/nvshmem.h>
#include <nvshmem/nvshmemx.h>
#include <shmem/kernels.h>

#include <nvshmem/device/nvshmemi_own.h>
namespace kernels
{
#include <nvshmem/device/nvshmem_defines.h>
#include <nvshmem/device/nvshmemx_defines.h>
} // namespace kernels
#else
namespace kernels
{
#include <shmem/zz_atomics.h>
#include <shmem/zz_collectives.h>
#include <shmem/eager.cuh>
#include <shmem/zz_notify.h>
#include <shmem/zz_ordering.h>
#include <shmem/zz_reduce.h>
#include <shmem/zz_rma.h>
#include <shmem/zz_setup.h>
#include <shmem/zz_signal.h>
#include <shmem/zz_strided.h>
#include <shmem/zz_wait.h>
} // namespace kernels
#endif

#endif
