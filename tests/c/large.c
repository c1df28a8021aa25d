/*
 * large.c: operations longer than 64 MiB, the maximum that the library passes to the network at
 * once.
 *
 * They travel in parts. Each part has its own place, and a signal comes behind all of them.
 */
#include "check.h"

enum { PUT, GET, PUT_NBI, GET_NBI, SIGNAL, SIGNAL_NBI, TESTS };
enum { WORDS = (64 << 17) + 1000 }; /* of 8 bytes: 64 MiB, and some */

static uint64_t *area, *local;

static void fill(uint64_t *words, uint64_t seed)
{
    for (uint64_t i = 0; i < WORDS; i++)
        words[i] = seed + i;
}

static void verify(const uint64_t *words, uint64_t seed)
{
    for (uint64_t i = 0; i < WORDS; i++)
        if (words[i] != seed + i) {
            check_fail("word %ju of %d: expected 0x%jx, got 0x%jx", (uintmax_t)i, (int)WORDS,
                       (uintmax_t)(seed + i), (uintmax_t)words[i]);
            return;
        }
}

/* The contents of a PE's array in a test. */
static uint64_t seed_of(int pe, int test)
{
    return (uint64_t)(pe + 1) << 48 | (uint64_t)test << 40;
}

static void test_put(int test, const char *name)
{
    check_start((size_t)test, name);
    fill(local, seed_of(check.me, test));
    if (test == PUT)
        shmem_uint64_put(area, local, WORDS, check_right());
    else
        shmem_uint64_put_nbi(area, local, WORDS, check_right());
    shmem_barrier_all();
    verify(area, seed_of(check_left(), test));
    shmem_barrier_all();
}

static void test_get(int test, const char *name)
{
    check_start((size_t)test, name);
    fill(area, seed_of(check.me, test));
    memset(local, 0, WORDS * sizeof *local);
    shmem_barrier_all();
    if (test == GET) {
        shmem_uint64_get(local, area, WORDS, check_right());
    } else {
        shmem_uint64_get_nbi(local, area, WORDS, check_right());
        shmem_quiet();
    }
    verify(local, seed_of(check_right(), test));
    shmem_barrier_all();
}

static void test_signal(int test, const char *name, uint64_t *signal)
{
    check_start((size_t)test, name);
    fill(local, seed_of(check.me, test));
    if (test == SIGNAL)
        shmem_uint64_put_signal(area, local, WORDS, signal, 1, SHMEM_SIGNAL_ADD, check_right());
    else
        shmem_uint64_put_signal_nbi(area, local, WORDS, signal, 1, SHMEM_SIGNAL_ADD, check_right());
    shmem_signal_wait_until(signal, SHMEM_CMP_EQ, (uint64_t)(test - SIGNAL + 1));
    /* First: a reader that begins at the front could miss a copy that is made only now. */
    uint64_t last = __atomic_load_n(area + WORDS - 1, __ATOMIC_ACQUIRE);
    CHECK(last == seed_of(check_left(), test) + WORDS - 1,
          "the signal is there, and the last word is 0x%jx", (uintmax_t)last);
    verify(area, seed_of(check_left(), test));
    shmem_barrier_all();
}

int main(void)
{
    check_open("large", TESTS);
    area = check_alloc(WORDS * sizeof *area);
    local = malloc(WORDS * sizeof *local);
    uint64_t *signal = shmem_calloc(1, sizeof *signal);
    if (local == NULL || signal == NULL)
        abort();
    test_put(PUT, "shmem_uint64_put");
    test_get(GET, "shmem_uint64_get");
    test_put(PUT_NBI, "shmem_uint64_put_nbi");
    test_get(GET_NBI, "shmem_uint64_get_nbi");
    test_signal(SIGNAL, "shmem_uint64_put_signal", signal);
    test_signal(SIGNAL_NBI, "shmem_uint64_put_signal_nbi", signal);
    free(local);
    return check_close();
}
