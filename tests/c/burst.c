/*
 * burst.c: many small operations in a row, which share messages on the network.
 *
 * The library keeps their order, also across fences, and the last of them arrive although the
 * caller makes no further call.
 */
#include "check.h"

#include <time.h>

enum { ORDER, TAIL, TESTS };
enum { WORDS = 1000, TURNS = 20 };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Each word is written twice, the second time behind a fence, and a count behind
 * all of them. */
static void order(uint64_t *words, uint64_t *count)
{
    int to = (check.me + 1) % check.n;
    check_start(ORDER, "p, put_nbi and atomic_inc behind fences");
    for (uint64_t turn = 1; turn <= TURNS; turn++) {
        uint64_t late = 2 * turn + 1, wrong = 0;
        for (size_t i = 0; i < WORDS; i++)
            shmem_uint64_p(&words[i], 2 * turn, to);
        shmem_fence();
        for (size_t i = 0; i < WORDS; i++)
            shmem_uint64_put_nbi(&words[i], &late, 1, to);
        shmem_fence();
        shmem_uint64_atomic_inc(count, to);
        shmem_uint64_wait_until(count, SHMEM_CMP_GE, turn);
        for (size_t i = 0; i < WORDS; i++)
            wrong += words[i] != late;
        CHECK(wrong == 0, "turn %d: %d words are not what was written last", (int)turn, (int)wrong);
        shmem_barrier_all();
    }
}

/* PE 0 posts a burst and then reads only its own memory, which the last PE changes when it has
 * received the whole burst. */
static void tail(uint64_t *words, uint64_t *answer)
{
    check_start(TAIL, "p, and then no call");
    if (check.me == 0) {
        for (size_t i = 0; i < WORDS; i++)
            shmem_uint64_p(&words[i], 7777, check.n - 1);
        double start = seconds();
        while (__atomic_load_n(answer, __ATOMIC_ACQUIRE) != 1 && seconds() - start < 60)
            ;
        CHECK(__atomic_load_n(answer, __ATOMIC_ACQUIRE) == 1, "no answer within 60 s");
    }
    if (check.me == check.n - 1) {
        shmem_uint64_wait_until(&words[WORDS - 1], SHMEM_CMP_EQ, 7777);
        shmem_uint64_p(answer, 1, 0);
        shmem_quiet();
    }
    shmem_barrier_all();
}

int main(void)
{
    check_open("burst", TESTS);
    uint64_t *words = shmem_calloc(WORDS, sizeof *words), *counts = shmem_calloc(2, sizeof *counts);
    order(words, &counts[0]);
    if (check.n > 1)
        tail(words, &counts[1]);
    return check_close();
}
