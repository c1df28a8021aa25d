/*
 * job.c: two PEs that use each kind of operation on each other, and notice what is not as it should
 * be.
 *
 * The heap is one block with a pattern in it. Operations address the targets, which stand far from
 * each other; a byte that has changed elsewhere was written outside of the operations. Other bytes
 * in a target, or another value in an answer, are counted apart: nothing but a MAC of each payload
 * could notice a change of these.
 */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 8,
    SMALL = 200,
    LARGE = 5000,
    SIZE = 1 << 20,
    /* Targets, and where sources are. */
    WORDS = 64 << 10,
    PUT = 128 << 10,
    LARGE_PUT = 192 << 10,
    SIGNALLED = 256 << 10,
    LARGE_SIGNALLED = 320 << 10,
    SOURCE = 512 << 10,
    /* Words. */
    SET = 0,
    ADDED,
    FETCHED,
    SIGNAL,
    LARGE_SIGNAL,
    N_WORDS
};

static unsigned char *heap;
static uint64_t *words;

static unsigned char pattern(size_t at)
{
    return (unsigned char)(at * 7 + at / 251);
}

/* The byte at an offset of what a PE sends in a round. */
static unsigned char sent(int pe, int round, size_t at)
{
    return (unsigned char)(at * 13 + at / 253 + 31 * round + 101 * pe + 1);
}

static size_t target(size_t at, size_t size, int pe, int round)
{
    size_t other = 0;
    for (size_t i = 0; i < size; i++)
        other += heap[at + i] != sent(pe, round, i);
    return other;
}

static int inside(size_t at)
{
    static const struct {
        size_t begin, size;
    } targets[] = {{WORDS, 8 * N_WORDS},
                   {PUT, SMALL},
                   {LARGE_PUT, LARGE},
                   {SIGNALLED, SMALL},
                   {LARGE_SIGNALLED, LARGE}};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (at - targets[i].begin < targets[i].size)
            return 1;
    return 0;
}

int main(void)
{
    static unsigned char from[LARGE], got[LARGE];
    size_t changed = 0, outside = 0, first = 0;
    shmem_init();
    const int me = shmem_my_pe(), to = 1 - me;
    heap = shmem_malloc(SIZE);
    if (heap == NULL) {
        fprintf(stderr, "PE %d: shmem_malloc returned NULL\n", me);
        shmem_global_exit(3);
    }
    for (size_t i = 0; i < SIZE; i++)
        heap[i] = pattern(i);
    words = (uint64_t *)(void *)(heap + WORDS);
    memset(words, 0, 8 * N_WORDS);
    shmem_barrier_all();
    for (int round = 1; round <= ROUNDS; round++) {
        const uint64_t n = (uint64_t)round;
        for (size_t i = 0; i < LARGE; i++)
            from[i] = sent(me, round, i);
        shmem_putmem(heap + PUT, from, SMALL, to);
        shmem_putmem(heap + LARGE_PUT, from, LARGE, to);
        shmem_uint64_p(&words[SET], n, to);
        shmem_uint64_atomic_add(&words[ADDED], 1, to);
        shmem_fence();
        shmem_putmem_signal(heap + SIGNALLED, from, SMALL, &words[SIGNAL], n, SHMEM_SIGNAL_SET, to);
        shmem_putmem_signal(heap + LARGE_SIGNALLED, from, LARGE, &words[LARGE_SIGNAL], 1,
                            SHMEM_SIGNAL_ADD, to);
        changed += shmem_uint64_atomic_fetch_add(&words[FETCHED], 1, to) != n - 1;
        shmem_signal_wait_until(&words[SIGNAL], SHMEM_CMP_GE, n);
        shmem_signal_wait_until(&words[LARGE_SIGNAL], SHMEM_CMP_GE, n);
        changed += target(SIGNALLED, SMALL, to, round) + target(LARGE_SIGNALLED, LARGE, to, round);
        shmem_getmem(got, heap + SOURCE, LARGE, to);
        for (size_t i = 0; i < LARGE; i++)
            changed += got[i] != pattern(SOURCE + i);
        changed += shmem_uint64_g((uint64_t *)(void *)(heap + SOURCE), to) !=
                   *(uint64_t *)(void *)(heap + SOURCE);
        shmem_barrier_all();
        changed += target(PUT, SMALL, to, round) + target(LARGE_PUT, LARGE, to, round);
        changed += (words[SET] != n) + (words[ADDED] != n) + (words[FETCHED] != n);
        shmem_barrier_all();
    }
    for (size_t i = 0; i < SIZE; i++)
        if (!inside(i) && heap[i] != pattern(i) && outside++ == 0)
            first = i;
    printf("PE %d: %zu changed, %zu outside, the first at %#zx\n", me, changed, outside, first);
    fflush(stdout);
    shmem_finalize();
    return 0;
}
