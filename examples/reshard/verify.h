/*
 * verify.h: proves by SHA-256 that each tensor is the one in the file.
 *
 * The PE that holds a tensor hashes its symmetric memory; the next PE hashes the file; PE 0
 * compares. So the two digests come from two PEs, and the bytes from two routes, which are separate
 * until the comparison.
 */
#ifndef RESHARD_VERIFY_H
#define RESHARD_VERIFY_H

#include "layout.h"
#include "sha256.h"
#include "symmetric.h"

/* The two digests of a tensor, side by side in PE 0's memory. */
struct proof {
    unsigned char memory[SHA256_BYTES];
    unsigned char file[SHA256_BYTES];
};

/* Collective: symmetric memory for the proofs of all tensors. */
struct proof *verify_alloc(struct symmetric *heap, const struct model *m);

/* Each PE hashes its part and puts the digests to PE 0, where they are after the next barrier.
 * False when the file could not be read. */
bool verify_hash(const struct layout *l, int me, const unsigned char *block, struct proof *proofs,
                 char error[SAFETENSORS_ERROR]);

/* On PE 0, after that barrier. Prints a line for each tensor if asked to. On
 * false, `error` says which tensors differ. */
bool verify_compare(const struct layout *l, const struct proof *proofs, bool print,
                    char error[SAFETENSORS_ERROR]);

#endif
