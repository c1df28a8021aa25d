/*
 * record.h: the flight recorder's entries, and the time in them.
 *
 * runtime/proxy/flight is the flight recorder; this file has the part that C needs to record its
 * own events. The writer holds the endpoint's lock. Readers are other processes, and see whole
 * words.
 */
#ifndef SHMEMI_RECORD_H
#define SHMEMI_RECORD_H

#include "zz_event.h"

#include <time.h>

/* Returns the 24-bit detail of an event about a message: its kind and its size in bytes. */
static inline uint32_t shmemi_event_message(uint32_t kind, size_t bytes)
{
    return kind << 16 | (uint32_t)bytes;
}

/* Returns units of credit as the detail of an event, which has 24 bits: more are shown as the
 * largest. */
static inline uint32_t shmemi_event_units(uint64_t units)
{
    return units > 0xffffff ? 0xffffff : (uint32_t)units;
}

/* Returns the time of an event: ticks of the processor's counter, as clock.Now in Go. If the
 * counter is not usable, coarse is 1, and the time comes from a clock that is as cheap but advances
 * only every few milliseconds: it shows just the order of events. */
static inline uint64_t shmemi_ticks(uint32_t coarse)
{
    if (__builtin_expect(!coarse, 1)) {
#if defined(__x86_64__)
        return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
        uint64_t t;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
        return t;
#endif
    }
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Records an event in a ring that has had *count events so far. It stores the count after the
 * event, so a reader finds complete events below the count. */
static inline void shmemi_event(struct shmemi_event *ring, uint32_t *count, uint64_t when,
                                enum shmemi_event_what what, uint32_t detail, uint32_t number)
{
    uint32_t n = *count;
    struct shmemi_event *e = &ring[n % SHMEMI_EVENTS];
    __atomic_store_n(&e->when, when, __ATOMIC_RELAXED);
    __atomic_store_n(&e->what, (uint64_t)number << 32 | detail << 8 | what, __ATOMIC_RELAXED);
    __atomic_store_n(count, n + 1, __ATOMIC_RELEASE);
}

#endif
