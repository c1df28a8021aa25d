/*
 * json.h: a reader for the part of JSON that a safetensors header uses: objects, arrays, strings
 * and non-negative integers.
 *
 * A pull parser: the caller asks for the item that must come next, and gets it or false. The first
 * failure stays in `error`, with its place in `at`, and every later call fails too, so that a
 * caller may check once after several calls. Nothing recurses.
 */
#ifndef RESHARD_JSON_H
#define RESHARD_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
    const char *at;  /* the next character to read */
    const char *end; /* the text need not end with a NUL */
    const char *error;
};

/* Skips white space, then takes the character c, which must come. */
bool json_expect(struct json *j, char c);

/* The same for an optional character: no error if it does not come. */
bool json_accept(struct json *j, char c);

/* Takes a string and writes its characters as UTF-8 with a final NUL to
 * `text`, which holds `size` bytes. A string never grows by decoding, so the
 * length of the whole text plus JSON_ROOM always suffices. */
enum { JSON_ROOM = 5 }; /* the longest character and the NUL */
bool json_string(struct json *j, char *text, size_t size);

/* Takes an integer of 0 to 2^64 - 1: no sign, fraction or exponent. */
bool json_uint(struct json *j, uint64_t *value);

/* Only white space may be left. */
bool json_finish(struct json *j);

#endif
