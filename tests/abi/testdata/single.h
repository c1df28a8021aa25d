/*
 * single.h: a whole job in one process, like a program without a launcher.
 */
#include <shmem.h>

#include <stdio.h>
#include <stdlib.h>

/* 0 if the job of one PE could move data. */
static inline int single(void)
{
    shmem_init();
    int bad = shmem_my_pe() != 0 || shmem_n_pes() != 1;
    long *word = shmem_malloc(sizeof *word);
    if (word == NULL)
        return 1;
    *word = 0;
    shmem_long_p(word, 41, 0);
    shmem_long_atomic_inc(word, 0);
    shmem_quiet();
    bad |= shmem_long_g(word, 0) != 42;
    shmem_barrier_all();
    shmem_free(word);
    shmem_finalize();
    return bad;
}
