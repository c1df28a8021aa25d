/*
 * wake.h: wakes threads of a PE that sleep in a wait, after a word for which they may wait was
 * changed. The words here are shared between processes.
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
 * Wakes all threads that sleep on *wakes, if there are any. A sleeper reads *wakes, sets *sleepers,
 * checks once more the word for which it waits, and sleeps while *wakes is unchanged. Callers have
 * stored to that word before the call; the empty asm keeps the compiler from moving the stores
 * behind the load. The processor's order costs callers nothing: sleepers pay for it with a
 * membarrier (capi/front/sleep.c).
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

/* Ends the nap of the proxy, which sleeps while *napping is set. No other thread does, so one is
 * woken. */
static inline void shmemi_end_nap(uint32_t *napping)
{
    if (__atomic_exchange_n(napping, 0, __ATOMIC_SEQ_CST))
        (void)syscall(SYS_futex, napping, FUTEX_WAKE, 1, NULL, NULL, 0);
}

#endif
