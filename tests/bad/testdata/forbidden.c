/*
 * forbidden.c: the work of a job under a filter of system calls: it puts, gets, adds, locks, forks
 * and leaves. Its memory is large, small, on the heap, and a global.
 */
#include <shmem.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 50000 };

static long global, lock;

static void expect(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "PE %d: wrong: %s\n", shmem_my_pe(), what);
    shmem_global_exit(9);
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    long *heap = shmem_calloc(MANY, sizeof *heap), *count = shmem_calloc(1, sizeof *count);
    long *mine = malloc(MANY * sizeof *mine);
    for (int i = 0; i < MANY; i++)
        mine[i] = me + i;
    shmem_barrier_all();
    shmem_long_put(heap, mine, MANY, next);
    shmem_long_p(&global, me + 1, next);
    shmem_barrier_all();
    expect(heap[MANY - 1] == before + MANY - 1 && global == before + 1, "what was put");
    shmem_long_get(mine, heap, MANY, next);
    expect(mine[MANY - 1] == me + MANY - 1, "what was got");

    shmem_set_lock(&lock);
    shmem_long_p(count, shmem_long_g(count, 0) + 1, 0);
    shmem_clear_lock(&lock);
    shmem_barrier_all();
    expect(me != 0 || *count == n, "what the lock guarded");

    pid_t child = fork();
    if (child == 0)
        _exit(global == before + 1 ? 0 : 1);
    int status = -1;
    expect(waitpid(child, &status, 0) == child && status == 0, "the child's global");
    printf("PE %d went on\n", me);
    shmem_finalize();
    return 0;
}
