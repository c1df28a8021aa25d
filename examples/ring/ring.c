/*
 * ring: each PE writes its number into the memory of the next one, and checks the number that it
 * has received.
 *
 *   gcc -Iinclude ring.c -Llib -lshmem -o ring && shmemrun -n 4 ./ring
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    shmem_init();
    int me = shmem_my_pe();
    int n = shmem_n_pes();

    /* Symmetric memory: every PE has this int, and names the others' by its
     * own address of it. Allocation is collective: all PEs ask for the same. */
    int *from = shmem_malloc(sizeof *from);
    if (!from) {
        fprintf(stderr,
                "ring: PE %d: allocate %zu bytes: the symmetric heap is full "
                "(set SHMEM_SYMMETRIC_SIZE, for example to 1m)\n",
                me, sizeof *from);
        shmem_global_exit(EXIT_FAILURE);
    }

    /* Without this barrier a fast neighbour could write before the -1. */
    *from = -1;
    shmem_barrier_all();

    /* One-sided: the next PE takes no part. The put has left this PE when the
     * call returns; that it has arrived is only known after a quiet or a
     * barrier, and shmem_barrier_all is both: it completes the puts of every
     * PE before any PE leaves it. */
    shmem_int_p(from, me, (me + 1) % n);
    shmem_barrier_all();

    int expected = (me + n - 1) % n;
    int got = *from;
    printf("PE %d of %d: PE %d wrote to me\n", me, n, got);
    if (got != expected)
        fprintf(stderr, "ring: PE %d: got %d, expected %d\n", me, got, expected);

    shmem_finalize();
    return got == expected ? EXIT_SUCCESS : EXIT_FAILURE;
}
