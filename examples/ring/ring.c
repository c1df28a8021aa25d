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

    /* Symmetric memory: every PE has such an int. A PE addresses the int of another PE by that PE's
     * number and its own pointer. All PEs make the call, with the same size. */
    int *from = shmem_malloc(sizeof *from);
    if (!from) {
        fprintf(stderr,
                "ring: PE %d: allocate %zu bytes: the symmetric heap is full "
                "(set SHMEM_SYMMETRIC_SIZE, for example to 1m)\n",
                me, sizeof *from);
        shmem_global_exit(EXIT_FAILURE);
    }

    /* Without the barrier, a fast neighbour's number could arrive before the -1 is stored, and be
     * lost. */
    *from = -1;
    shmem_barrier_all();

    /* One-sided: the next PE makes no call for it. When the put returns, the number may still be on
     * its way. shmem_barrier_all completes the puts of all PEs before any PE returns from it. */
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
