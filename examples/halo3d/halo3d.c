/*
 * halo3d: a box of points divided among PEs, and each PE's block among threads that communicate
 * with the neighbours on contexts of their own.
 *
 *   shmemrun -n 4 ./halo3d [x [y [z [steps [threads]]]]]
 *
 * 96, 96, 96, 50 and 2 by default. A block has a border of one point, which the six neighbours
 * write. Each thread has some rows of the block: it puts its share of the faces, in pieces of three
 * shapes, and after a fence adds one to the neighbour's count of shares; it waits for the shares of
 * all sides and computes its rows. A fence or a quiet of one thread's context does not wait for the
 * operations of the others.
 *
 * PE 0 also computes the whole box alone, and every point has to be the same to the last bit.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, barriers of threads */

#include "block.h"

#include <pthread.h>
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_THREADS = 64 };

static int me, n;
static struct block block;
static unsigned long steps, threads;
static double *arrays[2]; /* symmetric: one to read, one to write, in turn */
static uint64_t *shares;  /* symmetric: 2 for each axis, the number that have arrived */
static pthread_barrier_t together;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what, const char *remedy)
{
    fprintf(stderr, "halo3d: PE %d: %s (%s)\n", me, what, remedy);
    shmem_global_exit(EXIT_FAILURE);
}

/* The layer of this block that goes to a neighbour (*from), and its place there (*to): the border
 * on the opposite side of the neighbour's block, whose size along the axis may differ. */
static void layers(int axis, int up, size_t *from, size_t *to)
{
    int pe = neighbour(&block, axis, up);
    *from = up ? block.size[axis] : 1;
    *to = up ? 0 : block_of(block.box, n, pe).size[axis] + 1;
}

/* Puts the part of a face that lies in the rows from begin up to end. */
static void put_face(shmem_ctx_t ctx, double *array, int axis, int up, size_t begin, size_t end)
{
    int pe = neighbour(&block, axis, up);
    size_t from, to, rows = end - begin, row = block.pitch[Y];
    layers(axis, up, &from, &to);
    if (axis == Z) /* adjacent rows are one piece, together with the border points between them */
        shmem_ctx_double_put_nbi(ctx, array + point(&block, 0, begin, to),
                                 array + point(&block, 0, begin, from), rows * row, pe);
    /* A row of each layer, by the thread whose rows include it. */
    if (axis == Y && (up ? end == block.size[Y] + 1 : begin == 1))
        for (size_t z = 1; z <= block.size[Z]; z++)
            shmem_ctx_double_put_nbi(ctx, array + point(&block, 1, to, z),
                                     array + point(&block, 1, from, z), block.size[X], pe);
    if (axis == X) /* a column of each layer */
        for (size_t z = 1; z <= block.size[Z]; z++)
            shmem_ctx_double_iput(ctx, array + point(&block, to, begin, z),
                                  array + point(&block, from, begin, z), (ptrdiff_t)row,
                                  (ptrdiff_t)row, rows, pe);
}

/* Puts this thread's share of all faces, announces it, and waits until all threads of the
 * neighbours have put theirs. number counts steps from 1. Side 2 * axis + up of a block
 * touches side 2 * axis + 1 - up of its neighbour. */
static void exchange(shmem_ctx_t ctx, double *array, size_t begin, size_t end, uint64_t number)
{
    for (int side = 0; side < 2 * AXES; side++)
        if (neighbour(&block, side / 2, side % 2) >= 0)
            put_face(ctx, array, side / 2, side % 2, begin, end);
    shmem_ctx_fence(ctx);
    for (int side = 0; side < 2 * AXES; side++)
        if (neighbour(&block, side / 2, side % 2) >= 0)
            shmem_ctx_uint64_atomic_inc(ctx, shares + (side ^ 1),
                                        neighbour(&block, side / 2, side % 2));
    for (int side = 0; side < 2 * AXES; side++)
        if (neighbour(&block, side / 2, side % 2) >= 0)
            shmem_uint64_wait_until(shares + side, SHMEM_CMP_GE, number * threads);
}

/* A thread; arg is its number, from 0. */
static void *work(void *arg)
{
    unsigned long id = (unsigned long)(uintptr_t)arg;
    size_t begin = 1 + block.size[Y] * id / threads, end = 1 + block.size[Y] * (id + 1) / threads;
    shmem_ctx_t ctx;
    /* An OpenSHMEM library may fail to create a context. The default one gives the same result. */
    if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) != 0)
        ctx = SHMEM_CTX_DEFAULT;
    for (unsigned long i = 0; i < steps; i++) {
        double *from = arrays[i % 2], *to = arrays[(i + 1) % 2];
        exchange(ctx, from, begin, end, i + 1);
        step(&block, to, from, begin, end);
        shmem_ctx_quiet(ctx); /* the next step writes to the arrays that were put */
        pthread_barrier_wait(&together);
    }
    if (ctx != SHMEM_CTX_DEFAULT)
        shmem_ctx_destroy(ctx);
    return NULL;
}

/* The whole box after all steps, computed by this PE alone. The caller frees it. */
static double *whole(const size_t *box)
{
    struct block b = block_of(box, 1, 0);
    double *from = calloc(block_points(&b), sizeof *from);
    double *to = calloc(block_points(&b), sizeof *to);
    if (from == NULL || to == NULL)
        fail("allocate memory: there is no more", "take a smaller box");
    for (size_t z = 0; z < box[Z]; z++)
        for (size_t y = 0; y < box[Y]; y++)
            for (size_t x = 0; x < box[X]; x++)
                from[point(&b, x + 1, y + 1, z + 1)] = initial(box, x, y, z);
    for (unsigned long i = 0; i < steps; i++) {
        step(&b, to, from, 1, box[Y] + 1);
        double *swap = from;
        from = to;
        to = swap;
    }
    free(to);
    return from;
}

/* On PE 0: gets every row of every block, and compares it with a serial run's. */
static void verify(const size_t *box)
{
    struct block all = block_of(box, 1, 0);
    double *want = whole(box), *row = malloc(box[X] * sizeof *row);
    const double *result = arrays[steps % 2];
    if (row == NULL)
        fail("allocate memory: there is no more", "take a smaller box");
    for (int pe = 0; pe < n; pe++) {
        struct block b = block_of(box, n, pe);
        for (size_t z = 1; z <= b.size[Z]; z++)
            for (size_t y = 1; y <= b.size[Y]; y++) {
                shmem_double_get(row, result + point(&b, 1, y, z), b.size[X], pe);
                size_t at = point(&all, b.first[X] + 1, b.first[Y] + y, b.first[Z] + z);
                if (memcmp(row, want + at, b.size[X] * sizeof *row) != 0)
                    fail("the box differs from that of a serial run", "this is a bug");
            }
    }
    free(row);
    free(want);
}

static unsigned long argument(int argc, char **argv, int i, unsigned long otherwise)
{
    char *end = "";
    unsigned long value = argc > i ? strtoul(argv[i], &end, 10) : otherwise;
    if (*end != '\0' || value == 0 || value > 1 << 20)
        fail("read the arguments: numbers from 1 to 1048576 are expected",
             "usage: halo3d [x [y [z [steps [threads]]]]]");
    return value;
}

/* All steps, with this thread as the first of the threads. */
static void run(void)
{
    pthread_t others[MAX_THREADS];
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    for (unsigned long i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, work, (void *)(uintptr_t)i) != 0)
            fail("start a thread: there are too many", "use fewer");
    work(NULL);
    for (unsigned long i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    pthread_barrier_destroy(&together);
}

int main(int argc, char **argv)
{
    int level;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level) != 0 || level != SHMEM_THREAD_MULTIPLE)
        return EXIT_FAILURE;
    me = shmem_my_pe();
    n = shmem_n_pes();
    const size_t box[AXES] = {argument(argc, argv, 1, 96), argument(argc, argv, 2, 96),
                              argument(argc, argv, 3, 96)};
    steps = argument(argc, argv, 4, 50);
    threads = argument(argc, argv, 5, 2);
    block = block_of(box, n, me);
    for (int axis = X; axis < AXES; axis++)
        if (box[axis] < (size_t)block.pes[axis])
            fail("divide the box: a PE would have no point of it", "take a larger box");
    if (threads > MAX_THREADS)
        fail("start the threads: there may be 64", "use fewer");
    for (int i = 0; i < 2; i++)
        arrays[i] = shmem_calloc(block_points(&block), sizeof *arrays[i]);
    shares = shmem_calloc(2 * AXES, sizeof *shares);
    if (arrays[0] == NULL || arrays[1] == NULL || shares == NULL)
        fail("allocate the box: the heap is full", "raise SHMEM_SYMMETRIC_SIZE");
    for (size_t z = 0; z < block.size[Z]; z++)
        for (size_t y = 0; y < block.size[Y]; y++)
            for (size_t x = 0; x < block.size[X]; x++)
                arrays[0][point(&block, x + 1, y + 1, z + 1)] =
                    initial(box, block.first[X] + x, block.first[Y] + y, block.first[Z] + z);

    shmem_barrier_all();
    double begin = now();
    run();
    shmem_barrier_all();
    double took = now() - begin;

    if (me == 0) {
        double points = (double)box[X] * (double)box[Y] * (double)box[Z];
        verify(box);
        printf("halo3d: %lu steps of %zu x %zu x %zu points on %d x %d x %d PEs with %lu threads, "
               "as a serial run to the last bit: %.3f s, %.1f million points/s\n",
               steps, box[X], box[Y], box[Z], block.pes[X], block.pes[Y], block.pes[Z], threads,
               took, 1e-6 * (double)steps * points / took);
    }
    shmem_finalize();
    return 0;
}
