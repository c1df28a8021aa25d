/*
 * lost.c: one PE is killed while PE 0 puts to it, until PE 0 gets the error that the PE is lost;
 * then PE 0 writes to all others. Arguments: the PE, and the number of bytes of a put.
 */
#include <shmem.h>
#include <shmemx.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1 << 16 };

static char source[MOST];

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    int victim = atoi(argv[1]);
    size_t size = (size_t)atoi(argv[2]);
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), failed = 0;
    char *there = shmem_malloc(MOST);
    uint64_t *word = shmem_calloc(1, sizeof *word), *turns = shmem_calloc(1, sizeof *turns);
    if (there == NULL || word == NULL || turns == NULL || size > MOST)
        shmem_global_exit(3);
    if (me == 0) {
        shmem_putmem(there, source, size, victim);
        shmem_quiet();
    }
    shmem_barrier_all();
    if (me == victim) {
        shmem_uint64_wait_until(turns, SHMEM_CMP_GE, 3);
        kill(getpid(), SIGKILL);
    }
    if (me == 0) {
        int error = SHMEMX_SUCCESS;
        const time_t end = time(NULL) + 20;
        while (error == SHMEMX_SUCCESS && time(NULL) < end) {
            shmem_putmem(there, source, size, victim);
            shmem_uint64_atomic_inc(turns, victim);
            shmem_quiet();
            error = shmemx_last_error();
        }
        failed += error != SHMEMX_ERROR_PE_LOST || shmemx_last_error_pe() != victim;
    }
    /* The others continue: a word travels around them. */
    for (int pe = 0; me == 0 && pe < n; pe++)
        if (pe != victim)
            shmem_uint64_atomic_set(word, 7, pe);
    shmem_quiet();
    shmem_uint64_wait_until(word, SHMEM_CMP_EQ, 7);
    shmem_finalize();
    printf("1 passed, %d failed\n", failed);
    return failed;
}
