/*
 * driverwatch.c: PEs, one of which waits in the driver of its GPU.
 *
 * The argument is a folder. Each PE writes its process number, and does each step when the file of
 * that name exists:
 *
 *   get    PE 0 gets from the last PE, whose proxy copies the bytes out of its GPU
 *   quiet  the last PE puts and waits for it
 *   end    both meet and end
 *
 * With one PE, get has it copy by itself.
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WORDS = 1024 };

static const char *folder;

static void wait_for(const char *name)
{
    char file[4096];
    snprintf(file, sizeof file, "%s/%s", folder, name);
    while (access(file, F_OK) != 0)
        usleep(10000);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    folder = argv[1];
    shmem_init();
    int me = shmem_my_pe(), last = shmem_n_pes() - 1, failed = 0;
    long *words = shmem_malloc(WORDS * sizeof *words), *got = calloc(WORDS, sizeof *got);
    if (words == NULL || got == NULL)
        return 2;
    for (int i = 0; i < WORDS; i++)
        got[i] = i + 1;
    shmem_long_put(words, got, WORDS, me);
    shmem_barrier_all();
    printf("PE %d is process %d\n", me, getpid());
    fflush(stdout);
    if (me == 0) {
        for (int i = 0; i < WORDS; i++)
            got[i] = 0;
        wait_for("get");
        shmem_long_get(got, words, WORDS, last);
        for (int i = 0; i < WORDS; i++)
            failed += got[i] != i + 1;
    }
    if (me == last) {
        wait_for("quiet");
        shmem_long_p(words, -1, 0);
        shmem_quiet();
    }
    wait_for("end");
    shmem_barrier_all();
    if (me == 0)
        failed += shmem_long_g(words, 0) != -1;
    shmem_finalize();
    printf("PE %d: 1 passed, %d failed\n", me, failed);
    return failed != 0;
}
