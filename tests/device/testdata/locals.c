/*
 * locals.c: calls of the host whose local buffers are in GPU memory of the program, which the CPU
 * does not reach. Each byte is compared.
 */
#include <dlfcn.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4 << 20, LARGEST = 200000 };

static int (*allocate)(uint64_t *, size_t);
static int (*copy_async)(uint64_t, uint64_t, size_t, void *);
static int (*stream_wait)(void *);
static int me, next, last, right, wrong;
static unsigned char host[LARGEST];
static void *source, *dest; /* GPU memory */

static void must(const char *what, int code)
{
    if (code == 0)
        return;
    fprintf(stderr, "locals: %s: error %d of the driver\n", what, code);
    abort();
}

static void *own(void)
{
    uint64_t at;
    must("cuMemAlloc_v2", allocate(&at, ROOM));
    return (void *)(uintptr_t)at;
}

static void move(const void *to, const void *from, size_t n)
{
    must("cuMemcpyAsync", copy_async((uintptr_t)to, (uintptr_t)from, n, NULL));
    must("cuStreamSynchronize", stream_wait(NULL));
}

static unsigned char pattern(int pe, unsigned round, size_t i)
{
    return (unsigned char)(pe * 71 + (int)round * 13 + (int)(i * 7 + i / 251));
}

/* The source of this PE, and a dest that has nothing of it. */
static void begin(size_t n, unsigned round)
{
    memset(host, 0xa5, n);
    move(dest, host, n);
    for (size_t i = 0; i < n; i++)
        host[i] = pattern(me, round, i);
    move(source, host, n);
    shmem_barrier_all();
}

static void compare(const void *came, size_t n, int from, unsigned round, const char *what)
{
    size_t bad = 0;
    move(host, came, n);
    for (size_t i = 0; i < n; i++)
        bad += host[i] != pattern(from, round, i);
    if (bad == 0) {
        right++;
    } else {
        wrong++;
        printf("locals: PE %d: %s of %zu bytes, round %u: %zu wrong\n", me, what, n, round, bad);
    }
    shmem_barrier_all();
}

static void tokens(size_t n)
{
    static const int tiles[] = {SHMEMX_EAGER_NONE, SHMEMX_EAGER_NOTIFY, SHMEMX_EAGER_PACKET,
                                SHMEMX_EAGER_LINE, SHMEMX_EAGER_BLOCK};
    for (size_t k = 0; k < sizeof tiles / sizeof *tiles; k++) {
        shmemx_eager_t e;
        char what[32];
        /* Two PEs have one route: it may keep the tile for kernels alone. */
        if (tiles[k] >= SHMEMX_EAGER_PACKET &&
            (shmem_n_pes() != 2 || shmemx_eager_tile(next) < tiles[k]))
            continue;
        if (shmemx_eager_create(n, 1, tiles[k], &e) != 0)
            continue;
        snprintf(what, sizeof what, "tile %d", tiles[k]);
        for (unsigned epoch = 1; epoch <= 4; epoch++) {
            begin(n, epoch);
            shmemx_eager_send(&e, 0, source, epoch, next);
            shmemx_eager_recv(&e, 0, dest, epoch);
            compare(dest, n, last, epoch, what);
        }
        shmemx_eager_destroy(&e);
    }
}

static void transfers(size_t n)
{
    char *box = shmem_malloc(LARGEST);
    uint64_t *signal = shmem_calloc(1, sizeof *signal);
    begin(n, 10);
    shmem_putmem(box, source, n, next);
    shmem_barrier_all();
    shmem_getmem(dest, box, n, me);
    compare(dest, n, last, 10, "put");
    begin(n, 11);
    shmem_putmem_signal(box, source, n, signal, 1, SHMEM_SIGNAL_SET, next);
    shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 1);
    shmem_getmem(dest, box, n, me);
    compare(dest, n, last, 11, "put with signal");
    begin(n, 12);
    shmemx_notify_reset(0, 0);
    shmem_barrier_all();
    shmemx_putmem_notify(box, source, n, 0, next);
    shmemx_notify_wait(0, 1);
    shmem_getmem(dest, box, n, me);
    compare(dest, n, last, 12, "put with notification");
    shmem_free(signal);
    shmem_free(box);
}

int main(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (lib == NULL) {
        fprintf(stderr, "locals: %s\n", dlerror());
        return 1;
    }
    *(void **)&allocate = dlsym(lib, "cuMemAlloc_v2");
    *(void **)&copy_async = dlsym(lib, "cuMemcpyAsync");
    *(void **)&stream_wait = dlsym(lib, "cuStreamSynchronize");
    shmem_init();
    me = shmem_my_pe();
    next = (me + 1) % shmem_n_pes();
    last = (me + shmem_n_pes() - 1) % shmem_n_pes();
    source = own();
    dest = own();
    for (size_t n = 5; n <= LARGEST; n = n < 5000 ? n * 31 : 39 * n) {
        tokens(n);
        transfers(n);
    }
    shmem_finalize();
    printf("locals: PE %d: %d passed, %d failed\n", me, right, wrong);
    return wrong != 0;
}
