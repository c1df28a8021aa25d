/*
 * sha256.c: FIPS 180-4, section 6.2. The letters a to h and the names of the
 * functions are the standard's, to be read beside it.
 */
#include "sha256.h"

#include <string.h>

/* Section 4.2.2: the first 32 bits of the fractional parts of the cube roots
 * of the first 64 primes. */
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, int n)
{
    return (x >> n) | (x << (32 - n));
}

static uint32_t load_be32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void store_be32(unsigned char *p, uint32_t x)
{
    p[0] = (unsigned char)(x >> 24);
    p[1] = (unsigned char)(x >> 16);
    p[2] = (unsigned char)(x >> 8);
    p[3] = (unsigned char)x;
}

static void add_block(struct sha256 *h, const unsigned char block[64])
{
    uint32_t w[64];
    for (int t = 0; t < 16; t++)
        w[t] = load_be32(block + 4 * t);
    for (int t = 16; t < 64; t++) {
        uint32_t s0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
        uint32_t s1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }

    uint32_t a = h->state[0], b = h->state[1], c = h->state[2], d = h->state[3];
    uint32_t e = h->state[4], f = h->state[5], g = h->state[6], hh = h->state[7];
    for (int t = 0; t < 64; t++) {
        uint32_t sum1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25);
        uint32_t ch = (e & f) ^ (~e & g);
        uint32_t t1 = hh + sum1 + ch + K[t] + w[t];
        uint32_t sum0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22);
        uint32_t maj = (a & b) ^ (a & c) ^ (b & c);
        uint32_t t2 = sum0 + maj;
        hh = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    h->state[0] += a;
    h->state[1] += b;
    h->state[2] += c;
    h->state[3] += d;
    h->state[4] += e;
    h->state[5] += f;
    h->state[6] += g;
    h->state[7] += hh;
}

void sha256_begin(struct sha256 *h)
{
    /* Section 5.3.3: the same, of the square roots of the first 8 primes. */
    static const uint32_t initial[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
    };
    memcpy(h->state, initial, sizeof initial);
    h->nbytes = 0;
}

void sha256_add(struct sha256 *h, const void *data, size_t nbytes)
{
    const unsigned char *p = data;
    size_t held = h->nbytes % sizeof h->pending;
    h->nbytes += nbytes;
    if (held > 0) {
        size_t n = sizeof h->pending - held;
        if (n > nbytes)
            n = nbytes;
        if (n > 0)
            memcpy(h->pending + held, p, n);
        if (held + n < sizeof h->pending)
            return;
        add_block(h, h->pending);
        p += n;
        nbytes -= n;
    }
    for (; nbytes >= sizeof h->pending; p += sizeof h->pending, nbytes -= sizeof h->pending)
        add_block(h, p);
    if (nbytes > 0)
        memcpy(h->pending, p, nbytes);
}

void sha256_end(struct sha256 *h, unsigned char digest[SHA256_BYTES])
{
    /* Section 5.1.1: a one bit, zeros, and the length in bits as 8 bytes. */
    uint64_t nbits = h->nbytes * 8;
    static const unsigned char padding[64] = {0x80};
    size_t held = h->nbytes % sizeof padding;
    sha256_add(h, padding, held < 56 ? 56 - held : 120 - held);
    unsigned char length[8];
    store_be32(length, (uint32_t)(nbits >> 32));
    store_be32(length + 4, (uint32_t)nbits);
    sha256_add(h, length, sizeof length);
    for (int i = 0; i < 8; i++)
        store_be32(digest + 4 * i, h->state[i]);
}

void sha256_text(const unsigned char digest[SHA256_BYTES], char text[SHA256_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < SHA256_BYTES; i++) {
        text[2 * i] = digits[digest[i] >> 4];
        text[2 * i + 1] = digits[digest[i] & 15];
    }
    text[2 * SHA256_BYTES] = '\0';
}
