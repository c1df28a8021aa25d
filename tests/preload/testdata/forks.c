/*
 * forks.c: a PE with children: one by fork that calls a function of SHMEM and exits, one by fork
 * that executes another program, one of system.
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static long word;
    (void)argv;
    if (argc > 1) { /* a parent that has only asked for the version; its child is the PE */
        int major, minor, status;
        shmem_info_get_version(&major, &minor);
        pid_t child = fork();
        if (child != 0)
            return waitpid(child, &status, 0) != child || status != 0;
    }
    shmem_init();
    int me = shmem_my_pe(), status;
    shmem_long_p(&word, 1, me);
    pid_t child = fork();
    if (child == 0) {
        int major = 0, minor;
        shmem_info_get_version(&major, &minor); /* the shim of a child records nothing */
        exit(major == 1 ? 0 : 1);
    }
    waitpid(child, &status, 0);
    if (status)
        return 1;
    child = fork();
    if (child == 0) {
        execlp("sh", "sh", "-c", "exit 0", (char *)NULL);
        _exit(1);
    }
    waitpid(child, &status, 0);
    if (status || system("echo a child") != 0)
        return 1;
    shmem_long_p(&word, 3, me);
    shmem_finalize();
    return 0;
}
