/*
 * huge.c: 4 GiB of .bss of which two pages are used. The rest costs neither time nor memory.
 */
#include <shmem.h>

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char space[4ull << 30];

static double ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(void)
{
    size_t middle = sizeof space / 2;
    space[middle] = 1;
    double begin = ms();
    shmem_init();
    double took = ms() - begin;
    int me = shmem_my_pe(), right = (me + 1) % shmem_n_pes();
    shmem_char_p(&space[sizeof space - 1], (char)(me + 3), right);
    void *heap = shmem_malloc(1 << 20); /* there is memory for it */
    shmem_barrier_all();
    pid_t child = fork();
    if (child == 0) {
        space[middle] = 9;
        _exit(space[sizeof space - 1] == (char)(right + 3) ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    int good = heap != NULL && status == 0 && space[middle] == 1 && space[0] == 0 &&
               space[sizeof space - 1] == (char)(right + 3);
    /* 4 GiB would be 4194304 KiB, and a million page faults some 500 ms. */
    if (!good || used.ru_maxrss > 200000 || took > 400)
        fprintf(stderr, "PE %d: good %d, status %#x, %ld KiB, init took %.0f ms of CPU\n", me, good,
                status, used.ru_maxrss, took);
    else if (me == 0)
        printf("symmetric\n");
    shmem_barrier_all();
    shmem_finalize();
    return !good || used.ru_maxrss > 200000 || took > 400;
}
