/*
 * progress.c: a PE that sleeps in its own code still serves the others.
 *
 * Every PE in turn sleeps without a call; the others put, get and add to its memory, each time
 * waiting for the reply, and leave a mark when they have finished. The sleeper reads only its
 * marks, and all of them arrive.
 */
#include "check.h"

#include <unistd.h>

enum { PUTS, ATOMICS, MARKS, TESTS };
enum { ROUNDS = 20, BIG = 100000 };

static char *big;
static uint64_t *counter;
static uint64_t *marks; /* one for each PE */

static void visit(int sleeper)
{
    static char out[BIG], back[BIG];
    memset(out, check.me + 1, sizeof out);
    for (int i = 0; i < ROUNDS; i++) {
        size_t n = i % 2 ? sizeof out : 100;
        char *mine = big + (size_t)check.me * BIG;
        shmem_putmem(mine, out, n, sleeper);
        shmem_quiet();
        shmem_getmem(back, mine, n, sleeper);
        check_start(PUTS, "put, quiet and get of a sleeping PE");
        CHECK(memcmp(out, back, n) == 0, "PE %d gives back other bytes than were put", sleeper);
        uint64_t before = shmem_uint64_atomic_fetch_inc(counter, sleeper);
        check_start(ATOMICS, "fetch_inc of a sleeping PE");
        CHECK(before < (uint64_t)ROUNDS * (uint64_t)check.n, "PE %d counts %llu", sleeper,
              (unsigned long long)before);
    }
    shmem_uint64_p(&marks[check.me], 1, sleeper);
    shmem_quiet();
}

static int marked(void)
{
    for (int pe = 0; pe < check.n; pe++)
        if (pe != check.me && __atomic_load_n(&marks[pe], __ATOMIC_ACQUIRE) != 1)
            return 0;
    return 1;
}

int main(void)
{
    check_open("progress", TESTS);
    size_t n = (size_t)check.n;
    big = check_alloc(n * BIG);
    counter = check_alloc(sizeof *counter);
    marks = check_alloc(n * sizeof *marks);
    *counter = 0;
    memset(marks, 0, n * sizeof *marks);
    /* Two sleepers are enough; with all eight the test would take long. */
    for (int sleeper = 0; sleeper < 2 && sleeper < check.n; sleeper++) {
        shmem_barrier_all();
        if (check.me != sleeper) {
            visit(sleeper);
        } else {
            for (int naps = 0; naps < 6000 && !marked(); naps++)
                usleep(10000);
            check_start(MARKS, "marks of the others after a minute asleep");
            for (int pe = 0; pe < check.n; pe++)
                CHECK(pe == check.me || marks[pe] == 1, "PE %d was not served meanwhile", pe);
            CHECK(*counter == (uint64_t)ROUNDS * (n - 1), "counter is %llu, should be %zu",
                  (unsigned long long)*counter, ROUNDS * (n - 1));
        }
    }
    return check_close();
}
