/*
 * order.h: the memory orders of the host, by purpose.
 *
 * The comment of each macro says what the access is for and which access of the other side it pairs
 * with. The table below has its instructions on x86-64 and on aarch64. No other file of the front
 * has an atomic access or a barrier of its own (tests/repo). What C shares with Go has the same
 * orders (abi/amo.h, mailbox.h, wake.h), and device code has its own (device/shmem/order.h).
 *
 * x86-64 shows the stores of a thread to others in program order, and does not move a load before
 * another load, or a store before a load. Only a load may pass an earlier store to another address.
 * So there most orders restrict only the compiler, and only a full barrier delays that load. Copies
 * that bypass the cache are weaker, and end with their own sfence (glibc's memcpy). aarch64
 * promises none of this and has an instruction for each order. Below, its atomic instructions are
 * those of Armv8.1 (LSE); older processors have a loop of exclusive loads and stores instead.
 *
 *     macros                                     x86-64            aarch64
 *     read_once, write_once                      mov               ldr, str
 *     count, reserve                             lock add, cmpxchg ldadd, cas
 *     observe, publish, release                  mov               ldar, stlr
 *     publish_add, release_bits                  lock add, and     ldaddl, ldclrl
 *     acquire_if, acquire_flag, acquire_bits     lock cmpxchg, ... casa, swpa, ldseta
 *     arrive, advance                            lock xadd, ...    ldaddal, casal
 *     announce                                   xchg              stlr
 *     announce_add, announce_if                  lock xadd, ...    ldaddal, casal
 *     load_announced                             mov               ldar
 *     fence_light, _compiler, _handler           no instruction    no instruction
 *     fence_stores                               no instruction    dmb ish
 *     fence_all                                  lock or, mfence   dmb ish
 *     seqcount_*                                 mov               ldar, dmb ishld, stlr, dmb ish
 *
 * The name of a macro has shmemi_ before it. `at` points to a word of up to 8 bytes, aligned to its
 * size, which other threads, other PEs of the node, or NICs may access at the same time.
 */
#ifndef SHMEMI_ORDER_H
#define SHMEMI_ORDER_H

#include "amo.h"

#include <stdbool.h>
#include <stdint.h>

/* ---------------------------------------------------------------- no order */

/* Load and store a whole word, in no order with other accesses: a statistic or a hint, a word that
 * a lock guards and that is also read without the lock, or a word that another access of the caller
 * orders. Other side: the same macros. */
#define shmemi_read_once(at) __atomic_load_n((at), __ATOMIC_RELAXED)
#define shmemi_write_once(at, value) __atomic_store_n((at), (value), __ATOMIC_RELAXED)

/* Adds to a count, and returns the new value. Other side: shmemi_read_once. */
#define shmemi_count(at, n) __atomic_add_fetch((at), (n), __ATOMIC_RELAXED)

/* Reserves a part of a range that a count divides: true if *at was *seen and is now `to`; else
 * *seen becomes the value of *at. This orders nothing: the thread that has reserved a part
 * publishes what it writes there by another access. Other side: the same macro. */
#define shmemi_reserve(at, seen, to)                                                               \
    __atomic_compare_exchange_n((at), (seen), (to), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)

/* ---------------------------------------------------- publish and observe */

/* Stores a word that announces the caller's earlier stores: signals, marks, epochs, table entries.
 * Other side: shmemi_observe, a load of abi/mailbox.h or of Go, or a wait of device code. A load
 * that sees the word sees those stores. */
#define shmemi_publish(at, value) __atomic_store_n((at), (value), __ATOMIC_RELEASE)

/* Loads a word that announces stores: those are visible to the caller's later loads. A NIC or a GPU
 * may also have written the word. They write it after the data, and this macro keeps the loads of
 * the data after the load of the word. Other side: shmemi_publish and the macros like it, the
 * completions of a provider. */
#define shmemi_observe(at) __atomic_load_n((at), __ATOMIC_ACQUIRE)

/* Adds to a word that announces the caller's earlier stores, and returns the previous value. Other
 * side: shmemi_observe; PEs that add meanwhile need no order with each other. */
#define shmemi_publish_add(at, n) __atomic_fetch_add((at), (n), __ATOMIC_RELEASE)

/* Counts the arrival of the caller at a barrier, and returns how many have arrived. Each caller
 * publishes its earlier stores, and the last one sees those of all. Other side: the same macro, and
 * shmemi_observe of the callers that wait for the count. */
#define shmemi_arrive(at) __atomic_add_fetch((at), 1, __ATOMIC_ACQ_REL)

/* Changes a word, which several threads change so, from *seen to `to`, and returns true. If the
 * word has another value, *seen becomes that, and the result is false. It may fail spuriously, so
 * callers loop. The thread that changes the word publishes its own earlier stores, and sees those
 * of the threads that changed it before. Other side: the same macro and shmemi_observe. */
#define shmemi_exchange_if(at, seen, to)                                                           \
    __atomic_compare_exchange_n((at), (seen), (to), true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

/* --------------------------------------------------------------- ownership */

/* Acquires what a word guards: a lock, a buffer, an entry, a bit of a set. The new owner sees what
 * the previous owner stored. Other side: shmemi_release, shmemi_release_bits; for the network lock
 * also Go (runtime/proxy/wake). _if: true if the word was *seen and is now `to`. _flag: returns the
 * previous value, 0 if the word was free. _bits: returns the previous word. */
#define shmemi_acquire_if(at, seen, to)                                                            \
    __atomic_compare_exchange_n((at), (seen), (to), false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)
#define shmemi_acquire_flag(at) __atomic_exchange_n((at), 1, __ATOMIC_ACQUIRE)
#define shmemi_acquire_bits(at, bits) __atomic_fetch_or((at), (bits), __ATOMIC_ACQUIRE)

/* Releases what a word guards, after all earlier stores of the owner. Other side: the
 * shmemi_acquire macros. */
#define shmemi_release(at, value) __atomic_store_n((at), (value), __ATOMIC_RELEASE)
#define shmemi_release_bits(at, bits) __atomic_fetch_and((at), ~(bits), __ATOMIC_RELEASE)

/* ------------------------------------------------- announce, and then check */

/*
 * Two sides each write their own word and then read the other's. For example a thread that stops
 * polling lowers a count and then reads whether the proxy sleeps, while the proxy announces its
 * sleep and then reads the count. At least one of the two sees the other's store. Only one order of
 * all these accesses guarantees that; with publish and observe both loads could be executed before
 * both stores are visible. Other side: the same macros in the other order, or sequentially
 * consistent atomics of Go.
 */
#define shmemi_announce(at, value) __atomic_store_n((at), (value), __ATOMIC_SEQ_CST)
#define shmemi_announce_add(at, n) __atomic_fetch_add((at), (n), __ATOMIC_SEQ_CST)
#define shmemi_announce_if(at, seen, to)                                                           \
    __atomic_compare_exchange_n((at), (seen), (to), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#define shmemi_load_announced(at) __atomic_load_n((at), __ATOMIC_SEQ_CST)

/* ---------------------------------------------------------------- barriers */

/*
 * The writer's side of a membarrier: it is between a store for which a PE may sleep, and the load
 * of that PE's word `sleepers`. A sleeper announces itself and then has the kernel run a full
 * barrier in every process of the node. So either it sees the store, or this load sees it; the
 * processor needs no barrier here, on any architecture, but the compiler must not move the store
 * after the load. Other side: membarrier() of sleep.c.
 */
#define shmemi_fence_light() __asm__ volatile("" ::: "memory")

/* Restricts only the compiler: a loop of shmem_g loads again each time, and the copying loop of
 * statics.c stays a loop. Other side: any writer, since a store becomes visible after some time
 * without a fence. */
#define shmemi_fence_compiler() __asm__ volatile("" ::: "memory")

/* Orders accesses of a thread that a signal handler in the same thread also makes: a thread sees
 * its own accesses in order, so this restricts only the compiler. Other side: the handler. */
#define shmemi_fence_handler() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* shmem_fence: the stores before it are visible before the stores after it. Other side:
 * shmemi_observe of a PE that reads a later one. */
#define shmemi_fence_stores() __atomic_thread_fence(__ATOMIC_RELEASE)

/* shmem_quiet, and the beginning of a barrier: the stores before it are visible before any access
 * after it. A PE that stores, calls quiet and then loads must not load a value from before its
 * store was visible, which x86-64 would otherwise allow. Other side: the same macro in another PE.
 */
#define shmemi_fence_all() __atomic_thread_fence(__ATOMIC_SEQ_CST)

/* --------------------------------------------------- records under a count */

/*
 * A sequence lock: a record that one thread changes and others copy without a lock, with a count.
 * The count is odd while the record changes; a reader copies again if the count was odd, or has
 * changed since the copy began. Writers: begin, or try_begin if several may write, which fails if
 * another one does; then end. Readers: begin, the copy, and retry, which reports whether the copy
 * is not usable. A reader that compares values before retry has confirmed them must load them by
 * shmemi_read_once.
 */

/* Begins a change of a record that only the calling thread changes: makes the count odd. It was
 * even. */
SHMEMI_INLINE void shmemi_seqcount_write_begin(uint32_t *at)
{
    shmemi_write_once(at, *at + 1);
    shmemi_fence_stores(); /* the record does not change before the count is odd */
}

/* Begins a change of a record that several threads may change. Returns false if another thread is
 * changing it. */
SHMEMI_INLINE bool shmemi_seqcount_write_try_begin(uint32_t *at)
{
    uint32_t even = shmemi_read_once(at);
    if (even & 1 || !shmemi_acquire_if(at, &even, even + 1))
        return false;
    shmemi_fence_stores();
    return true;
}

/* Ends a change of a record: the count is even again. */
SHMEMI_INLINE void shmemi_seqcount_write_end(uint32_t *at)
{
    shmemi_publish(at, *at + 1);
}

/* Returns the count before a copy of the record, for shmemi_seqcount_read_retry. An odd one means
 * that the record is being changed. */
SHMEMI_INLINE uint32_t shmemi_seqcount_read_begin(const uint32_t *at)
{
    return shmemi_observe(at);
}

/* Reports whether a record may have changed during a copy of it. began is the count before the
 * copy, from shmemi_seqcount_read_begin. */
SHMEMI_INLINE bool shmemi_seqcount_read_retry(const uint32_t *at, uint32_t began)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* the copy is complete before the second read */
    return began & 1 || shmemi_read_once(at) != began;
}

#endif
