/*
 * notification.h: puts that add one to a counter at their target, and waits for these counters.
 *
 * Each PE has state.notify_count counters of 64 bits in its internal area, which is main memory
 * even if the heap is in the memory of a GPU. Every PE of the node adds to them, as do the engine's
 * threads; only their owner sets them. An addition has release order after the bytes, and the owner
 * reads with acquire order.
 *
 * In a job with GPUs each counter has a second word, in the heap, to which kernels add by their
 * stores (state.notify_stores). The value is the sum of both, modulo 2^64: the word of the kernels
 * only grows, and the owner sets the sum by the word in main memory.
 */
#ifndef SHMEMI_NOTIFICATION_H
#define SHMEMI_NOTIFICATION_H

#include "front.h"

#pragma GCC visibility push(hidden)

/* At init: frees all ranges of counters. */
void shmemi_notification_open(void);

/* Puts, and then adds to a counter of the PE. shmemi_put_notify calls it if this process cannot
 * store at dest, or an argument is wrong. */
void shmemi_put_notify_slow(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int notify,
                            int pe, bool nbi, const char *call);

/* These implement shmemx_notify_wait, _test, _fetch, _reset, _alloc and _free. */
uint64_t shmemi_notification_wait(int notify, uint64_t count, const char *call);
int shmemi_notification_test(int notify, uint64_t count, const char *call);
uint64_t shmemi_notification_fetch(int notify, const char *call);
void shmemi_notification_reset(int notify, uint64_t value, const char *call);
int shmemi_notification_alloc(int n, const char *call);
void shmemi_notification_free(int first, const char *call);

/* These functions are for the library's own counters, which follow the program's in the table. */

/* Returns the value of a counter without a read of GPU memory: at most the present value. */
uint64_t shmemi_notification_known(int notify);
/* Returns the present value of a counter. It reads the word to which kernels add, which is in the
 * memory of the GPU. */
uint64_t shmemi_notification_value(int notify, const char *call);
/* Sets n counters of this PE to 0, from `first` on. */
void shmemi_notification_zero(int first, int n, const char *call);

/* Ends the job unless the program may use the counter. */
void shmemi_notification_check(int notify, const char *call);
/* Ends the job if a value is above 2^63 - 1, the largest that a program may use for a counter. */
void shmemi_notification_check_value(uint64_t value, const char *what, const char *call);

/* Returns the offset of a counter from the user heap. */
SHMEMI_INLINE int64_t shmemi_notification_offset(int notify)
{
    return (int64_t)sizeof(uint64_t) * notify - (int64_t)shmemi_state.notify_offset;
}

/* Returns the address of a counter of a PE of this node. */
SHMEMI_INLINE uint64_t *shmemi_notification_of(int pe, int notify)
{
    char *base = shmemi_state.peer_base[pe];
    return (uint64_t *)(void *)(base + shmemi_notification_offset(notify));
}

/* Reports whether the program has a counter of that number. Before init there are none, so that
 * this also covers calls before init. */
SHMEMI_INLINE bool shmemi_notification_exists(int notify)
{
    return SHMEMI_LIKELY((uint32_t)notify < shmemi_state.notify_count);
}

/* Puts n bytes, and adds one to a counter of the target after they have arrived. nbi: only the slow
 * function may return before the bytes are copied. */
SHMEMI_INLINE void shmemi_put_notify(shmem_ctx_t ctx, void *dest, const void *source, size_t n,
                                     int notify, int pe, bool nbi, const char *call)
{
    void *to = shmemi_reach(dest, n, pe);
    if (SHMEMI_UNLIKELY(to == NULL || source == NULL || !shmemi_notification_exists(notify))) {
        shmemi_put_notify_slow(ctx, dest, source, n, notify, pe, nbi, call);
        return;
    }
    shmemi_copy(to, source, n);
    shmemi_publish_add(shmemi_notification_of(pe, notify), 1);
    shmemi_notify(pe);
}

#pragma GCC visibility pop

#endif
