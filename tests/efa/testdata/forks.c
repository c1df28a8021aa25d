/*
 * forks.c: a PE starts a program of its own, after it has opened the network.
 */
#include <shmem.h>

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    int status = -1;
    shmem_init();
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    int failed = child < 0 || waitpid(child, &status, 0) != child || status != 0;
    shmem_barrier_all();
    shmem_finalize();
    printf("%d passed, %d failed\n", !failed, failed);
    return failed;
}
