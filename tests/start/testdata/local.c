/*
 * local.c: a program with more thread-local variables than the smallest stack holds.
 */
#include <shmem.h>

#include <stdio.h>

static _Thread_local char many[1 << 20];

int main(int argc, char **argv)
{
    (void)argv;
    many[sizeof many - 1] = (char)argc;
    shmem_init();
    printf("PE %d of %d done\n", shmem_my_pe(), shmem_n_pes());
    shmem_finalize();
    return many[sizeof many - 1] != argc;
}
