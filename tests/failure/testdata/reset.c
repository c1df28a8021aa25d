/*
 * reset.c: a program that resets its GPU before it finalizes, as cudaDeviceReset does.
 *
 * end: then it finalizes. again: then it begins a job once more. used: it uses the GPU once more
 * before it finalizes, which makes a new context. inside: then it continues to use the heap.
 */
#include <dlfcn.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 4096 };

static int failed;

/* One round of a ring, 32 KiB each, and an atomic operation. */
static void work(long *words, long *sum, long *got, long round)
{
    int me = shmem_my_pe(), n = shmem_n_pes();
    for (int i = 0; i < WORDS; i++)
        got[i] = 1000 * round + me + i;
    shmem_long_put(words, got, WORDS, (me + 1) % n);
    shmem_long_atomic_add(sum, 1, (me + 1) % n);
    shmem_barrier_all();
    shmem_long_get(got, words, WORDS, me);
    for (int i = 0; i < WORDS; i++)
        failed += got[i] != 1000 * round + (me + n - 1) % n + i;
    failed += shmem_long_g(sum, me) != round;
    shmem_barrier_all();
}

/* A call of the fake driver. */
static int (*driver(const char *name))()
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    int (*call)() = NULL;
    if (library != NULL)
        *(void **)&call = dlsym(library, name);
    if (call == NULL)
        exit(2);
    return call;
}

static void job(const char *when)
{
    long *got = calloc(WORDS, sizeof *got);
    shmem_init();
    long *words = shmem_malloc(WORDS * sizeof *words), *sum = shmem_calloc(1, sizeof *sum);
    if (words == NULL || sum == NULL || got == NULL)
        exit(2);
    /* The first call on a stream makes the data of kernels, which the proxies serve. */
    shmemx_long_put_on_stream(sum, sum, 1, shmem_my_pe(), NULL);
    shmem_barrier_all();
    work(words, sum, got, 1);
    work(words, sum, got, 2);
    failed += driver("cuDevicePrimaryCtxReset_v2")(0) != 0;
    if (strcmp(when, "used") == 0 || strcmp(when, "inside") == 0) {
        void *context;
        failed += driver("cuDevicePrimaryCtxRetain")(&context, 0) != 0;
    }
    usleep(50000); /* the proxies go on */
    if (strcmp(when, "inside") == 0)
        shmem_long_p(words, 1, shmem_my_pe());
    shmem_finalize();
    free(got);
}

int main(int argc, char **argv)
{
    const char *when = argc > 1 ? argv[1] : "end";
    job(when);
    if (strcmp(when, "again") == 0)
        job(when);
    printf("reset %s: 1 passed, %d failed\n", when, failed);
    return failed != 0;
}
