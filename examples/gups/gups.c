/*
 * gups: random updates of a table that is spread over all PEs.
 *
 *   shmemrun -n 4 ./gups [words of each PE [updates of each PE]]
 *
 * By default 2^20 words and four updates for each. An update combines a random word of the table
 * with a random number by an atomic exclusive or, so no update is lost when several hit the same
 * word; the rate is in giga-updates per second. Since the order of exclusive ors does not matter,
 * each PE can compute serially the values that its words must have.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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
    fprintf(stderr, "gups: PE %d: %s (%s)\n", me, what, remedy);
    shmem_global_exit(EXIT_FAILURE);
}

/* The i-th random number of a PE, by SplitMix64: it selects a word and is combined with it. The
 * numbers of PEs are different while i is below 2^40. */
static uint64_t number(int pe, uint64_t i)
{
    uint64_t x = ((uint64_t)pe << 40) + i + 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* The index of the word that x selects, counted over the tables of all PEs, which have words words
 * each. */
static uint64_t word_of(uint64_t x, uint64_t words)
{
    return (x >> 16) % (words * (uint64_t)n);
}

/* Argument i as a number above 0, or `otherwise` if it is missing. */
static uint64_t argument(int argc, char **argv, int i, uint64_t otherwise)
{
    char *end = "";
    uint64_t value = argc > i ? strtoull(argv[i], &end, 10) : otherwise;
    if (*end != '\0' || value == 0 || (argc > i && argv[i][0] == '-'))
        fail("read the arguments: positive numbers are expected", "usage: gups [words [updates]]");
    return value;
}

/* Returns how many words of this PE's table differ from what a serial run makes of them: this PE
 * alone applies the updates of all PEs that fall on its words. */
static uint64_t differences(const uint64_t *table, uint64_t words, uint64_t updates)
{
    uint64_t *serial = malloc(words * sizeof *serial), wrong = 0;
    if (serial == NULL)
        fail("allocate memory: there is no more", "take fewer words");
    uint64_t first = words * (uint64_t)me;
    for (uint64_t i = 0; i < words; i++)
        serial[i] = first + i;
    for (int pe = 0; pe < n; pe++)
        for (uint64_t i = 0; i < updates; i++) {
            uint64_t x = number(pe, i), at = word_of(x, words);
            if (at - first < words) /* unsigned: words of earlier PEs wrap around */
                serial[at - first] ^= x;
        }
    for (uint64_t i = 0; i < words; i++)
        wrong += table[i] != serial[i];
    free(serial);
    return wrong;
}

int main(int argc, char **argv)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    uint64_t words = argument(argc, argv, 1, 1 << 20);
    uint64_t updates = argument(argc, argv, 2, 4 * words);
    uint64_t *table = shmem_malloc(words * sizeof *table);
    uint64_t *wrong = shmem_malloc(2 * sizeof *wrong); /* of this PE, and the sum over all PEs */
    if (table == NULL || wrong == NULL)
        fail("allocate the table: the heap is full", "raise SHMEM_SYMMETRIC_SIZE");
    for (uint64_t i = 0; i < words; i++)
        table[i] = words * (uint64_t)me + i;

    shmem_barrier_all();
    double begin = now();
    for (uint64_t i = 0; i < updates; i++) {
        uint64_t x = number(me, i), at = word_of(x, words);
        shmem_uint64_atomic_xor(table + at % words, x, (int)(at / words));
    }
    shmem_barrier_all();
    double took = now() - begin;

    wrong[0] = differences(table, words, updates);
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, wrong + 1, wrong, 1);
    if (wrong[1] != 0)
        fail("words differ from what serial updates make of them", "this is a bug");
    if (me == 0) {
        double all = (double)updates * n;
        printf("gups: %.0f updates of %llu words on %d PEs, as serial ones: %.3f s, %.6f GUPS\n",
               all, (unsigned long long)words * (unsigned long long)n, n, took, 1e-9 * all / took);
    }
    shmem_finalize();
    return 0;
}
