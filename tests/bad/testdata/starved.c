/*
 * starved.c: PE 1 alone has no memory left. Each collective allocation must
 * then be NULL on every PE, leave what exists as it was, and succeed again once
 * PE 1 has memory. The argument is a file that replaces /proc/meminfo for PE 1.
 */
#define _GNU_SOURCE
#include <shmem.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

enum { LARGE = 64 << 20, OLD = 1000 };

static int me;

static void expect(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "PE %d: wrong: %s\n", me, what);
    shmem_global_exit(9);
}

static void system_call(int result, const char *what)
{
    if (result != 0) {
        perror(what);
        shmem_global_exit(10);
    }
}

/* Every kind of call fails in the same way. */
static void refused(unsigned char *old)
{
    expect(shmem_malloc(LARGE) == NULL, "shmem_malloc found memory");
    expect(shmem_calloc(LARGE, 1) == NULL, "shmem_calloc found memory");
    expect(shmem_align(4096, LARGE) == NULL, "shmem_align found memory");
    expect(shmem_malloc_with_hints(LARGE, SHMEM_MALLOC_ATOMICS_REMOTE) == NULL,
           "shmem_malloc_with_hints found memory");
    expect(shmem_realloc(old, LARGE) == NULL, "shmem_realloc found memory");
    for (int i = 0; i < OLD; i++)
        expect(old[i] == (unsigned char)(i + me), "the block changed that could not grow");
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 11;
    shmem_init();
    me = shmem_my_pe();
    int n = shmem_n_pes();
    unsigned char *old = shmem_malloc(OLD);
    expect(old != NULL, "no memory to begin with");
    for (int i = 0; i < OLD; i++)
        old[i] = (unsigned char)(i + me);

    if (me == 1) {
        system_call(unshare(CLONE_NEWNS), "unshare");
        system_call(mount(NULL, "/proc", NULL, MS_REC | MS_PRIVATE, NULL), "mount private /proc");
        system_call(mount(argv[1], "/proc/meminfo", NULL, MS_BIND, NULL), "mount meminfo");
    }
    refused(old);
    refused(old); /* the memory allocated for the first refusal was freed */
    if (me == 1)
        system_call(umount("/proc/meminfo"), "umount meminfo");

    /* The heaps still have equal offsets: a put arrives in the block of the same call. */
    int *again = shmem_malloc(LARGE);
    expect(again != NULL, "no memory after the shortage");
    *again = -1;
    shmem_barrier_all();
    shmem_int_p(again, me, (me + 1) % n);
    shmem_barrier_all();
    expect(*again == (me + n - 1) % n, "the heaps differ after the shortage");
    printf("PE %d refused 10 and went on\n", me);
    shmem_finalize();
    return 0;
}
