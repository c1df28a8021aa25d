/*
 * neighbour.c: PEs that put, get and add to each other's memory and compare every word, while
 * strangers send to their endpoints.
 *
 *     neighbour BEGIN END
 *
 * The PEs call shmem_init when the file BEGIN exists, and end when END does. Each PE prints a line
 * when it has refused an operation of a stranger.
 */
#include <shmem.h>
#include <shmemx.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

enum { WORDS = 4096 };

/* How many operations of strangers this PE has refused. */
static uint64_t refused(void)
{
    static int id = -2;
    uint64_t count = 0;
    if (id == -2)
        id = shmemx_pcntr_find("strangers_refused");
    if (id >= 0 && shmemx_pcntr_get(id, -1, &count) != 0)
        shmem_global_exit(4);
    return count;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    while (access(argv[1], F_OK) != 0)
        usleep(10000);
    shmem_init();
    const int me = shmem_my_pe(), n = shmem_n_pes(), to = (me + 1) % n, from = (me + n - 1) % n;
    int passed = 0, failed = 0;
    long *words = shmem_calloc(WORDS, sizeof *words);
    long *copy = malloc(WORDS * sizeof *copy), *mine = malloc(WORDS * sizeof *mine);
    long *sum = shmem_calloc(1, sizeof *sum), *last = shmem_calloc(1, sizeof *last);
    if (words == NULL || copy == NULL || mine == NULL || sum == NULL || last == NULL)
        shmem_global_exit(3);
    long round = 0;
    bool told = false;
    for (int over = 0; !over;) {
        round++;
        for (long i = 0; i < WORDS; i++)
            mine[i] = (round << 32) + ((long)me << 16) + i;
        shmem_long_put(words, mine, WORDS, to);
        shmem_long_p(&words[7], -round, to);
        shmem_long_atomic_add(sum, 1, to);
        shmem_barrier_all();
        for (long i = 0; i < WORDS; i++) {
            const long want = i == 7 ? -round : (round << 32) + ((long)from << 16) + i;
            if (words[i] != want)
                CHECK(0, "round %ld: word %ld is %#lx, want %#lx", round, i, words[i], want);
        }
        shmem_long_get(copy, words, WORDS, to);
        CHECK(copy[0] == mine[0] && copy[WORDS - 1] == mine[WORDS - 1], "round %ld: get", round);
        CHECK(*sum == round, "round %ld: %ld were added", round, *sum);
        if (me == 0 && access(argv[2], F_OK) == 0)
            for (int pe = 0; pe < n; pe++)
                shmem_long_p(last, 1, pe);
        if (round == 1 && me == 0)
            printf("the PEs are at work\n");
        if (!told && refused() > 0) {
            printf("PE %d has refused something\n", me);
            told = true;
        }
        fflush(stdout);
        shmem_barrier_all();
        over = *last != 0;
    }
    printf("PE %d: %llu refused in %ld rounds, %d passed, %d failed\n", me,
           (unsigned long long)refused(), round, passed, failed);
    shmem_finalize();
    free(copy);
    free(mine);
    return failed != 0;
}
