/*
 * child.c: a PE whose children try to be PEs, too: PE 1 forks one after shmem_init, and starts this
 * program once more, as it is and by the command in the argument. Each child prints how it ended.
 */
#include <shmem.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void ended(const char *who, int status)
{
    printf("%s ended with %d\n", who, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    if (argc == 3 && me == 1) {
        char line[4096];
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            shmem_init();
            printf("a forked child has a place\n");
            _exit(0);
        }
        waitpid(child, &status, 0);
        ended("forked", status);
        snprintf(line, sizeof line, "%s started", argv[0]);
        ended("started", system(line));
        snprintf(line, sizeof line, "%s %s alone", argv[1], argv[0]);
        ended("started alone", system(line));
    }
    shmem_barrier_all();
    shmem_finalize();
    printf("PE %d of %d done\n", me, n);
    return 0;
}
