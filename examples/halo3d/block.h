/*
 * block.h: how a box of points is divided among a grid of PEs, and a step of the
 * computation on a part of it.
 */
#ifndef BLOCK_H
#define BLOCK_H

#include <stddef.h>

enum { X, Y, Z, AXES };

/* A PE's place in the grid and its block of the box, by axis. */
struct block {
    size_t box[AXES];   /* points of the whole box */
    int pes[AXES];      /* PEs of the grid */
    int place[AXES];    /* of this PE in the grid */
    size_t first[AXES]; /* the block's first point, in the box */
    size_t size[AXES];  /* points of the block */
    size_t pitch[AXES]; /* elements of the array from a point to the next one along an axis, with
                           room for the border; the same on all PEs, so that an index is valid on
                           each */
};

/* The block of one of n PEs; the grid is as near to a cube as n allows. */
struct block block_of(const size_t *box, int n, int pe);

/* The index of a point in the array of a block. The block's own coordinates are 1 to size; 0 and
 * size + 1 are the border. */
size_t point(const struct block *b, size_t x, size_t y, size_t z);

/* Points of an array that holds a block of any PE. */
size_t block_points(const struct block *b);

/* The neighbour of the block along an axis, at the greater coordinate if up is 1, at the smaller
 * one if it is 0; -1 at the surface of the box. */
int neighbour(const struct block *b, int axis, int up);

/* The initial value of a point; its coordinates in the box are from 0. */
double initial(const size_t *box, size_t x, size_t y, size_t z);

/* Computes one step from the array `from` into the array `to`, for the rows y of the block from
 * begin (1 is the first) up to but not including end. */
void step(const struct block *b, double *to, const double *from, size_t begin, size_t end);

#endif
