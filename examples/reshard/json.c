/* json.c: the grammar is RFC 8259; anything that it allows and json.h does not name is refused. */
#include "json.h"

static bool fail(struct json *j, const char *why)
{
    if (!j->error)
        j->error = why;
    return false;
}

static void skip_space(struct json *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r'))
        j->at++;
}

bool json_accept(struct json *j, char c)
{
    if (j->error)
        return false;
    skip_space(j);
    if (j->at == j->end || *j->at != c)
        return false;
    j->at++;
    return true;
}

bool json_expect(struct json *j, char c)
{
    if (json_accept(j, c))
        return true;
    switch (c) {
    case '{':
        return fail(j, "expected {");
    case '}':
        return fail(j, "expected , or }");
    case '[':
        return fail(j, "expected [");
    case ']':
        return fail(j, "expected , or ]");
    case ':':
        return fail(j, "expected :");
    case '"':
        return fail(j, "expected a string");
    default:
        return fail(j, "expected another character");
    }
}

/* The four hexadecimal digits of \uXXXX. */
static bool hex4(struct json *j, uint32_t *value)
{
    if (j->end - j->at < 4)
        return fail(j, "the text ends inside a string");
    *value = 0;
    for (int i = 0; i < 4; i++) {
        char c = j->at[i];
        uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (uint32_t)(c - 'a' + 10);
        else if (c >= 'A' && c <= 'F')
            digit = (uint32_t)(c - 'A' + 10);
        else
            return fail(j, "expected four hexadecimal digits after \\u");
        *value = *value << 4 | digit;
    }
    j->at += 4;
    return true;
}

/* The rest of an escape after \u: one code point, which above 0xffff takes two escapes. */
static bool code_point(struct json *j, uint32_t *value)
{
    if (!hex4(j, value))
        return false;
    if (*value >= 0xdc00 && *value <= 0xdfff)
        return fail(j, "a low surrogate without its high one");
    if (*value < 0xd800 || *value > 0xdbff)
        return true;
    uint32_t low;
    if (j->end - j->at < 2 || j->at[0] != '\\' || j->at[1] != 'u')
        return fail(j, "a high surrogate without its low one");
    j->at += 2;
    if (!hex4(j, &low))
        return false;
    if (low < 0xdc00 || low > 0xdfff)
        return fail(j, "a high surrogate without its low one");
    *value = 0x10000 + ((*value - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

/* Writes a code point as UTF-8, and returns the number of bytes. */
static size_t put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xe0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 0x3f));
        to[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | c >> 18);
    to[1] = (char)(0x80 | (c >> 12 & 0x3f));
    to[2] = (char)(0x80 | (c >> 6 & 0x3f));
    to[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

bool json_string(struct json *j, char *text, size_t size)
{
    if (!json_expect(j, '"'))
        return false;
    size_t n = 0;
    while (j->at < j->end) {
        if (size - n < JSON_ROOM)
            return fail(j, "the string is too long");
        char c = *j->at++;
        if (c == '"') {
            text[n] = '\0';
            return true;
        }
        if ((unsigned char)c < 0x20)
            return fail(j, "a control character inside a string");
        if (c != '\\') {
            text[n++] = c;
            continue;
        }
        if (j->at == j->end)
            break;
        uint32_t value;
        switch (*j->at++) {
        case '"':
            value = '"';
            break;
        case '\\':
            value = '\\';
            break;
        case '/':
            value = '/';
            break;
        case 'b':
            value = '\b';
            break;
        case 'f':
            value = '\f';
            break;
        case 'n':
            value = '\n';
            break;
        case 'r':
            value = '\r';
            break;
        case 't':
            value = '\t';
            break;
        case 'u':
            if (!code_point(j, &value))
                return false;
            break;
        default:
            return fail(j, "an unknown escape inside a string");
        }
        if (value == 0) /* a C string could not hold it */
            return fail(j, "a NUL inside a string");
        n += put_utf8(text + n, value);
    }
    return fail(j, "the text ends inside a string");
}

bool json_uint(struct json *j, uint64_t *value)
{
    if (j->error)
        return false;
    skip_space(j);
    const char *first = j->at;
    *value = 0;
    for (; j->at < j->end && *j->at >= '0' && *j->at <= '9'; j->at++) {
        uint64_t digit = (uint64_t)(*j->at - '0');
        if (*value > (UINT64_MAX - digit) / 10)
            return fail(j, "a number above 2^64 - 1");
        *value = *value * 10 + digit;
    }
    if (j->at == first)
        return fail(j, "expected a number that is not negative");
    if (*first == '0' && j->at - first > 1)
        return fail(j, "a number with a leading zero");
    if (j->at < j->end && (*j->at == '.' || *j->at == 'e' || *j->at == 'E'))
        return fail(j, "expected a whole number");
    return true;
}

bool json_finish(struct json *j)
{
    if (j->error)
        return false;
    skip_space(j);
    return j->at == j->end || fail(j, "something follows the end");
}
