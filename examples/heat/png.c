/*
 * png.c: a picture as a PNG file, without a library: the pixels are stored uncompressed, which the
 * format allows, and so need no compressor.
 */
#include "heat.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { STORED = 65535 }; /* bytes that one stored block of deflate holds */

struct out {
    FILE *file;
    uint32_t crc; /* of the chunk so far */
};

static uint32_t crc_of(uint32_t crc, uint8_t byte)
{
    crc ^= byte;
    for (int bit = 0; bit < 8; bit++)
        crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    return crc;
}

static void put(struct out *o, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        o->crc = crc_of(o->crc, ((const uint8_t *)bytes)[i]);
    fwrite(bytes, 1, n, o->file);
}

static void put_32(struct out *o, uint32_t x)
{
    put(o, (uint8_t[]){(uint8_t)(x >> 24), (uint8_t)(x >> 16), (uint8_t)(x >> 8), (uint8_t)x}, 4);
}

/* Begins a chunk with n bytes of data. Its CRC covers the type and the data, not the length. */
static void begin_chunk(struct out *o, const char *type, size_t n)
{
    put_32(o, (uint32_t)n);
    o->crc = ~0u;
    put(o, type, 4);
}

static void end_chunk(struct out *o)
{
    put_32(o, ~o->crc);
}

/* From black over red and yellow to white. */
static void colour(double value, double most, uint8_t *rgb)
{
    double v = value < 0 ? 0 : value > most ? 3 : 3 * value / most;
    for (int i = 0; i < 3; i++)
        rgb[i] = (uint8_t)(v <= i ? 0 : v >= i + 1 ? 255 : 255 * (v - i));
}

/* The n bytes of raw as stored blocks of deflate, and the Adler-32 sum that zlib's format puts
 * behind them. A block begins with five bytes: whether it is the last, its length, and the length
 * with all bits inverted. */
static void put_pixels(struct out *o, const uint8_t *raw, size_t n)
{
    uint32_t a = 1, b = 0; /* Adler-32: two sums modulo 65521 */
    for (size_t at = 0; at < n; at += STORED) {
        size_t m = n - at < STORED ? n - at : STORED;
        put(o,
            (uint8_t[]){at + m == n, (uint8_t)m, (uint8_t)(m >> 8), (uint8_t)~m,
                        (uint8_t)(~m >> 8)},
            5);
        put(o, raw + at, m);
    }
    for (size_t i = 0; i < n; i++) {
        a = (a + raw[i]) % 65521;
        b = (b + a) % 65521;
    }
    put_32(o, b << 16 | a);
}

bool write_png(const char *name, const double *values, size_t width, size_t height, double most)
{
    size_t row = 1 + 3 * width, n = row * height; /* a byte before each row: no filter */
    size_t blocks = (n + STORED - 1) / STORED;
    uint8_t *raw = calloc(n, 1);
    struct out o = {raw == NULL ? NULL : fopen(name, "wb"), 0};
    if (o.file == NULL) {
        free(raw);
        return false;
    }
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            colour(values[y * width + x], most, raw + y * row + 1 + 3 * x);
    put(&o, "\x89PNG\r\n\x1a\n", 8);
    begin_chunk(&o, "IHDR", 13);
    put_32(&o, (uint32_t)width);
    put_32(&o, (uint32_t)height);
    put(&o, "\x08\x02\0\0\0", 5); /* 8 bits each of red, green and blue */
    end_chunk(&o);
    begin_chunk(&o, "IDAT", 2 + 5 * blocks + n + 4);
    put(&o, "\x78\x01", 2); /* zlib's header: deflate with a window of 32 KiB, fastest level */
    put_pixels(&o, raw, n);
    end_chunk(&o);
    begin_chunk(&o, "IEND", 0);
    end_chunk(&o);
    free(raw);
    bool bad = ferror(o.file) != 0;
    return fclose(o.file) == 0 && !bad;
}
