/*
 * plain.c: a program that is not written for a launcher. Each PE writes to the next, in two jobs
 * one after the other. With "exit" PE 1 ends the job in the first, with "wrong" it makes a call
 * with a PE that does not exist.
 */
#include <shmem.h>

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int pe = 0, n = 0;
    for (int i = 0; i < 2; i++) {
        shmem_init();
        pe = shmem_my_pe();
        n = shmem_n_pes();
        int *box = shmem_malloc(sizeof *box);
        *box = -1;
        shmem_barrier_all();
        if (argc > 1 && pe == 1 && strcmp(argv[1], "exit") == 0)
            shmem_global_exit(5);
        if (argc > 1 && pe == 1 && strcmp(argv[1], "wrong") == 0)
            shmem_int_p(box, pe, n);
        shmem_int_p(box, pe, (pe + 1) % n);
        shmem_barrier_all();
        if (*box != (pe + n - 1) % n) {
            printf("PE %d got %d\n", pe, *box);
            return 1;
        }
        shmem_finalize();
    }
    printf("PE %d of %d done\n", pe, n);
    return 0;
}
