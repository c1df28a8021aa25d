/*
 * closed.c: a program that was started without standard streams. Its status is 1 if it can read or
 * write one of the three descriptors while it is in a job.
 */
#include <shmem.h>

#include <errno.h>
#include <unistd.h>

int main(void)
{
    char byte = 0;
    shmem_init();
    int next = (shmem_my_pe() + 1) % shmem_n_pes(), open = 0;
    char *box = shmem_malloc(1);
    shmem_putmem(box, &byte, 1, next);
    shmem_barrier_all();
    for (int fd = 0; fd <= 2; fd++)
        if (write(fd, &byte, 1) != -1 || errno != EBADF || read(fd, &byte, 1) != -1 ||
            errno != EBADF)
            open = 1;
    shmem_finalize();
    return open;
}
