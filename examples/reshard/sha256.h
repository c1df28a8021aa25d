/*
 * sha256.h: the SHA-256 digest of FIPS 180-4.
 *
 * Written out here, rather than taken from OpenSSL's libcrypto, so that the example builds with a C
 * compiler and libshmem alone: libcrypto's headers are a separate package (libssl-dev), for one
 * function of which this example uses only the result. Plain C hashes a few hundred MB/s, which is
 * enough to check a model; a program that hashes all day should use libcrypto, which has the
 * processor's SHA instructions.
 */
#ifndef RESHARD_SHA256_H
#define RESHARD_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_TEXT = 2 * SHA256_BYTES + 1 };

struct sha256 {
    uint32_t state[8];
    uint64_t nbytes;           /* hashed so far, those in pending included */
    unsigned char pending[64]; /* the beginning of a block that is not full */
};

void sha256_begin(struct sha256 *h);
void sha256_add(struct sha256 *h, const void *data, size_t nbytes);
void sha256_end(struct sha256 *h, unsigned char digest[SHA256_BYTES]);

/* Writes the digest as hexadecimal digits with a final NUL. */
void sha256_text(const unsigned char digest[SHA256_BYTES], char text[SHA256_TEXT]);

#endif
