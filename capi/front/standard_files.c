/*
 * standard_files.c: keeps descriptors of the library off the numbers of the standard streams.
 *
 * The kernel gives a new file the lowest free number. In a program that was started without a
 * standard stream, this is 0, 1 or 2: what the program prints would then go into a socket of the
 * library or of libfabric.
 */
#define _GNU_SOURCE
#include "standard_files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Occupies the numbers of standard streams that are not open, by opening "/" with O_PATH: reads and
 * writes of such a descriptor fail with EBADF, as on a closed one, and it is closed in a program
 * that the process executes. */
void shmemi_occupy_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) != -1 || errno != EBADF)
            continue;
        int opened = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (opened > STDERR_FILENO)
            close(opened); /* another thread of the program has opened a file meanwhile */
    }
}
