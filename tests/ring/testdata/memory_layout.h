/*
 * memory_layout.h: the parts of rings in one piece of memory, which may be
 * shared among processes. ring_test.go knows the same offsets.
 */
#ifndef TESTS_RING_MEMORY_LAYOUT_H
#define TESTS_RING_MEMORY_LAYOUT_H

#include "../../../device/shmem/ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LOG2_REPLIES 10
#define AT_LINE 0
#define AT_NEAR 4096
#define AT_REPLIES 8192
#define AT_SLOTS (AT_REPLIES + 16384)

static inline size_t ring_bytes(uint32_t log2_slots)
{
    return (AT_SLOTS + ((size_t)16 << log2_slots) + 4095) & ~(size_t)4095;
}

/* The ring whose parts are at base, which others may use already. */
static inline struct shmemi_ring ring_over(char *base, uint32_t log2_slots)
{
    struct shmemi_ring r = {.slots = base + AT_SLOTS,
                            .line = base + AT_LINE,
                            .replies = base + AT_REPLIES,
                            .near = base + AT_NEAR,
                            .log2_slots = log2_slots,
                            .log2_replies = LOG2_REPLIES};
    return r;
}

static inline struct shmemi_ring_progress *line_of(const struct shmemi_ring *r)
{
    return (struct shmemi_ring_progress *)r->line;
}

static inline struct shmemi_ring_near *near_of(const struct shmemi_ring *r)
{
    return (struct shmemi_ring_near *)r->near;
}

/* Makes it empty, as if start positions had been used. */
static inline void ring_start(const struct shmemi_ring *r, uint64_t start)
{
    uint64_t size = (uint64_t)1 << r->log2_slots;
    for (uint64_t p = start; p != start + size; p++) {
        uint64_t *w = (uint64_t *)r->slots + 2 * (p & (size - 1));
        w[0] = w[1] = (p >> r->log2_slots & 1) << SHMEMI_LAP_BIT;
    }
    shmemi_near_of(r)->head = shmemi_near_of(r)->tail = start;
    shmemi_progress_of(r)->tail = shmemi_progress_of(r)->done = shmemi_progress_of(r)->fenced =
        start;
}

/* A new ring, also for processes forked later. */
static inline struct shmemi_ring ring_new(uint32_t log2_slots, uint64_t start)
{
    void *base = mmap(NULL, ring_bytes(log2_slots), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    struct shmemi_ring r = ring_over(base, log2_slots);
    ring_start(&r, start);
    return r;
}

/* Ends the program: its test has failed. */
#define FAIL(...)                                                                                  \
    do {                                                                                           \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fputc('\n', stderr);                                                                       \
        _exit(1);                                                                                  \
    } while (0)

#endif
