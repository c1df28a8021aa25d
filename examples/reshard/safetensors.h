/*
 * safetensors.h: the tensors of a safetensors file, and their bytes.
 *
 * The format: 8 bytes, little-endian, with the length of the header; the header, a JSON object with
 * dtype, shape and data_offsets for each name; then the data, row-major and little-endian, tensor
 * after tensor without a gap.
 *
 * A file may be damaged or made to do harm, so safetensors_open checks every offset, size and shape
 * in it. All other functions rely on those in a struct model.
 */
#ifndef RESHARD_SAFETENSORS_H
#define RESHARD_SAFETENSORS_H

#include "sha256.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SAFETENSORS_MAX_HEADER = 100000000, /* bytes; other readers have the same limit */
    SAFETENSORS_MAX_DIMS = 16,
    SAFETENSORS_ERROR = 512 /* bytes that hold any message of this reader */
};

struct dtype {
    const char *name;
    size_t size; /* bytes of one element */
};

struct tensor {
    char *name;
    const struct dtype *dtype;
    int n_dims; /* 0 for a scalar */
    uint64_t shape[SAFETENSORS_MAX_DIMS];
    uint64_t begin; /* of its bytes, counted from the first byte of data */
    uint64_t nbytes;
};

struct model {
    struct tensor *tensors; /* in the order of their data */
    size_t count;
    uint64_t nbytes;                           /* of all tensors together */
    unsigned char header_digest[SHA256_BYTES]; /* the same file has the same */
    /* The rest is for safetensors_open and safetensors_read. */
    int fd;
    uint64_t header_bytes;
    char *path;
};

/* Opens a file, reads its header and checks it against the file's size. On
 * false, `error` has the message, and there is nothing to close. */
bool safetensors_open(struct model *m, const char *path, char error[SAFETENSORS_ERROR]);
void safetensors_close(struct model *m);

/* Reads nbytes of the data, which begin at byte `offset` of it. */
bool safetensors_read(const struct model *m, uint64_t offset, void *to, size_t nbytes,
                      char error[SAFETENSORS_ERROR]);

/* The part of safetensors_open that needs no file: fills m->tensors, m->count and m->nbytes from a
 * header and the number of bytes after it. On false, `error` has the cause without the file's name.
 */
bool safetensors_parse(struct model *m, const char *header, size_t header_bytes,
                       uint64_t data_bytes, char error[SAFETENSORS_ERROR]);

#endif
