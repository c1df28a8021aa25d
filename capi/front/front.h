/*
 * front.h: the inline parts of the public functions.
 *
 * The public functions are generated (build/gen/front): each is one line over a size-erased
 * function. The parts that cost less than a microsecond on the node are here: one range check, one
 * load of the peer's base, the access. Everything else, errors included, is in functions of
 * remote.c and quiet.c.
 *
 * `call` is the public name that the program used; it is read only when something has to be
 * reported.
 */
#ifndef SHMEMI_FRONT_H
#define SHMEMI_FRONT_H

#include "context.h"
#include "notify.h"
#include "quiet.h"
#include "ranges.h"
#include "remote.h"

#pragma GCC visibility push(hidden)

/* ------------------------------------------------ reaching a peer's memory */

/*
 * Returns the address in this process of n bytes at symmetric address addr of PE pe. Returns NULL
 * if the arguments are invalid, the bytes are symmetric but not in the user heap (globals,
 * registered buffers), or fast_base of the PE is NULL: it is on another node or lost, its heap is
 * in the memory of a GPU, or each access has to take the slow path (for checks, or to show it to a
 * profiler). The caller then calls a slow function, which distinguishes these cases. Before init
 * n_pes is 0, so that the first comparison also covers a call before init or after finalize.
 */
SHMEMI_INLINE void *shmemi_reach(const void *addr, size_t n, int pe)
{
    const struct shmemi_state *s = &shmemi_state;
    uintptr_t offset = (uintptr_t)addr - s->heap_base;
    if (SHMEMI_UNLIKELY((uint32_t)pe >= s->n_pes || offset > s->heap_size ||
                        n > s->heap_size - offset))
        return NULL;
    char *base = s->fast_base[pe];
    return SHMEMI_LIKELY(base != NULL) ? base + offset : NULL;
}

/* ------------------------------------------------------------- put and get */

/* Operations of this file that write into a PE's memory end with shmemi_notify (notify.h), which
 * wakes the threads of that PE that sleep in a wait for memory. */

/* The slow half of an operation: the function that put, get and the other functions of this file
 * call for PEs of other nodes and for errors. Files of public functions define SHMEMI_PUBLIC. Their
 * slow halves show the call to a profiler as a range (_ranged); those of other files do not
 * (_slow). So ranges cost the fast path nothing, and calls that the library makes within a call
 * show no range.
 */
#ifdef SHMEMI_PUBLIC
#define SHMEMI_SLOW(operation) shmemi_##operation##_ranged
#else
#define SHMEMI_SLOW(operation) shmemi_##operation##_slow
#endif

/* Copies n bytes, like memcpy. 8 bytes, one element of the most common types, are copied by one
 * move even if the compiler does not know n: a call of the C library's memcpy costs 2 ns more. */
SHMEMI_INLINE void shmemi_copy(void *to, const void *from, size_t n)
{
    if (n == 8)
        __builtin_memcpy(to, from, 8);
    else
        memcpy(to, from, n);
}

/*
 * Puts n bytes: copies them if this process reaches the PE's memory, otherwise calls the slow half.
 * A NULL source, like a NULL dest of get, is passed to the slow half, which reports it unless n is
 * 0. The cost of this check is not measurable: with and without it a put of 8 bytes takes 1.5 to
 * 1.7 ns and a get 1.2 to 1.8 ns. The differences come from the place at which the linker puts a
 * function; functions of six names were measured.
 */
SHMEMI_INLINE void shmemi_put(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe,
                              const char *call)
{
    void *to = shmemi_reach(dest, n, pe);
    if (SHMEMI_UNLIKELY(to == NULL || source == NULL)) {
        SHMEMI_SLOW(put)(ctx, dest, source, n, pe, call);
        return;
    }
    shmemi_copy(to, source, n);
    shmemi_notify(pe);
}

/* Puts n bytes without blocking: if this process reaches the PE's memory, it copies them at once,
 * like shmemi_put. */
SHMEMI_INLINE void shmemi_put_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe,
                                  const char *call)
{
    void *to = shmemi_reach(dest, n, pe);
    if (SHMEMI_UNLIKELY(to == NULL || source == NULL)) {
        SHMEMI_SLOW(put_nbi)(ctx, dest, source, n, pe, call);
        return;
    }
    shmemi_copy(to, source, n);
    shmemi_notify(pe);
}

/* Gets n bytes: copies them if this process reaches the PE's memory, otherwise calls the slow half.
 */
SHMEMI_INLINE void shmemi_get(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe,
                              const char *call)
{
    const void *from = shmemi_reach(source, n, pe);
    if (SHMEMI_LIKELY(from != NULL && dest != NULL))
        shmemi_copy(dest, from, n);
    else
        SHMEMI_SLOW(get)(ctx, dest, source, n, pe, call);
}

/* Gets n bytes without blocking: if this process reaches the PE's memory, it copies them at once,
 * like shmemi_get. */
SHMEMI_INLINE void shmemi_get_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe,
                                  const char *call)
{
    const void *from = shmemi_reach(source, n, pe);
    if (SHMEMI_LIKELY(from != NULL && dest != NULL))
        shmemi_copy(dest, from, n);
    else
        SHMEMI_SLOW(get_nbi)(ctx, dest, source, n, pe, call);
}

/* Puts one element of n bytes, which `value` points to. Each caller passes a constant n, so the
 * compiler turns the copy of an element of up to 8 bytes into one store, of which no reader sees a
 * part. */
SHMEMI_INLINE void shmemi_p(shmem_ctx_t ctx, void *dest, const void *value, size_t n, int pe,
                            const char *call)
{
    void *to = shmemi_reach(dest, n, pe);
    if (SHMEMI_UNLIKELY(to == NULL)) {
        SHMEMI_SLOW(put)(ctx, dest, value, n, pe, call);
        return;
    }
    __builtin_memcpy(to, value, n);
    shmemi_notify(pe);
}

/* Gets one element into value. Each caller passes a constant n, as for shmemi_p. */
SHMEMI_INLINE void shmemi_g(shmem_ctx_t ctx, void *value, const void *source, size_t n, int pe,
                            const char *call)
{
    const void *from = shmemi_reach(source, n, pe);
    /* A program may wait in a loop of shmem_g for a store of another PE. The compiler sees no store
     * in such a loop, and would load the element only once. */
    shmemi_fence_compiler();
    if (SHMEMI_LIKELY(from != NULL)) {
        __builtin_memcpy(value, from, n);
    } else {
        __builtin_memset(value, 0, n); /* the value that a get from a lost PE returns */
        SHMEMI_SLOW(get)(ctx, value, source, n, pe, call);
    }
}

/* ----------------------------------------------------------------- atomics */

/* Reports whether an atomic operation on n bytes, a power of two, must be refused. Between hosts it
 * needs an aligned object. The library refuses others on a node as well, so that a program that
 * runs on one node also runs on several. */
SHMEMI_INLINE bool shmemi_misaligned(const void *at, size_t n)
{
    return ((uintptr_t)at & (n - 1)) != 0;
}

/* Performs an atomic operation on 4 bytes: by the CPU if this process reaches the PE's memory,
 * otherwise by the slow half. compare is for compare-and-swap; other operations ignore it. Returns
 * the old value; an operation that does not fetch may return anything. */
SHMEMI_INLINE uint32_t shmemi_amo32(shmem_ctx_t ctx, enum shmemi_amo op, const void *dest,
                                    uint32_t operand, uint32_t compare, int pe, const char *call)
{
    uint32_t *at = shmemi_reach(dest, sizeof *at, pe);
    if (SHMEMI_UNLIKELY(at == NULL || shmemi_misaligned(at, sizeof *at)))
        return (uint32_t)SHMEMI_SLOW(amo)(ctx, op, /* width */ 4, (void *)dest, operand, compare,
                                          pe, call);
    uint32_t old = shmemi_amo_at32(op, at, operand, compare);
    if (shmemi_amo_writes(op))
        shmemi_notify(pe);
    return old;
}

/* Does what shmemi_amo32 does, on 8 bytes. */
SHMEMI_INLINE uint64_t shmemi_amo64(shmem_ctx_t ctx, enum shmemi_amo op, const void *dest,
                                    uint64_t operand, uint64_t compare, int pe, const char *call)
{
    uint64_t *at = shmemi_reach(dest, sizeof *at, pe);
    if (SHMEMI_UNLIKELY(at == NULL || shmemi_misaligned(at, sizeof *at)))
        return SHMEMI_SLOW(amo)(ctx, op, /* width */ 8, (void *)dest, operand, compare, pe, call);
    uint64_t old = shmemi_amo_at64(op, at, operand, compare);
    if (shmemi_amo_writes(op))
        shmemi_notify(pe);
    return old;
}

/* Performs an atomic operation on 4 bytes without blocking: by the CPU at once if this process
 * reaches the PE's memory, otherwise by the slow half. The old value, *fetch, is valid after the
 * next quiet. */
SHMEMI_INLINE void shmemi_amo32_nbi(shmem_ctx_t ctx, enum shmemi_amo op, void *fetch,
                                    const void *dest, uint32_t operand, uint32_t compare, int pe,
                                    const char *call)
{
    uint32_t *at = shmemi_reach(dest, sizeof *at, pe);
    if (SHMEMI_UNLIKELY(at == NULL || shmemi_misaligned(at, sizeof *at) || fetch == NULL)) {
        SHMEMI_SLOW(amo_nbi)(ctx, op, 4, fetch, (void *)dest, operand, compare, pe, call);
        return;
    }
    *(uint32_t *)fetch = shmemi_amo_at32(op, at, operand, compare);
    if (shmemi_amo_writes(op))
        shmemi_notify(pe);
}

/* Does what shmemi_amo32_nbi does, on 8 bytes. */
SHMEMI_INLINE void shmemi_amo64_nbi(shmem_ctx_t ctx, enum shmemi_amo op, void *fetch,
                                    const void *dest, uint64_t operand, uint64_t compare, int pe,
                                    const char *call)
{
    uint64_t *at = shmemi_reach(dest, sizeof *at, pe);
    if (SHMEMI_UNLIKELY(at == NULL || shmemi_misaligned(at, sizeof *at) || fetch == NULL)) {
        SHMEMI_SLOW(amo_nbi)(ctx, op, 8, fetch, (void *)dest, operand, compare, pe, call);
        return;
    }
    *(uint64_t *)fetch = shmemi_amo_at64(op, at, operand, compare);
    if (shmemi_amo_writes(op))
        shmemi_notify(pe);
}

/* Returns the bits of a float as an integer, for atomics on floats: these only set, fetch and swap,
 * which needs no arithmetic. */
SHMEMI_INLINE uint32_t shmemi_bits32(float f)
{
    uint32_t u;
    __builtin_memcpy(&u, &f, sizeof u);
    return u;
}

/* Returns the bits of a double. */
SHMEMI_INLINE uint64_t shmemi_bits64(double d)
{
    uint64_t u;
    __builtin_memcpy(&u, &d, sizeof u);
    return u;
}

/* Returns the float with these bits. */
SHMEMI_INLINE float shmemi_float(uint32_t u)
{
    float f;
    __builtin_memcpy(&f, &u, sizeof f);
    return f;
}

/* Returns the double with these bits. */
SHMEMI_INLINE double shmemi_double(uint64_t u)
{
    double d;
    __builtin_memcpy(&d, &u, sizeof d);
    return d;
}

/* ------------------------------------------------------------------ signals */

/* Puts n bytes and then a signal: if this process reaches the PE's memory, it stores the signal
 * after the bytes, with release. sig_op: SHMEM_SIGNAL_SET or _ADD. nbi: only the slow half may
 * return before the bytes are copied. */
SHMEMI_INLINE void shmemi_put_signal(shmem_ctx_t ctx, void *dest, const void *source, size_t n,
                                     uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                                     bool nbi, const char *call)
{
    void *to = shmemi_reach(dest, n, pe);
    uint64_t *sig = shmemi_reach(sig_addr, sizeof *sig, pe);
    if (SHMEMI_UNLIKELY(to == NULL || source == NULL || sig == NULL ||
                        shmemi_misaligned(sig, sizeof *sig) ||
                        (sig_op != SHMEM_SIGNAL_SET && sig_op != SHMEM_SIGNAL_ADD))) {
        SHMEMI_SLOW(put_signal)(ctx, dest, source, n, sig_addr, signal, sig_op, pe, nbi, call);
        return;
    }
    shmemi_copy(to, source, n);
    if (sig_op == SHMEM_SIGNAL_SET)
        shmemi_publish(sig, signal);
    else
        shmemi_publish_add(sig, signal);
    shmemi_notify(pe);
}

/* ----------------------------------------------------------------- ordering */

/* Implements shmem_fence. A fence of stores suffices, unless the context has operations on the
 * network (unfenced) or does not exist (its handle differs), copies of a GPU are under way, or a
 * profiler shows each fence (fast_order is 0). */
SHMEMI_INLINE void shmemi_fence(shmem_ctx_t ctx, const char *call)
{
    const struct shmemi_context *c = shmemi_context_at(ctx);
    shmemi_fence_stores();
    if (SHMEMI_UNLIKELY(shmemi_marked(&c->unfenced) || shmemi_gpu_moving() || c->handle != ctx ||
                        shmemi_state.fast_order == 0))
        SHMEMI_SLOW(fence)(ctx, call);
}

/* Implements shmem_quiet. A full memory fence suffices, unless the context has operations on the
 * network (dirty) or does not exist (its handle differs), copies of a GPU are under way, kernels of
 * the job use the network, or a profiler shows each quiet (fast_order is 0). */
SHMEMI_INLINE void shmemi_quiet(shmem_ctx_t ctx, const char *call)
{
    const struct shmemi_context *c = shmemi_context_at(ctx);
    shmemi_fence_all();
    if (SHMEMI_UNLIKELY(shmemi_marked(&c->dirty) || shmemi_gpu_moving() ||
                        shmemi_state.kernel_rings || c->handle != ctx ||
                        shmemi_state.fast_order == 0))
        SHMEMI_SLOW(quiet)(ctx, call);
}

#pragma GCC visibility pop

#endif
