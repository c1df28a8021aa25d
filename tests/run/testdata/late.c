/*
 * late: PE 0 initialises when PE 1 opens the pipe that LOADED names.
 */
#include <fcntl.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    const char *pipe = getenv("LOADED");
    if (pipe != NULL && strcmp(getenv("SHMEM_LAUNCHER_PE"), "0") == 0 &&
        open(pipe, O_RDONLY | O_CLOEXEC) < 0) {
        perror("PE 0: open the pipe");
        return 1;
    }
    shmem_init();
    shmem_barrier_all();
    printf("PE %d met\n", shmem_my_pe());
    shmem_finalize();
    return 0;
}
