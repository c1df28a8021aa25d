/*
 * layout.h: which bytes of a model each PE holds, before and after.
 *
 * Before, layout A: columns. Every PE holds a range of columns of every
 * tensor, as the ranks of a tensor-parallel trainer do. A tensor is taken as
 * a matrix of shape[0] rows; vectors and scalars are one row.
 *
 * After, layout B: whole tensors. Each tensor is on one PE, and the PEs hold
 * about the same number of bytes, as for pipeline-parallel inference, or
 * for writing the model out again.
 *
 * Both follow from the header of the file and the number of PEs, so each PE computes the whole plan
 * for itself, and no message describes a chunk: sender and receiver walk the same list (struct
 * chunks).
 *
 * This file moves nothing between PEs and calls no SHMEM routine.
 */
#ifndef RESHARD_LAYOUT_H
#define RESHARD_LAYOUT_H

#include "safetensors.h"

/* One PE's columns of one tensor. They lie in its memory row after row with
 * nothing between, so they are also a run of rows * width bytes. */
struct shard {
    size_t rows;
    size_t row_bytes; /* of the tensor's whole row */
    size_t first;     /* byte of the row where this PE's columns begin */
    size_t width;     /* bytes of the row that are this PE's */
};

struct shard layout_shard(const struct tensor *t, int pe, int n_pes);

/* Where one tensor lives in layout B. */
struct place {
    int owner;
    size_t offset; /* in the owner's block */
};

struct layout {
    const struct model *model;
    int n_pes;
    struct place *places; /* one for each tensor */
    size_t largest_block; /* bytes of the fullest PE's block */
};

/* Distributes the tensors: the largest first, each to the PE that has least so far. False when
 * there is no memory. */
bool layout_init(struct layout *l, const struct model *m, int n_pes);
void layout_free(struct layout *l);

/* The number of bytes of the model that move from one PE to another. */
uint64_t layout_moving_bytes(const struct layout *l);

/* A part of the data that one PE has to send to another, all of it from one tensor. */
struct chunk {
    size_t tensor;
    size_t offset; /* in the sender's shard of that tensor */
    size_t nbytes;
};

/* Walks the chunks of one sender and one receiver. */
struct chunks {
    const struct layout *layout;
    int sender, receiver;
    size_t limit;        /* bytes of a chunk, at most */
    size_t next, offset; /* the tensor of the next chunk, and where in its shard that begins */
};

/* False after the last chunk. */
bool layout_next_chunk(struct chunks *walk, struct chunk *c);

/* Copies a chunk that came from `sender` to its places in the whole tensor:
 * a piece for each row, since the columns of the others lie between. */
void layout_place_chunk(const struct layout *l, const struct chunk *c, int sender,
                        const unsigned char *from, unsigned char *tensor);

#endif
