/*
 * ends.c: a program that makes a hundred calls, and ends in the way that its argument names.
 */
#include <shmem.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static long word;
    const char *how = argc > 1 ? argv[1] : "";
    shmem_init();
    for (int i = 0; i < 100; i++)
        shmem_long_p(&word, i, 0);
    if (strcmp(how, "global_exit") == 0)
        shmem_global_exit(3);
    if (strcmp(how, "exit") == 0)
        exit(3); /* without finalize */
    if (strcmp(how, "kill") == 0) {
        sleep(1); /* the writer looks every tenth of a second */
        raise(SIGKILL);
    }
    if (strcmp(how, "limit") == 0) {
        struct rlimit files = {100000, RLIM_INFINITY};
        setrlimit(RLIMIT_FSIZE, &files);
        for (int i = 0; i < 20000; i++)
            shmem_long_p(&word, i, 0);
        sleep(1);
        for (int i = 0; i < 20000; i++)
            shmem_long_p(&word, i, 0);
    }
    if (strcmp(how, "close") == 0) {
        sleep(1); /* the file is there */
        for (int fd = 3; fd < 2000; fd++)
            close(fd);
        exit(3);
    }
    shmem_finalize();
    if (strcmp(how, "twice") == 0)
        shmem_finalize();
    return 0;
}
