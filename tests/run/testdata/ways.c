/*
 * ways.c: each PE puts a word into the heap of each, and prints in a line of its own, a letter for
 * each PE, to which of them its counters show network traffic: n.
 */
#include <shmem.h>
#include <shmemx.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t sent(int pe)
{
    static const char *const counters[] = {"elements", "puts"};
    uint64_t all = 0;
    for (int i = 0; i < 2; i++) {
        uint64_t value = 0;
        if (shmemx_pcntr_get(shmemx_pcntr_find(counters[i]), pe, &value) != 0)
            abort();
        all += value;
    }
    return all;
}

int main(void)
{
    char letters[64] = "";
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    long *words = shmem_calloc((size_t)n, sizeof *words);
    for (int pe = 0; pe < n && pe < 63; pe++) {
        uint64_t before = sent(pe);
        shmem_long_p(words + me, me + 1, pe);
        shmem_quiet();
        letters[pe] = sent(pe) > before ? 'n' : '-';
    }
    shmem_barrier_all();
    int right = 0;
    for (int pe = 0; pe < n; pe++)
        right += shmem_long_g(words + pe, me) == pe + 1;
    printf("PE %d sent %s\n%d passed, %d failed\n", me, letters, right, n - right);
    shmem_finalize();
}
