/*
 * symmetric.h: allocates memory in the symmetric heap, and computes the required size of the heap
 * when it was too small.
 */
#ifndef RESHARD_SYMMETRIC_H
#define RESHARD_SYMMETRIC_H

#include <stdbool.h>
#include <stddef.h>

struct symmetric {
    size_t nbytes; /* asked for so far, granted or not */
    bool full;     /* one request, or more, came back empty */
};

/* Collective: every PE asks for the same size. Returns zeroed memory, or NULL, on every PE alike.
 * After a NULL the caller may continue to ask, so that `nbytes` becomes the sum of all it needs. */
void *symmetric_alloc(struct symmetric *s, size_t nbytes);

/* What SHMEM_SYMMETRIC_SIZE must be for everything asked for, in MiB. */
size_t symmetric_need_mib(const struct symmetric *s);

#endif
