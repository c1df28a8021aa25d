/*
 * ends.c: a program that makes a hundred calls, and ends in the way that its argument names. The
 * second is the file of its trace.
 */
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Waits until the trace has n calls of shmem_long_p. */
static void await(const char *file, int n)
{
    static char text[1 << 16];
    for (int has = -1; has < n; usleep(1000)) {
        FILE *f = fopen(file, "r");
        if (f == NULL)
            continue;
        text[fread(text, 1, sizeof text - 1, f)] = '\0';
        fclose(f);
        has = 0;
        for (const char *at = text; (at = strstr(at, "shmem_long_p\"")) != NULL; at++)
            has++;
    }
}

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
        await(argv[2], 100);
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
        await(argv[2], 100);
        for (int fd = 3; fd < 2000; fd++)
            close(fd);
        exit(3);
    }
    shmem_finalize();
    if (strcmp(how, "twice") == 0)
        shmem_finalize();
    return 0;
}
