/*
 * units.c: the parts of examples/reshard that call no SHMEM routine, tested
 * by themselves: json.c, safetensors.c, sha256.c, layout.c.
 *
 * Built with AddressSanitizer and UndefinedBehaviorSanitizer by the Go test
 * beside it, so a test of hostile input passes only if the input also did no
 * harm.
 */
#include "layout.h"
#include "safetensors.h"
#include "sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int passed, failed;

static void check(bool ok, const char *what, const char *detail)
{
    if (ok) {
        passed++;
        return;
    }
    failed++;
    printf("FAIL %s: %s\n", what, detail);
}

/* FIPS 180-4's own examples, and the lengths around a block's end. */
static void test_sha256(void)
{
    static const struct {
        const char *text;
        int repeat;
        const char *digest;
    } vectors[] = {
        {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"a", 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {"a", 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {"a", 63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
        {"a", 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
        {"a", 65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"},
        {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct sha256 h;
        unsigned char digest[SHA256_BYTES];
        char text[SHA256_TEXT];
        sha256_begin(&h);
        for (int n = 0; n < vectors[i].repeat; n++)
            sha256_add(&h, vectors[i].text, strlen(vectors[i].text));
        sha256_end(&h, digest);
        sha256_text(digest, text);
        check(strcmp(text, vectors[i].digest) == 0, "sha256", text);
    }

    /* The digest does not depend on how the bytes are divided into calls. */
    unsigned char data[300], whole[SHA256_BYTES];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 7);
    struct sha256 h;
    sha256_begin(&h);
    sha256_add(&h, data, sizeof data);
    sha256_end(&h, whole);
    for (size_t step = 1; step <= sizeof data; step++) {
        unsigned char digest[SHA256_BYTES];
        sha256_begin(&h);
        for (size_t at = 0; at < sizeof data; at += step)
            sha256_add(&h, data + at, sizeof data - at < step ? sizeof data - at : step);
        sha256_end(&h, digest);
        check(memcmp(digest, whole, sizeof whole) == 0, "sha256", "cut into calls");
    }
}

/* Parses from memory of exactly the header's size, so that a read beyond it is found. */
static bool parse(struct model *m, const char *header, size_t nbytes, uint64_t data_bytes,
                  char *error)
{
    char *copy = malloc(nbytes ? nbytes : 1);
    memcpy(copy, header, nbytes);
    bool ok = safetensors_parse(m, copy, nbytes, data_bytes, error);
    free(copy);
    return ok;
}

#define F32(name, shape, begin, end)                                                               \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"

static const struct {
    const char *header;
    uint64_t data_bytes;
    const char *error; /* a part of the message; NULL: the header is good */
} headers[] = {
    {"{}", 0, NULL},
    {"{}   ", 0, NULL},
    {"{\"__metadata__\":{}}", 0, NULL},
    {"{\"__metadata__\":{\"format\":\"pt\",\"x\":\"y\"}," F32("a", "[2,3]", "0", "24") "}", 24,
     NULL},
    {" { " F32("a", "[]", "0", "4") " , " F32("b", "[0,5]", "4", "4") " } ", 4, NULL},
    {"{" F32("b", "[1]", "4", "8") "," F32("a", "[1]", "0", "4") "}", 8, NULL},
    {"{" F32("z", "[0]", "4", "4") "," F32("a", "[1]", "0", "4") "}", 4, NULL},
    {"{" F32("\\u00e4\\ud83d\\ude00\\n\\\"\\\\\\/\\b\\f\\r\\t", "[1]", "0", "4") "}", 4, NULL},
    {"{\"a\":{\"shape\":[3],\"data_offsets\":[0,3],\"dtype\":\"F8_E4M3\"}}", 3, NULL},
    {"{" F32("a", "[0,18446744073709551615,18446744073709551615]", "0", "0") "}", 0, NULL},

    /* Grammar. */
    {"", 0, "expected {"},
    {"x", 0, "expected {"},
    {"{", 0, "expected a string"},
    {"{}{", 0, "something follows the end"},
    {"{,}", 0, "expected a string"},
    {"{\"a\"", 0, "expected :"},
    {"{\"a", 0, "ends inside a string"},
    {"{\"a\\", 0, "ends inside a string"},
    {"{\"a\\u12", 0, "ends inside a string"},
    {"{\"a\\u12g4\":", 0, "four hexadecimal digits"},
    {"{\"\\ud800\":", 0, "high surrogate"},
    {"{\"\\ud800\\u0041\":", 0, "high surrogate"},
    {"{\"\\udc00\":", 0, "low surrogate"},
    {"{\"\\u0000\":", 0, "NUL"},
    {"{\"\\x\":", 0, "unknown escape"},
    {"{\"a\nb\":", 0, "control character"},
    {"{" F32("a", "[1]", "0", "4") ",}", 4, "expected a string"},
    {"{" F32("a", "[1]", "0", "4") "]", 4, "expected , or }"},
    {"{" F32("a", "[-1]", "0", "4") "}", 4, "not negative"},
    {"{" F32("a", "[1.5]", "0", "4") "}", 4, "whole number"},
    {"{" F32("a", "[1e2]", "0", "4") "}", 4, "whole number"},
    {"{" F32("a", "[01]", "0", "4") "}", 4, "leading zero"},
    {"{" F32("a", "[18446744073709551616]", "0", "4") "}", 4, "above 2^64"},
    {"{" F32("a", "[1,]", "0", "4") "}", 4, "not negative"},
    {"{" F32("a", "[1 2]", "0", "4") "}", 4, "expected , or ]"},
    {"{\"a\":[]}", 0, "expected {"},
    {"{\"__metadata__\":{\"a\":1}}", 0, "expected a string"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "__metadata__ is there twice"},

    /* One tensor. */
    {"{\"a\":{\"dtype\":\"Q4\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
     "tensor 'a': unknown dtype 'Q4' (known are BOOL"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "must all be there"},
    {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 4, "'dtype' is unknown, or there twice"},
    {"{\"a\":{\"color\":\"red\"}}", 4, "'color' is unknown"},
    {"{\"a\":{}}", 0, "expected a string"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, "must be two numbers"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 4, "expected , or ]"},
    {"{" F32("a", "[1]", "4", "0") "}", 4, "run backwards"},
    {"{" F32("a", "[2]", "0", "8") "}", 4, "ends at byte 8, but the file has 4"},
    {"{" F32("a", "[2]", "0", "4") "}", 4, "needs 8 bytes, data_offsets give 4"},
    {"{" F32("a", "[0]", "0", "4") "}", 4, "needs 0 bytes"},
    {"{" F32("a", "[4294967296,4294967296]", "0", "4") "}", 4, "more than 2^64 bytes"},
    {"{" F32("a", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "0", "4") "}", 4, "16 dimensions"},

    /* All together. */
    {"{}", 4, "no tensor, but 4 bytes"},
    {"{" F32("a", "[1]", "0", "4") "," F32("a", "[1]", "4", "8") "}", 8, "'a': it is there twice"},
    {"{" F32("a", "[2]", "0", "8") "," F32("b", "[1]", "4", "8") "}", 8, "overlaps that of 'a'"},
    {"{" F32("a", "[1]", "0", "4") "," F32("b", "[1]", "8", "12") "}", 12, "belong to no tensor"},
    {"{" F32("a", "[1]", "0", "4") "}", 8, "last 4 bytes of data belong to no tensor"},
};

static void test_headers(void)
{
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        struct model m;
        char error[SAFETENSORS_ERROR] = "";
        const char *want = headers[i].error;
        bool ok =
            parse(&m, headers[i].header, strlen(headers[i].header), headers[i].data_bytes, error);
        check(ok == !want, headers[i].header, ok ? "parsed, but is bad" : error);
        if (!ok && want)
            check(strstr(error, want) != NULL, headers[i].header, error);
        if (ok)
            safetensors_close(&m);
    }

    struct model m;
    char error[SAFETENSORS_ERROR];
    const char *h = "{" F32("\\u00e4\\u20ac\\ud83d\\ude00\\n", "[2,3]", "0", "24") "}";
    if (!parse(&m, h, strlen(h), 24, error)) {
        check(false, "values", error);
        return;
    }
    const struct tensor *t = &m.tensors[0];
    check(m.count == 1 && m.nbytes == 24, "values", "count and bytes");
    check(strcmp(t->name, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\n") == 0, "values", t->name);
    check(t->n_dims == 2 && t->shape[0] == 2 && t->shape[1] == 3, "values", "shape");
    check(strcmp(t->dtype->name, "F32") == 0 && t->dtype->size == 4, "values", "dtype");
    check(t->begin == 0 && t->nbytes == 24, "values", "place");
    safetensors_close(&m);
}

/* xorshift64: the same on every machine. */
static uint64_t next_random(void)
{
    static uint64_t x = 88172645463325252u;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x;
}

/* Damaged headers: an accepted header must be valid. */
static void test_damage(void)
{
    static const char alphabet[] = "{}[]:,\"\\u0129 -.ea\n\xc3";
    const char *good =
        "{\"__metadata__\":{\"format\":\"pt\"}," F32("a", "[2,3]", "0", "24") "," F32(
            "b\\u00e4", "[4]", "24", "40") "," F32("c", "[]", "40", "44") "}";
    size_t size = strlen(good);
    int parsed = 0;
    for (int i = 0; i < 100000; i++) {
        char text[512];
        size_t n = size;
        memcpy(text, good, n);
        for (uint64_t edits = next_random() % 3 + 1; edits > 0; edits--) {
            size_t at = next_random() % n;
            char c = alphabet[next_random() % (sizeof alphabet - 1)];
            switch (next_random() % 4) {
            case 0:
                n = at + 1; /* cut off */
                break;
            case 1:
                text[at] = c;
                break;
            case 2:
                memmove(text + at + 1, text + at, n - at);
                text[at] = c;
                n++;
                break;
            default:
                memmove(text + at, text + at + 1, n - at - 1);
                n = n > 1 ? n - 1 : 1;
            }
        }
        struct model m;
        char error[SAFETENSORS_ERROR] = "";
        if (!parse(&m, text, n, 44, error)) {
            if (error[0] == '\0')
                check(false, "damage", "no message");
            continue;
        }
        parsed++;
        uint64_t covered = 0;
        for (size_t t = 0; t < m.count; t++) {
            if (m.tensors[t].begin != covered || !m.tensors[t].dtype || !m.tensors[t].name)
                check(false, "damage", "a gap or an empty field");
            covered += m.tensors[t].nbytes;
        }
        if (covered != 44 || m.nbytes != 44)
            check(false, "damage", "the data is not covered");
        safetensors_close(&m);
    }
    /* Some edits only change a letter of a name, so both answers occur. */
    check(parsed > 100 && parsed < 90000, "damage", "an unlikely share of good headers");
}

/*
 * Every chunk of every pair of PEs, put together again, gives the tensors: each byte once, at its
 * place. The byte values identify the place, and exactly one chunk writes each byte of the result.
 */
static void test_layout(int n_pes, size_t limit)
{
    const char *text =
        "{" F32("a", "[3,5,7]", "0", "420") "," F32("v", "[11]", "420", "464") "," F32(
            "s", "[]", "464",
            "468") "," F32("e", "[0,4]", "468",
                           "468") ",\"i\":{\"dtype\":\"I64\",\"shape\":[5,3],"
                                  "\"data_offsets\":[468,588]},\"b\":{\"dtype\":"
                                  "\"BOOL\",\"shape\":[13,1],\"data_offsets\":[588,"
                                  "601]}}";
    enum { DATA = 601 };
    struct model m;
    char error[SAFETENSORS_ERROR];
    if (!parse(&m, text, strlen(text), DATA, error)) {
        check(false, "layout", error);
        return;
    }
    struct layout l;
    check(layout_init(&l, &m, n_pes), "layout", "no memory");

    unsigned char data[DATA], result[DATA] = {0};
    int written[DATA] = {0};
    for (int i = 0; i < DATA; i++)
        data[i] = (unsigned char)(i * 31 + 1);

    for (int to = 0; to < n_pes; to++) {
        for (int from = 0; from < n_pes; from++) {
            struct chunks walk = {.layout = &l, .sender = from, .receiver = to, .limit = limit};
            struct chunk c;
            while (layout_next_chunk(&walk, &c)) {
                const struct tensor *t = &m.tensors[c.tensor];
                struct shard s = layout_shard(t, from, n_pes);
                check(c.nbytes > 0 && c.nbytes <= limit, "layout", "size of a chunk");
                check(c.offset + c.nbytes <= s.rows * s.width, "layout", "end of a chunk");
                check(l.places[c.tensor].owner == to, "layout", "owner");
                /* The sender's memory: the shard's bytes, row after row. */
                unsigned char chunk[1024], mark[DATA] = {0}, ones[1024];
                for (size_t i = 0; i < c.nbytes; i++) {
                    size_t row = (c.offset + i) / s.width, column = (c.offset + i) % s.width;
                    chunk[i] = data[t->begin + row * s.row_bytes + s.first + column];
                    ones[i] = 1;
                }
                layout_place_chunk(&l, &c, from, chunk, result + t->begin);
                layout_place_chunk(&l, &c, from, ones, mark + t->begin);
                for (int i = 0; i < DATA; i++)
                    written[i] += mark[i];
            }
        }
    }
    bool once = true;
    for (int i = 0; i < DATA; i++)
        once &= written[i] == 1;
    check(once, "layout", "a byte was written twice, or never");
    check(memcmp(data, result, DATA) == 0, "layout", "the tensors are not what they were");

    for (size_t i = 0; i < m.count; i++) {
        check(l.places[i].offset + m.tensors[i].nbytes <= l.largest_block, "layout", "block");
        for (size_t j = 0; j < i; j++) {
            bool apart = l.places[i].owner != l.places[j].owner ||
                         l.places[i].offset >= l.places[j].offset + m.tensors[j].nbytes ||
                         l.places[j].offset >= l.places[i].offset + m.tensors[i].nbytes;
            check(apart, "layout", "two tensors overlap in a block");
        }
    }
    layout_free(&l);
    safetensors_close(&m);
}

int main(void)
{
    test_sha256();
    test_headers();
    test_damage();
    for (int n_pes = 1; n_pes <= 9; n_pes++)
        for (size_t limit = 1; limit <= 1024; limit = limit * 3 + 1)
            test_layout(n_pes, limit);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
