/*
 * heat: heat spreads over a plate, which is divided among a grid of PEs.
 *
 *   shmemrun -n 4 ./heat [width [height [steps [picture.png]]]]
 *
 * 512, 512 and 500 by default. Each PE has a block of the plate with a border of one point, into
 * which the neighbours write their edges: rows in one piece, columns point by point with a stride.
 * A signal announces an edge: that of a row is part of the put, and a column has a fence before its
 * signal, so that the column arrives first. There are two plates, one to read and one to write, so
 * that a neighbour which is a step ahead overwrites nothing that is still needed.
 *
 * PE 0 also computes the whole plate alone, and every point has to be the same to the last bit.
 * With a file name it also draws the plate.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "heat.h"

#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { UP, DOWN, LEFT, RIGHT, SIDES };

static int me, n;

/* The grid of PEs, this PE's place in it, and its part of the plate. */
static struct {
    int across, down;
    int x, y;
    size_t width, height;         /* of the plate */
    size_t left, top, wide, high; /* of the part */
    size_t stride;                /* from row to row of a block, the same on all PEs */
} grid;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what, const char *remedy)
{
    fprintf(stderr, "heat: PE %d: %s (%s)\n", me, what, remedy);
    shmem_global_exit(EXIT_FAILURE);
}

/* The first of `all` points that belongs to part i, when they are divided evenly into parts. */
static size_t part(size_t all, int parts, int i)
{
    return all * (size_t)i / (size_t)parts;
}

/* Sets grid. It has as many rows of PEs as the largest divisor of n that is at most its root. */
static void divide(size_t width, size_t height)
{
    for (grid.down = 1; (grid.down + 1) * (grid.down + 1) <= n; grid.down++)
        ;
    while (n % grid.down != 0)
        grid.down--;
    grid.across = n / grid.down;
    if (width < (size_t)grid.across || height < (size_t)grid.down)
        fail("divide the plate: a PE would have no point of it", "take a larger plate");
    grid.x = me % grid.across;
    grid.y = me / grid.across;
    grid.width = width;
    grid.height = height;
    grid.left = part(width, grid.across, grid.x);
    grid.top = part(height, grid.down, grid.y);
    grid.wide = part(width, grid.across, grid.x + 1) - grid.left;
    grid.high = part(height, grid.down, grid.y + 1) - grid.top;
    grid.stride = (width + (size_t)grid.across - 1) / (size_t)grid.across + 2;
}

/* The rows of the largest block, border included: all PEs allocate as many. */
static size_t rows(void)
{
    return (grid.height + (size_t)grid.down - 1) / (size_t)grid.down + 2;
}

/* A hot disk on a cold plate, with an edge that is warm at the top. */
static double initial(size_t x, size_t y, size_t width, size_t height)
{
    double dx = ((double)x + 0.5) / (double)width - 0.35;
    double dy = ((double)y + 0.5) / (double)height - 0.6;
    return dx * dx + dy * dy < 0.03 ? 100 : y == 0 ? 50 : 0;
}

/* The value of a point after one step. stride is the distance of its neighbours above and below.
 * The factor is conductivity times length of a step. Above 1/4 the values oscillate. */
static double step(const double *at, size_t stride)
{
    return at[0] + 0.2 * (at[-(ptrdiff_t)stride] + at[stride] + at[-1] + at[1] - 4 * at[0]);
}

/* Computes one step of a block of wide x high points, whose first point is at (left, top) of the
 * plate. The edge of the plate keeps its values. */
static void step_rows(double *to, const double *from, size_t stride, size_t left, size_t top,
                      size_t wide, size_t high)
{
    for (size_t y = 0; y < high; y++)
        for (size_t x = 0; x < wide; x++) {
            size_t at = (y + 1) * stride + x + 1;
            bool edge = left + x == 0 || top + y == 0 || left + x == grid.width - 1 ||
                        top + y == grid.height - 1;
            to[at] = edge ? from[at] : step(from + at, stride);
        }
}

/* The PE on a side, or -1. */
static int neighbour(int side)
{
    int x = grid.x + (side == RIGHT) - (side == LEFT), y = grid.y + (side == DOWN) - (side == UP);
    return x < 0 || y < 0 || x == grid.across || y == grid.down ? -1 : y * grid.across + x;
}

/* Writes this block's edges into the borders of the neighbours, and waits for theirs. A border
 * begins where the neighbour's own part ends, so its place depends on the neighbour's size: up_high
 * and left_wide. number counts steps from 1. Signals only grow, so a neighbour that is
 * a step ahead does no harm. */
static void exchange(double *plate, uint64_t *signals, uint64_t number)
{
    size_t s = grid.stride, up_high = 0, left_wide = 0;
    if (grid.y > 0)
        up_high = grid.top - part(grid.height, grid.down, grid.y - 1);
    if (grid.x > 0)
        left_wide = grid.left - part(grid.width, grid.across, grid.x - 1);
    int up = neighbour(UP), down = neighbour(DOWN), left = neighbour(LEFT),
        right = neighbour(RIGHT);
    if (up >= 0)
        shmem_double_put_signal(plate + (up_high + 1) * s + 1, plate + s + 1, grid.wide,
                                signals + DOWN, number, SHMEM_SIGNAL_SET, up);
    if (down >= 0)
        shmem_double_put_signal(plate + 1, plate + grid.high * s + 1, grid.wide, signals + UP,
                                number, SHMEM_SIGNAL_SET, down);
    ptrdiff_t stride = (ptrdiff_t)s;
    if (left >= 0)
        shmem_double_iput(plate + s + left_wide + 1, plate + s + 1, stride, stride, grid.high,
                          left);
    if (right >= 0)
        shmem_double_iput(plate + s, plate + s + grid.wide, stride, stride, grid.high, right);
    shmem_fence(); /* a column arrives before the signal that announces it */
    if (left >= 0)
        shmem_uint64_p(signals + RIGHT, number, left);
    if (right >= 0)
        shmem_uint64_p(signals + LEFT, number, right);
    for (int side = 0; side < SIDES; side++)
        if (neighbour(side) >= 0)
            shmem_uint64_wait_until(signals + side, SHMEM_CMP_GE, number);
}

/* The whole plate after all steps, computed by PE 0 alone, with a border of one point around it. */
static double *serial(unsigned long steps)
{
    size_t s = grid.width + 2, all = s * (grid.height + 2);
    double *from = calloc(all, sizeof *from), *to = calloc(all, sizeof *to);
    if (from == NULL || to == NULL)
        fail("allocate memory: there is no more", "take a smaller plate");
    for (size_t y = 0; y < grid.height; y++)
        for (size_t x = 0; x < grid.width; x++)
            from[(y + 1) * s + x + 1] = initial(x, y, grid.width, grid.height);
    for (unsigned long i = 0; i < steps; i++) {
        step_rows(to, from, s, 0, 0, grid.width, grid.height);
        double *swap = from;
        from = to;
        to = swap;
    }
    free(to);
    return from;
}

/* Fetches the blocks of all PEs into one array without borders, which the caller frees. plate is
 * the symmetric array with the result. */
static double *gather(const double *plate)
{
    double *all = malloc(grid.width * grid.height * sizeof *all);
    if (all == NULL)
        fail("allocate memory: there is no more", "take a smaller plate");
    for (int pe = 0; pe < n; pe++) {
        int px = pe % grid.across, py = pe / grid.across;
        size_t left = part(grid.width, grid.across, px), top = part(grid.height, grid.down, py);
        size_t wide = part(grid.width, grid.across, px + 1) - left;
        size_t high = part(grid.height, grid.down, py + 1) - top;
        for (size_t y = 0; y < high; y++)
            shmem_double_get_nbi(all + (top + y) * grid.width + left,
                                 plate + (y + 1) * grid.stride + 1, wide, pe);
    }
    shmem_quiet();
    return all;
}

/* On PE 0: compares the result with a serial run's, and draws it if picture is not NULL. */
static void verify(const double *plate, unsigned long steps, const char *picture)
{
    double *all = gather(plate), *want = serial(steps);
    for (size_t y = 0; y < grid.height; y++)
        if (memcmp(all + y * grid.width, want + (y + 1) * (grid.width + 2) + 1,
                   grid.width * sizeof *all) != 0)
            fail("the plate differs from that of a serial run", "this is a bug");
    if (picture != NULL && !write_png(picture, all, grid.width, grid.height, 100))
        fail("write the picture: the file cannot be written", "name another file");
    free(want);
    free(all);
}

static unsigned long argument(int argc, char **argv, int i, unsigned long otherwise)
{
    char *end = "";
    unsigned long value = argc > i ? strtoul(argv[i], &end, 10) : otherwise;
    if (*end != '\0' || value == 0 || value > 1 << 20)
        fail("read the arguments: numbers from 1 to 1048576 are expected",
             "usage: heat [width [height [steps [picture.png]]]]");
    return value;
}

int main(int argc, char **argv)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    unsigned long width = argument(argc, argv, 1, 512), height = argument(argc, argv, 2, 512);
    unsigned long steps = argument(argc, argv, 3, 500);
    divide(width, height);
    size_t s = grid.stride, all = s * rows();
    double *from = shmem_calloc(all, sizeof *from), *to = shmem_calloc(all, sizeof *to);
    uint64_t *signals = shmem_calloc(SIDES, sizeof *signals);
    if (from == NULL || to == NULL || signals == NULL)
        fail("allocate the plate: the heap is full", "raise SHMEM_SYMMETRIC_SIZE");
    for (size_t y = 0; y < grid.high; y++)
        for (size_t x = 0; x < grid.wide; x++)
            from[(y + 1) * s + x + 1] = initial(grid.left + x, grid.top + y, width, height);

    shmem_barrier_all();
    double begin = now();
    for (unsigned long i = 0; i < steps; i++) {
        exchange(from, signals, i + 1);
        step_rows(to, from, s, grid.left, grid.top, grid.wide, grid.high);
        double *swap = from;
        from = to;
        to = swap;
    }
    shmem_barrier_all();
    double took = now() - begin;

    if (me == 0) {
        verify(from, steps, argc > 4 ? argv[4] : NULL);
        printf("heat: %lu steps of %lu x %lu points on %d x %d PEs, as a serial run to the last "
               "bit: %.3f s, %.1f million points/s\n",
               steps, width, height, grid.across, grid.down, took,
               1e-6 * (double)steps * (double)width * (double)height / took);
    }
    shmem_finalize();
    return 0;
}
