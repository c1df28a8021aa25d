/*
 * seal.h: the seal of a message, a keyed hash by which its target notices a change on the way.
 *
 * The seal is SipHash-1-3 of the header and of the payload, with a key that only the PEs of the job
 * have. Without it a process that can write to the wire could turn a put into one to another offset
 * of the heap. The bytes of a put of the program are left out: a seal of 4 KiB takes 1.5 us, and
 * one-sided writes, which carry most bytes, could have none. One round for each word is enough
 * here, because the attacker cannot try keys offline, and each message without the right seal is
 * reported.
 *
 * State.TokenOf of package layout is the same in Go.
 */
#ifndef SHMEMI_SEAL_H
#define SHMEMI_SEAL_H

#include "zz_fastpath.h"
#include "zz_message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Rotates x to the left by n bits. */
static inline uint64_t shmemi_seal_rotate(uint64_t x, int n)
{
    return x << n | x >> (64 - n);
}

/* Applies one round of SipHash to the state v. */
static inline void shmemi_seal_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = shmemi_seal_rotate(v[1], 13) ^ v[0];
    v[3] = shmemi_seal_rotate(v[3], 16) ^ v[2];
    v[0] = shmemi_seal_rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = shmemi_seal_rotate(v[1], 17) ^ v[2];
    v[3] = shmemi_seal_rotate(v[3], 21) ^ v[0];
    v[2] = shmemi_seal_rotate(v[2], 32);
}

/* Adds a word of the message to the state of SipHash. */
static inline void shmemi_seal_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    shmemi_seal_round(v);
    v[0] ^= word;
}

/* Reports whether the seal leaves the payload out, because the payload has only bytes of the
 * program or text for a report. The internal area, at negative offsets, is different: PEs agree
 * there by puts on what shmem_malloc returns, and only the rounds of reductions have elements of
 * the program. */
static inline bool shmemi_seal_plain(const struct shmemi_fastpath *x, const struct shmemi_header *h)
{
    return ((h->kind == SHMEMI_MESSAGE_PUT || h->kind == SHMEMI_MESSAGE_PUT_SIGNAL) &&
            (h->offset >= 0 || (uint64_t)h->offset + x->rounds_offset < x->rounds_size)) ||
           h->kind == SHMEMI_MESSAGE_DATA || h->kind == SHMEMI_MESSAGE_ACTIVITY_REPLY;
}

/* Returns the seal of a message of `bytes` bytes, header included, to PE `to`: SipHash with its own
 * initial constants, one round for each word and three at the end. It hashes the PE and the length
 * instead of the header's job word, which will hold the result. */
static inline uint64_t shmemi_seal(const struct shmemi_fastpath *x, const struct shmemi_header *h,
                                   uint32_t to, size_t bytes)
{
    const uint64_t *key = x->seal;
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
                     key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573};
    uint64_t word;
    for (size_t at = 0; at < sizeof *h; at += sizeof word) {
        memcpy(&word, (const char *)h + at, sizeof word);
        shmemi_seal_word(v, at == offsetof(struct shmemi_header, job) ? (uint64_t)to << 32 | bytes
                                                                      : word);
    }
    for (size_t at = sizeof *h; at < bytes && !shmemi_seal_plain(x, h); at += sizeof word) {
        word = 0;
        memcpy(&word, (const char *)h + at, bytes - at < sizeof word ? bytes - at : sizeof word);
        shmemi_seal_word(v, word);
    }
    v[2] ^= 0xff;
    shmemi_seal_round(v);
    shmemi_seal_round(v);
    shmemi_seal_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif
