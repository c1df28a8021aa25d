/*
 * reset.c: a program that resets its GPU before it finalizes, as cudaDeviceReset does.
 *
 * end: then it finalizes. again: then it begins a job once more. used: it uses the GPU once more
 * before it finalizes, which makes a new context. inside: then it continues to use the heap.
 */
#include <dlfcn.h>
#include <shmem.h>
#include <shmem/ring.h>
#include <shmem/unit.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* What a unit with kernels is given; NULL: the job has no data of kernels. */
static const struct shmemi_device_image *image;

static int give(const struct shmemi_device_image *given, int device)
{
    image = given;
    return device; /* GPU 0 */
}

static struct shmemi_unit unit = {
    .version = SHMEMI_WIRE_VERSION,
    .size = sizeof unit,
    .state_size = sizeof(struct shmemi_device_state),
    .image_size = sizeof *image,
    .file = __FILE__,
    .set = give,
};

/* The rings of kernels, with the producers' own words: a reset ends those in GPU memory, and leaves
 * what proxies read and write. */
static struct shmemi_ring *keep_rings(void)
{
    struct shmemi_ring *rings = calloc(image->job.ring_count + 1, sizeof *rings);
    struct shmemi_ring_near *near = calloc(image->job.ring_count + 1, sizeof *near);
    if (rings == NULL || near == NULL)
        exit(2);
    for (uint32_t i = 0; i < image->job.ring_count; i++) {
        rings[i] = ((const struct shmemi_ring *)image->job.rings)[i];
        rings[i].near = memcpy(&near[i], rings[i].near, sizeof *near);
    }
    return rings;
}

/* Returns when each proxy has served its rings twice: it begins a second quiet behind the end of
 * the first. */
static void proxies_go_on(struct shmemi_ring *rings, uint32_t count)
{
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < count; i++)
            failed += shmemi_ring_quiet(rings, count, i, 0) != 0;
}

static void job(const char *when)
{
    long *got = calloc(WORDS, sizeof *got);
    shmem_init();
    long *words = shmem_malloc(WORDS * sizeof *words), *sum = shmem_calloc(1, sizeof *sum);
    if (words == NULL || sum == NULL || got == NULL)
        exit(2);
    shmemx_long_put_on_stream(sum, sum, 1, shmem_my_pe(), NULL);
    shmem_barrier_all();
    work(words, sum, got, 1);
    work(words, sum, got, 2);
    struct shmemi_ring *rings = keep_rings();
    failed += driver("cuDevicePrimaryCtxReset_v2")(0) != 0;
    if (strcmp(when, "used") == 0 || strcmp(when, "inside") == 0) {
        void *context;
        failed += driver("cuDevicePrimaryCtxRetain")(&context, 0) != 0;
    }
    proxies_go_on(rings, image->job.ring_count);
    if (strcmp(when, "inside") == 0)
        shmem_long_p(words, 1, shmem_my_pe());
    shmem_finalize();
    free(got);
}

int main(int argc, char **argv)
{
    const char *when = argc > 1 ? argv[1] : "end";
    shmemi_device_register(&unit);
    job(when);
    if (strcmp(when, "again") == 0)
        job(when);
    printf("reset %s: 1 passed, %d failed\n", when, failed);
    return failed != 0;
}
