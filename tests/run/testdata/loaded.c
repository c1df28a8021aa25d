/*
 * loaded: a library in the place of libfabric, which it brings along. In PE 1 it waits, while it is
 * loaded, until PE 0 has opened the pipe that LOADED names.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((constructor)) static void loaded(void)
{
    const char *pe = getenv("SHMEM_LAUNCHER_PE"), *pipe = getenv("LOADED");
    fprintf(stderr, "PE %s loads libfabric\n", pe);
    if (pipe != NULL && strcmp(pe, "1") == 0 && open(pipe, O_WRONLY | O_CLOEXEC) < 0)
        perror("PE 1: open the pipe");
}
