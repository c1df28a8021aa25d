/*
 * work.c: PE 0 puts a known amount to PE 1, and then does nothing until the file that the argument
 * names exists. The others wait for it in a barrier.
 */
#include <shmem.h>

#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static char bytes[20000];
    shmem_init();
    char *there = shmem_malloc(sizeof bytes);
    printf("PE %d is process %d\n", shmem_my_pe(), (int)getpid());
    fflush(stdout);
    if (shmem_my_pe() == 0) {
        for (int i = 0; i < 10; i++)
            shmem_long_p((long *)(void *)there + i, i, 1);
        shmem_putmem(there, bytes, sizeof bytes, 1);
        shmem_quiet();
        printf("done\n");
        fflush(stdout);
        while (argc > 1 && access(argv[1], F_OK) != 0)
            usleep(10000);
    }
    shmem_barrier_all();
    shmem_finalize();
}
