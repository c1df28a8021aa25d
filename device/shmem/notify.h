/*
 * notify.h: puts that increment a counter of their target, and the counters of this PE.
 *
 * Where GPU and CPU cannot add to one word together, a counter is two words, and its value is their
 * sum. Stores of kernels add to the one in the heap (job.notify), which is only ever added to. The
 * network and the host add to the one in main memory (job.notify_main), and only this PE sets that
 * one.
 */
#ifndef SHMEM_NOTIFY_H
#define SHMEM_NOTIFY_H

#include "signal.h"
#include "wait.h"

#ifdef SHMEMI_KERNEL

/*
 * A wait polls a counter's word in main memory, which takes a microsecond over PCIe, only once in
 * SHMEMI_NOTIFY_POLLS polls of the word in the heap.
 */
#define SHMEMI_NOTIFY_POLLS 4

/* Stops the kernel if there is no counter of that number. Before init there are none. */
SHMEMI_D void shmemi_check_counter(const struct shmemi_device_image *image, uint32_t call,
                                   int notify)
{
    if ((uint32_t)notify >= image->job.notify_count)
        shmemi_fault(image, image->job.n_pes == 0 ? SHMEMI_FAULT_INIT : SHMEMI_FAULT_COUNTER, call,
                     image->job.me, (uint32_t)notify, image->job.notify_count);
}

/*
 * Stops the kernel at a value above 2^63 - 1, the largest that a program may use for a counter. A
 * counter has 64 bits, so no addition overflows it.
 */
SHMEMI_D void shmemi_check_count(const struct shmemi_device_image *image, uint32_t call,
                                 uint64_t value)
{
    if (value >> 63 != 0)
        shmemi_fault(image, SHMEMI_FAULT_COUNT, call, image->job.me, 0, value);
}

/* Returns the word of a notification counter in this PE's heap. */
SHMEMI_D uint64_t *shmemi_counter(const struct shmemi_device_image *image, int notify)
{
    return (uint64_t *)(uintptr_t)image->job.notify + notify;
}

/*
 * Pushes a put with its notification into the ring. The notification then adds 1 to the word in
 * main memory, like one that the host sends: job.notify_at is the offset of these words, of 8
 * bytes, in the segment of each PE. Without bytes only the notification is sent. NBI: does not wait
 * until the source may be used again.
 */
template <int NBI>
SHMEMI_D void shmemi_put_notify_ring(const struct shmemi_device_image *image, const void *dest,
                                     const void *source, uint64_t bytes, int notify, int pe)
{
    uint64_t at = image->job.notify_at + 8 * (uint64_t)(uint32_t)notify;
    if (bytes == 0) {
        shmemi_send_atom(image, SHMEMI_KIND_ADD, at, 8 /* bytes */, 1 /* operand */, pe);
        return;
    }
    struct shmemi_put_call c = {
        image, (const char *)source, shmemi_offset(image, dest), bytes, at, 1, SHMEMI_KIND_ADD, pe};
    shmemi_send_put_signal<NBI>(&c);
}

/*
 * The threads of a scope put bytes to a PE and add 1 to its notification counter `notify`. They
 * synchronise after their stores, and then one thread adds with release semantics: a PE that sees
 * the counter's new value also sees all bytes. If there are no bytes, dest need not be an address.
 * A thread without bytes to copy (idle) only synchronises. The first thread is never idle, and none
 * is if there is a ring, so that all threads synchronise equally often. `to` and `at` are the
 * addresses of dest and of the counter at the PE, or NULL. NBI: as for shmemi_put_notify_ring.
 */
template <class SCOPE, int NBI>
SHMEMI_D void shmemi_put_notify(const struct shmemi_device_image *image, uint32_t call, void *dest,
                                const void *source, uint64_t bytes, int notify, int pe)
{
    int idle = shmemi_idle<SCOPE>(image, dest, source, bytes);
    char *to = NULL, *at = NULL;
    if (!idle) {
        shmemi_check_counter(image, call, notify);
        at = (char *)shmemi_counter(image, notify);
        if (bytes != 0) {
            to = shmemi_reach(image, call, dest, bytes, pe);
            /* The target's counter has the same distance from this one as its data from dest. */
            at = to == NULL ? NULL : at + (to - (char *)dest);
        } else {
            shmemi_check_pe(image, call, pe, at, 0 /* bytes */);
            at = shmemi_direct(image, at, pe);
        }
    }
    if (idle || at != NULL) {
        if (!idle && bytes != 0)
            shmemi_copy<SCOPE, 0 /* FAR */>(to, source, bytes);
        SCOPE::sync();
        if (SCOPE::rank() == 0)
            shmemi_add_signal(at, 1 /* value */);
    } else {
        SCOPE::sync();
        if (SCOPE::rank() == 0)
            shmemi_put_notify_ring<NBI>(image, dest, source, bytes, notify, pe);
        SCOPE::sync();
    }
}

/*
 * Returns the value of a counter, the sum of its two words. polls counts the polls of a wait, and
 * *main keeps the value of the word in main memory between the polls that load it, of which the
 * first, poll 0, is one. The caller sets *main to 0 before that, because a counter may have no word
 * in main memory. The bytes of all puts that the sum counts are visible afterwards.
 */
SHMEMI_D uint64_t shmemi_notified(const struct shmemi_device_image *image, int notify,
                                  uint32_t polls, uint64_t *main)
{
    const uint64_t *words = (const uint64_t *)image->job.notify_main;
    uint64_t stores;
    if (words != NULL && polls % SHMEMI_NOTIFY_POLLS == 0)
        shmemi_load_flag(words + notify, main);
    shmemi_load_flag(shmemi_counter(image, notify), &stores);
    return *main + stores;
}

/* Returns the value of a notification counter of this PE. */
SHMEMI_D uint64_t shmemi_notify_fetch(const struct shmemi_device_image *image, uint32_t call,
                                      int notify)
{
    uint64_t in_main_memory = 0; /* not used again */
    shmemi_check_counter(image, call, notify);
    return shmemi_notified(image, notify, 0 /* polls so far */, &in_main_memory);
}

/* Reports whether a notification counter of this PE has reached count. */
SHMEMI_D int shmemi_notify_test(const struct shmemi_device_image *image, uint32_t call, int notify,
                                uint64_t count)
{
    shmemi_check_count(image, call, count);
    return shmemi_notify_fetch(image, call, notify) >= count;
}

/* Waits until a notification counter of this PE has reached count, and returns its value. */
SHMEMI_D uint64_t shmemi_notify_wait(const struct shmemi_device_image *image, uint32_t call,
                                     int notify, uint64_t count)
{
    uint32_t polls = 0;
    uint64_t main = 0, value;
    shmemi_check_counter(image, call, notify);
    shmemi_check_count(image, call, count);
    while ((value = shmemi_notified(image, notify, polls, &main)) < count)
        shmemi_keep_waiting(image, &polls);
    return value;
}

/*
 * Sets a counter of this PE to value. It stores the difference into the word in main memory (below
 * 0 it wraps around, as does the sum), and leaves the word to which kernels' stores add; so it may
 * lose only an addition of the host or the network that arrives meanwhile. A counter that
 * is one word is set itself, and may lose any addition that arrives meanwhile. The fence orders the
 * new value before any later access by which this thread, or a thread that synchronises with it,
 * may let a PE notify again.
 */
SHMEMI_D void shmemi_notify_reset(const struct shmemi_device_image *image, uint32_t call,
                                  int notify, uint64_t value)
{
    uint64_t *main = (uint64_t *)image->job.notify_main, stores;
    shmemi_check_counter(image, call, notify);
    shmemi_check_count(image, call, value);
    if (main != NULL) {
        shmemi_load_flag(shmemi_counter(image, notify), &stores);
        shmemi_store_signal(main + notify, value - stores);
    } else {
        shmemi_store_signal(shmemi_counter(image, notify), value);
    }
    shmemi_fence_system();
}

#endif

#endif
