/*
 * protocol.h: the messages between a client and a server, and the bytes of a page.
 *
 * The numbers of a message are in the byte order of the machine: all PEs of a job have the same.
 * pagedfill.py has the same layout in Python.
 */
#ifndef PAGEDFILL_PROTOCOL_H
#define PAGEDFILL_PROTOCOL_H

#include <cstddef>
#include <cstdint>

namespace pagedfill
{

/* Tags of messages. */
enum { TAG_REQUEST = 1, TAG_ANSWER = 2, TAG_LEAVE = 3 };

constexpr uint32_t MAGIC = 0x4c494650; /* "PFIL" */
constexpr uint32_t MAX_REPEATS = 1000;
constexpr uint32_t MAX_PAGE_BYTES = 1 << 20;

/* The header of a request, which its pages follow. */
struct request {
    uint32_t magic;
    uint32_t context; /* returned in the answer, or with the last page */
    uint64_t seed;
    uint32_t page_bytes; /* a multiple of 8, up to MAX_PAGE_BYTES */
    uint32_t notify;     /* the client's notification counter: each page written adds 1 to it */
    uint32_t npages;
    uint16_t repeats; /* how often to write each page, 1 to MAX_REPEATS */
    uint16_t flags;   /* FLAG_UNFILLED, FLAG_LAST_WORD */
};

/* Write pages with whatever bytes the server's memory has, for measurements. */
constexpr uint16_t FLAG_UNFILLED = 1;
/* No page adds to the counter. The last one brings last_word(context), which says that all pages
 * are there. Only where the path from the server keeps puts in order. */
constexpr uint16_t FLAG_LAST_WORD = 2;

/* The word that the last page of a request brings with FLAG_LAST_WORD; never 0. */
inline uint64_t last_word(uint32_t context)
{
    return (uint64_t)1 << 32 | context;
}

/* A page of a buffer: bytes index * page_bytes and up. */
struct page {
    uint32_t buffer;
    uint32_t index;
};

/* The answer to a request. The server sends it when it has begun all writes, and it may arrive
 * before their bytes: the counter, or the word of the last page, says when these are there. */
struct answer {
    uint32_t refused; /* 0: the pages will be written; 1: none will, and text says why */
    uint32_t context; /* that of the request; 0 if the request was too short to have one */
    uint32_t npages;  /* number of writes that follow */
    char text[228];   /* ends with a zero */
};

static_assert(sizeof(request) == 32 && sizeof(page) == 8 && sizeof(answer) == 240,
              "messages without gaps");

/* The linear part of stream_word: it grows by the same number from word to word. */
inline uint64_t count_word(uint64_t key, uint64_t i)
{
    return (key + 1) * 0xd1342543de82ef95 + i * 0x9e3779b97f4a7c15;
}

/* Word i of the stream of a key. The words of a stream all differ, so that a page at a wrong place
 * is noticed, and neighbouring keys have different streams. */
inline uint64_t stream_word(uint64_t key, uint64_t i)
{
    uint64_t x = count_word(key, i);
    return x ^ (x >> 29);
}

/* Fills words with page p of the stream whose key is seed + p.buffer. It uses vectors of 16 bytes,
 * which every 64-bit processor has: a page of 64 KiB takes 1.7 us by them, and 3.8 word by word. */
inline void stream_page(uint64_t *words, uint64_t seed, const page &p, size_t page_bytes)
{
    typedef uint64_t two __attribute__((vector_size(16), aligned(8)));
    const uint64_t key = seed + p.buffer, n = page_bytes / 8, first = p.index * n;
    const uint64_t begin = count_word(key, first), step = count_word(key, 1) - count_word(key, 0);
    two x = {begin, begin + step}, y = x + 2 * step;
    uint64_t i = 0;
    for (; i + 4 <= n; i += 4, x += 4 * step, y += 4 * step) {
        *reinterpret_cast<two *>(words + i) = x ^ (x >> 29);
        *reinterpret_cast<two *>(words + i + 2) = y ^ (y >> 29);
    }
    for (; i < n; i++)
        words[i] = stream_word(key, first + i);
}

} // namespace pagedfill

#endif
