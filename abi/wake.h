/*
 * wake.h: how threads that sleep for a PE are woken, by whoever changed what they wait for. The
 * words are shared between processes.
 */
#ifndef SHMEMI_WAKE_H
#define SHMEMI_WAKE_H

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Wakes all who sleep on *wakes, if any does. A sleeper reads *wakes, sets *sleepers, checks once
 * more at what it waits for, and sleeps while *wakes is what it read. Callers store first; the
 * empty asm keeps the compiler from moving those stores behind the load.
 */
static inline void shmemi_wake_sleepers(uint32_t *sleepers, uint32_t *wakes)
{
    __asm__ volatile("" ::: "memory");
    if (__atomic_load_n(sleepers, __ATOMIC_SEQ_CST) == 0)
        return;
    __atomic_store_n(sleepers, 0, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(wakes, 1, __ATOMIC_SEQ_CST);
    /* The only errors are a bad address or alignment. */
    (void)syscall(SYS_futex, wakes, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Ends the nap of the proxy, which sleeps while *napping is set. */
static inline void shmemi_end_nap(uint32_t *napping)
{
    if (__atomic_exchange_n(napping, 0, __ATOMIC_SEQ_CST))
        (void)syscall(SYS_futex, napping, FUTEX_WAKE, 1, NULL, NULL, 0);
}

#endif
