/* A PE of a job in pods: puts its number into the next PE's memory. With a file as its argument it
 * then stays until the file exists: the last PE outside the library, the others in a barrier. With
 * a second argument all stay outside. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    int *from = shmem_malloc(sizeof *from);
    if (!from)
        return 1;
    *from = -1;
    shmem_barrier_all();
    shmem_int_p(from, me, (me + 1) % n);
    shmem_barrier_all();
    if (*from != (me + n - 1) % n)
        return 1;
    printf("PE %d of %d: PE %d wrote to me\n", me, n, *from);
    fflush(stdout);
    if (argc > 2 || (argc > 1 && me == n - 1))
        while (access(argv[1], F_OK) != 0)
            usleep(10000);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
