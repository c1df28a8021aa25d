/*
 * sort: a bucket sort of random keys over all PEs.
 *
 *   shmemrun -n 4 ./sort [keys]           10,000,000 keys by default
 *
 * Each PE makes a share of the keys and ends with the keys of one range of values. Three steps:
 * every PE counts how many of its keys go to each PE; an all-to-all of the counts gives each
 * receiver the places for the keys of each sender, and another one gives these to the senders; then
 * every PE puts each of its buckets in one piece, and sorts the keys that it has received. PE 0
 * also sorts all keys alone and compares.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int me, n;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what, const char *remedy)
{
    fprintf(stderr, "sort: PE %d: %s (%s)\n", me, what, remedy);
    shmem_global_exit(EXIT_FAILURE);
}

static void *symmetric(size_t count, size_t size)
{
    void *p = shmem_calloc(count ? count : 1, size);
    if (p == NULL)
        fail("allocate symmetric memory: the heap is full", "raise SHMEM_SYMMETRIC_SIZE");
    return p;
}

static void *private(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);
    if (p == NULL)
        fail("allocate memory: there is no more", "sort fewer keys");
    return p;
}

/* The i-th key of the job, by SplitMix64: the same whichever PE makes it. */
static uint32_t key(uint64_t i)
{
    i += 0x9E3779B97F4A7C15u;
    i = (i ^ i >> 30) * 0xBF58476D1CE4E5B9u;
    i = (i ^ i >> 27) * 0x94D049BB133111EBu;
    return (uint32_t)(i >> 32);
}

/* The PE for a key: the ranges are equal parts of all values. */
static int owner(uint32_t k)
{
    return (int)((uint64_t)k * (uint64_t)n >> 32);
}

/* The first of `all` items that belongs to the PE when they are divided evenly. */
static uint64_t share(uint64_t all, int pe)
{
    return all / (uint64_t)n * (uint64_t)pe +
           ((uint64_t)pe < all % (uint64_t)n ? (uint64_t)pe : all % (uint64_t)n);
}

/* Sorts by the four bytes of the keys, the lowest first. */
static void radix_sort(uint32_t *keys, size_t count)
{
    uint32_t *other = private(count, sizeof *other);
    for (int shift = 0; shift < 32; shift += 8) {
        size_t place[257] = {0};
        for (size_t i = 0; i < count; i++)
            place[(keys[i] >> shift & 255) + 1]++;
        for (int b = 0; b < 256; b++)
            place[b + 1] += place[b];
        for (size_t i = 0; i < count; i++)
            other[place[keys[i] >> shift & 255]++] = keys[i];
        uint32_t *swap = keys;
        keys = other;
        other = swap;
    }
    free(other); /* after four passes the buffer is the original one again */
}

/* Puts the held keys of `mine` to the PEs that own them. Returns the keys that this PE receives,
 * *count of them, in symmetric memory. By PE: going and coming count keys, place is where the keys
 * of each PE begin here, and start where this PE's begin there. */
static uint32_t *exchange(const uint32_t *mine, size_t held, size_t *count)
{
    size_t pes = (size_t)n;
    uint64_t *going = symmetric(pes, sizeof *going), *coming = symmetric(pes, sizeof *coming);
    uint64_t *place = symmetric(pes, sizeof *place), *start = symmetric(pes, sizeof *start);
    uint64_t *room = symmetric(1, sizeof *room), *most = symmetric(1, sizeof *most);
    for (size_t i = 0; i < held; i++)
        going[owner(mine[i])]++;
    shmem_barrier_all(); /* every PE has allocated its arrays and counted its keys */
    shmem_uint64_alltoall(SHMEM_TEAM_WORLD, coming, going, 1);
    for (size_t pe = 0; pe < pes; pe++) {
        place[pe] = *room;
        *room += coming[pe];
    }
    shmem_uint64_alltoall(SHMEM_TEAM_WORLD, start, place, 1);
    shmem_uint64_max_reduce(SHMEM_TEAM_WORLD, most, room, 1);
    uint32_t *received = symmetric(*most, sizeof *received); /* all PEs must ask for one size */

    /* The keys for each PE side by side, so that each bucket is one put. */
    uint32_t *bucket = private(held, sizeof *bucket);
    size_t *next = private(pes + 1, sizeof *next);
    for (size_t pe = 0; pe < pes; pe++)
        next[pe + 1] = next[pe] + going[pe];
    for (size_t i = 0; i < held; i++)
        bucket[next[owner(mine[i])]++] = mine[i];
    for (size_t step = 1; step <= pes; step++) {
        size_t pe = ((size_t)me + step) % pes; /* not all to PE 0 first */
        /* next has moved to the end of the bucket while it was filled. */
        shmem_uint32_put_nbi(received + start[pe], bucket + next[pe] - going[pe], going[pe],
                             (int)pe);
    }
    shmem_barrier_all();
    free(next);
    free(bucket);
    *count = *room;
    return received;
}

/* On PE 0: sorts all keys alone, and compares them with the sorted keys of each PE, counts[pe] of
 * them. */
static void verify(const uint32_t *sorted, uint64_t keys, const uint64_t *counts)
{
    uint32_t *all = private(keys, sizeof *all), *got = private(keys, sizeof *got);
    for (uint64_t i = 0; i < keys; i++)
        all[i] = key(i);
    radix_sort(all, keys);
    uint64_t at = 0;
    for (int pe = 0; pe < n; pe++) {
        if (counts[pe] > keys - at)
            fail("the PEs have more keys than there were", "this is a bug");
        shmem_uint32_get(got + at, sorted, counts[pe], pe);
        at += counts[pe];
    }
    if (at != keys || memcmp(all, got, keys * sizeof *all) != 0)
        fail("the keys differ from those of a serial sort", "this is a bug");
    free(got);
    free(all);
}

int main(int argc, char **argv)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    char *end = "";
    uint64_t keys = argc > 1 ? strtoull(argv[1], &end, 10) : 10000000;
    if (*end != '\0' || argc > 2 || (argc > 1 && argv[1][0] == '-'))
        fail("read the arguments: one number is expected", "usage: sort [keys]");
    uint64_t first = share(keys, me), held = share(keys, me + 1) - first;
    uint32_t *mine = private(held, sizeof *mine);
    for (uint64_t i = 0; i < held; i++)
        mine[i] = key(first + i);

    shmem_barrier_all();
    double begin = now();
    size_t count;
    uint32_t *sorted = exchange(mine, held, &count);
    radix_sort(sorted, count);
    shmem_barrier_all();
    double took = now() - begin;

    uint64_t *counts = symmetric((size_t)n, sizeof *counts);
    uint64_t *my_count = symmetric(1, sizeof *my_count);
    *my_count = count;
    shmem_uint64_fcollect(SHMEM_TEAM_WORLD, counts, my_count, 1);
    if (me == 0) {
        verify(sorted, keys, counts);
        printf(
            "sort: %llu keys on %d PEs, as a serial sort has them: %.3f s, %.1f million keys/s\n",
            (unsigned long long)keys, n, took, 1e-6 * (double)keys / took);
    }
    shmem_finalize();
    free(mine);
    return 0;
}
