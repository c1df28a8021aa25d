/*
 * phases.c: PEs that wait for a file in each phase of their life.
 *
 * The argument is a folder. Every PE waits for the file "before" in it, then calls shmem_init,
 * which PE 1 calls only when the file "init" exists, then shmem_finalize, which PE 1 calls when
 * "finalize" exists, and ends when "after" exists. With a second argument PE 2 kills itself where
 * the others finalize.
 */
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int me;

static void stand(const char *folder, const char *file)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    printf("PE %d is process %d and stands before %s\n", me, getpid(), file);
    fflush(stdout);
    while (access(path, F_OK) != 0)
        usleep(5000);
}

int main(int argc, char **argv)
{
    const char *number = getenv("SHMEM_LAUNCHER_PE");
    if (argc < 2 || number == NULL)
        return 2;
    me = atoi(number);
    stand(argv[1], "before");
    if (me == 1)
        stand(argv[1], "init");
    shmem_init();
    shmem_barrier_all();
    if (argc > 2 && me == 2)
        kill(getpid(), SIGKILL);
    if (me == 1)
        stand(argv[1], "finalize");
    shmem_finalize();
    stand(argv[1], "after");
    printf("PE %d: 1 passed, 0 failed\n", me);
    return 0;
}
