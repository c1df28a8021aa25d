/*
 * forked.c: a PE forks, and the child calls the library.
 *
 * usage: forked NAME, a function
 */
#include <shmem.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int *word;

static void use(const char *name)
{
    if (strcmp(name, "shmem_my_pe") == 0)
        shmem_my_pe();
    else if (strcmp(name, "shmem_barrier_all") == 0)
        shmem_barrier_all();
    else if (strcmp(name, "shmem_int_p") == 0)
        shmem_int_p(word, 1, 0);
    else if (strcmp(name, "shmem_malloc") == 0)
        shmem_malloc(8);
    else if (strcmp(name, "shmem_init") == 0)
        shmem_init();
}

int main(int argc, char **argv)
{
    shmem_init();
    word = shmem_malloc(sizeof *word);
    *word = 7;
    pid_t child = fork();
    if (child == 0) {
        use(argc > 1 ? argv[1] : "");
        _exit(0);
    }
    int status = -1;
    if (waitpid(child, &status, 0) != child)
        return 1;
    int failed = WIFEXITED(status) && WEXITSTATUS(status) != 0;
    int good = shmem_int_g(word, 0) == 7;
    shmem_barrier_all();
    shmem_free(word);
    shmem_finalize();
    printf("child %s, parent %s\n", failed ? "failed" : "did not fail",
           good ? "done" : "disturbed");
    return 0;
}
