/*
 * block.c: see block.h.
 */
#include "block.h"

#include <stdbool.h>

/* The first of `all` points that belongs to part i, when they are divided evenly into parts. */
static size_t part(size_t all, int parts, int i)
{
    return all * (size_t)i / (size_t)parts;
}

/* The largest divisor d of n with d^power <= n. */
static int root(int n, int power)
{
    int best = 1;
    for (int d = 2; d <= n; d++) {
        long long all = d;
        for (int i = 1; i < power; i++)
            all *= d;
        if (all <= n && n % d == 0)
            best = d;
    }
    return best;
}

struct block block_of(const size_t *box, int n, int pe)
{
    struct block b;
    b.pes[Z] = root(n, 3);
    b.pes[Y] = root(n / b.pes[Z], 2);
    b.pes[X] = n / b.pes[Z] / b.pes[Y];
    size_t pitch = 1;
    for (int axis = X; axis < AXES; axis++) {
        int parts = b.pes[axis];
        b.box[axis] = box[axis];
        b.place[axis] = pe % parts;
        pe /= parts;
        b.first[axis] = part(box[axis], parts, b.place[axis]);
        b.size[axis] = part(box[axis], parts, b.place[axis] + 1) - b.first[axis];
        b.pitch[axis] = pitch;
        pitch *= (box[axis] + (size_t)parts - 1) / (size_t)parts + 2; /* the largest block's */
    }
    return b;
}

size_t point(const struct block *b, size_t x, size_t y, size_t z)
{
    return x + y * b->pitch[Y] + z * b->pitch[Z];
}

size_t block_points(const struct block *b)
{
    size_t parts = (size_t)b->pes[Z];
    return ((b->box[Z] + parts - 1) / parts + 2) * b->pitch[Z];
}

int neighbour(const struct block *b, int axis, int up)
{
    int at[AXES] = {b->place[X], b->place[Y], b->place[Z]};
    at[axis] += up ? 1 : -1;
    if (at[axis] < 0 || at[axis] == b->pes[axis])
        return -1;
    return (at[Z] * b->pes[Y] + at[Y]) * b->pes[X] + at[X];
}

double initial(const size_t *box, size_t x, size_t y, size_t z)
{
    /* A hot corner, and small differences elsewhere, so that a point at a wrong place shows. */
    size_t corner = x < box[X] / 2 && y < box[Y] / 3 && z < box[Z] / 4;
    return (double)(100 * corner + (7 * x + 5 * y + 3 * z) % 11);
}

/* Reports whether a point of the block is on the surface of the box, where values never change. */
static bool surface(const struct block *b, size_t x, size_t y, size_t z)
{
    const size_t at[AXES] = {x, y, z};
    for (int axis = X; axis < AXES; axis++) {
        size_t i = b->first[axis] + at[axis] - 1;
        if (i == 0 || i == b->box[axis] - 1)
            return true;
    }
    return false;
}

void step(const struct block *b, double *to, const double *from, size_t begin, size_t end)
{
    ptrdiff_t up = (ptrdiff_t)b->pitch[Y], in = (ptrdiff_t)b->pitch[Z];
    for (size_t z = 1; z <= b->size[Z]; z++)
        for (size_t y = begin; y < end; y++)
            for (size_t x = 1; x <= b->size[X]; x++) {
                size_t i = point(b, x, y, z);
                const double *at = from + i;
                /* 0.1 is conductivity times length of a step. Above 1/6 the values oscillate. */
                double around = at[-1] + at[1] + at[-up] + at[up] + at[-in] + at[in];
                to[i] = surface(b, x, y, z) ? at[0] : at[0] + 0.1 * (around - 6 * at[0]);
            }
}
