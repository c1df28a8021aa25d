/*
 * litmus.c: message passing, round after round.
 *
 * Each PE passes messages to its right neighbour in the four ways that order
 * data before a flag, and every PE adds to counters that their owner adds to
 * as well. A reader that sees the flag must see all of the data; a counter
 * must end at the exact sum.
 *
 * usage: litmus [rounds [rounds of 1 MiB]]
 */
#include "check.h"

enum { BIG = 1 << 20, STRIDE = 4096, STAMPS = BIG / STRIDE };
enum { SMALL_FENCE, BIG_FENCE, SIGNAL_SMALL, SIGNAL_BIG, COUNTERS, WAYS };

static const char *const names[WAYS] = {
    "put 8 B, fence, p",
    "put 1 MiB, fence, p",
    "put_signal 64 B",
    "put_signal 16 KiB",
    "counters hit by local and remote atomics",
};

static uint64_t *source, *data;
static uint64_t *flag, *ack;

/* The last word of every page of a message carries the round. */
static void stamp(size_t bytes, uint64_t round)
{
    for (size_t end = bytes < STRIDE ? bytes : STRIDE; end <= bytes; end += STRIDE)
        source[end / sizeof *source - 1] = round;
    source[0] = round;
}

static void verify(size_t bytes, uint64_t round)
{
    CHECK(data[0] == round, "round %llu: the first word is of round %llu",
          (unsigned long long)round, (unsigned long long)data[0]);
    for (size_t end = bytes < STRIDE ? bytes : STRIDE; end <= bytes; end += STRIDE) {
        uint64_t got = data[end / sizeof *data - 1];
        CHECK(got == round, "round %llu: the word that ends byte %zu is of round %llu",
              (unsigned long long)round, end, (unsigned long long)got);
    }
}

/* Informs the left neighbour that its data has been read, and waits for the same from the right
   one. */
static void turn_around(uint64_t round)
{
    int left = (check.me + check.n - 1) % check.n;
    shmem_uint64_p(ack, round, left);
    shmem_uint64_wait_until(ack, SHMEM_CMP_EQ, round);
}

static void pass(int way, size_t bytes, uint64_t rounds)
{
    int right = (check.me + 1) % check.n;
    check_start((size_t)way, names[way]);
    *flag = *ack = 0;
    shmem_barrier_all();
    for (uint64_t round = 1; round <= rounds; round++) {
        stamp(bytes, round);
        if (way == SIGNAL_SMALL || way == SIGNAL_BIG) {
            shmem_putmem_signal(data, source, bytes, flag, round, SHMEM_SIGNAL_SET, right);
            shmem_signal_wait_until(flag, SHMEM_CMP_EQ, round);
        } else {
            shmem_putmem(data, source, bytes, right);
            shmem_fence();
            shmem_uint64_p(flag, round, right);
            shmem_uint64_wait_until(flag, SHMEM_CMP_EQ, round);
        }
        verify(bytes, round);
        turn_around(round);
    }
    shmem_barrier_all();
}

/* Every PE adds 1 to two counters of every PE in turn, its own included. */
static void count(uint64_t rounds)
{
    uint64_t *wide = check_alloc(sizeof *wide);
    uint32_t *narrow = check_alloc(sizeof *narrow);
    check_start(COUNTERS, names[COUNTERS]);
    *wide = 0;
    *narrow = 0;
    shmem_barrier_all();
    for (uint64_t i = 0; i < rounds; i++) {
        int pe = (int)((i + (uint64_t)check.me) % (uint64_t)check.n);
        if (i % 16 == 0)
            shmem_uint64_atomic_fetch_add(wide, 1, pe);
        else
            shmem_uint64_atomic_inc(wide, pe);
        shmem_uint32_atomic_add(narrow, 3, pe);
    }
    shmem_barrier_all();
    uint64_t want = 0;
    for (int from = 0; from < check.n; from++)
        for (uint64_t i = 0; i < (uint64_t)check.n; i++)
            if ((int)((i + (uint64_t)from) % (uint64_t)check.n) == check.me)
                want += rounds / (uint64_t)check.n + (i < rounds % (uint64_t)check.n);
    CHECK(*wide == want, "64-bit counter: expected %llu, got %llu", (unsigned long long)want,
          (unsigned long long)*wide);
    CHECK(*narrow == (uint32_t)(3 * want), "32-bit counter: expected %u, got %u",
          (uint32_t)(3 * want), *narrow);
    shmem_free(narrow);
    shmem_free(wide);
}

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
    uint64_t big_rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : rounds / 10;

    check_open("litmus", WAYS);
    source = check_alloc(BIG);
    data = check_alloc(BIG);
    flag = check_alloc(sizeof *flag);
    ack = check_alloc(sizeof *ack);
    memset(source, 0, BIG);

    pass(SMALL_FENCE, 8, rounds);
    pass(BIG_FENCE, BIG, big_rounds);
    pass(SIGNAL_SMALL, 64, rounds);
    pass(SIGNAL_BIG, 16384, rounds);
    count(rounds);
    return check_close();
}
