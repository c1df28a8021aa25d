/*
 * json.h: text of a trace. The writer makes an event in some 60 ns, so that it keeps up with
 * programs; printf would need ten times that. Each function writes from at on and returns the end
 * of what it has written.
 */
#ifndef PRELOAD_JSON_H
#define PRELOAD_JSON_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Writes a text as it is. Returns the end, like the functions below. */
static inline char *json_text(char *at, const char *text, size_t length)
{
    memcpy(at, text, length);
    return at + length;
}

/* Writes a string literal. */
#define JSON_LITERAL(at, text) json_text(at, text, sizeof(text) - 1)

/* Writes a number, and returns the end. */
static inline char *json_number(char *at, uint64_t n)
{
    char digits[20];
    int i = sizeof digits;
    do
        digits[--i] = (char)('0' + n % 10);
    while (n /= 10);
    return json_text(at, digits + i, sizeof digits - (size_t)i);
}

/* Writes a number that may be negative, and returns the end. */
static inline char *json_signed(char *at, int64_t n)
{
    if (n >= 0)
        return json_number(at, (uint64_t)n);
    *at++ = '-';
    return json_number(at, -(uint64_t)n);
}

/* Writes nanoseconds as microseconds with three decimals, and returns the end. */
static inline char *json_micros(char *at, uint64_t ns)
{
    at = json_number(at, ns / 1000);
    unsigned rest = (unsigned)(ns % 1000);
    *at++ = '.';
    *at++ = (char)('0' + rest / 100);
    *at++ = (char)('0' + rest / 10 % 10);
    *at++ = (char)('0' + rest % 10);
    return at;
}

/* Writes text as a JSON string with its quotes, and returns the end. If the text is too long it is
 * cut, so that the string ends before `end`. */
static inline char *json_string(char *at, const char *end, const char *text)
{
    *at++ = '"';
    for (; *text && at + 8 < end; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') {
            *at++ = '\\';
            *at++ = (char)c;
        } else if (c < 0x20 || c >= 0x7f) {
            /* Names of files may be in any encoding; a byte that is not ASCII is shown as its code.
             */
            at += snprintf(at, 7, "\\u%04x", c);
        } else {
            *at++ = (char)c;
        }
    }
    *at++ = '"';
    return at;
}

#endif
