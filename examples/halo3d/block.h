/*
 * block.h: how a box of points is divided among a grid of PEs, and a step of the
 * computation on a part of it.
 */
#ifndef BLOCK_H
#define BLOCK_H

#include <stddef.h>

enum { X, Y, Z, AXES };

/* A PE's place in the grid and its block of the box. */
struct block {
    size_t box[AXES];   /* points of the whole */
    int pes[AXES];      /* of the grid */
    int place[AXES];    /* in the grid */
    size_t first[AXES]; /* the block's first point, in the box */
    size_t size[AXES];  /* points of the block */
    size_t pitch[AXES]; /* from point to point along an axis, border included, the same on
                           all PEs */
};

/* The block of one of n PEs; the grid is as near to a cube as n allows. */
struct block block_of(const size_t *box, int n, int pe);

/* The index of a point in the array of a block; 0 and size + 1 are in the border. */
size_t point(const struct block *b, size_t x, size_t y, size_t z);

/* Points of an array that holds a block of any PE. */
size_t block_points(const struct block *b);

/* The PE on a side of an axis, or -1. */
int neighbour(const struct block *b, int axis, int up);

/* The initial values of the box. */
double initial(const size_t *box, size_t x, size_t y, size_t z);

/* One step for the rows y from begin up to but not including end, counted from 1. */
void step(const struct block *b, double *to, const double *from, size_t begin, size_t end);

#endif
