/*
 * safetensors.c: the header is parsed in three steps: the grammar (json.c),
 * each tensor by itself (its shape gives its size), and all of them together
 * (their bytes cover the data exactly once).
 */
#define _POSIX_C_SOURCE 200809L

#include "safetensors.h"

#include "json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Offsets into memory are computed from 64-bit sizes of a file. */
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "a 64-bit machine is needed");

enum { LENGTH_BYTES = 8 };

static const struct dtype dtypes[] = {
    {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F8_E8M0", 1},
    {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},     {"U32", 4},
    {"F32", 4},  {"I64", 8}, {"U64", 8}, {"F64", 8},     {"C64", 8},
};

static bool fail(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool fail(char *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error, SAFETENSORS_ERROR, format, args);
    va_end(args);
    return false;
}

/* The beginning of a message about a tensor; its name is cut, so that the rest has room. */
#define NAME "tensor '%.100s': "

/* The functions below parse one part of the header each. text is scratch memory of size bytes for
 * strings. On false the cause is in error, or in j->error if it is one of the grammar. */
static bool parse_dtype(struct json *j, struct tensor *t, char *text, size_t size, char *error)
{
    if (!json_string(j, text, size))
        return false;
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (strcmp(dtypes[i].name, text) == 0)
            t->dtype = &dtypes[i];
    if (t->dtype)
        return true;
    int n =
        snprintf(error, SAFETENSORS_ERROR, NAME "unknown dtype '%.20s' (known are", t->name, text);
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        n += snprintf(error + n, (size_t)(SAFETENSORS_ERROR - n), " %s", dtypes[i].name);
    snprintf(error + n, (size_t)(SAFETENSORS_ERROR - n), ")");
    return false;
}

static bool parse_shape(struct json *j, struct tensor *t, char *error)
{
    json_expect(j, '[');
    if (json_accept(j, ']'))
        return true;
    do {
        if (t->n_dims == SAFETENSORS_MAX_DIMS)
            return fail(error, NAME "more than %d dimensions (this example reads no more)", t->name,
                        SAFETENSORS_MAX_DIMS);
        if (!json_uint(j, &t->shape[t->n_dims]))
            return false;
        t->n_dims++;
    } while (json_accept(j, ','));
    return json_expect(j, ']');
}

/* Sets t->nbytes, and checks that it matches the shape. end is the second number of data_offsets.
 */
static bool check_size(struct tensor *t, uint64_t end, uint64_t data_bytes, char *error)
{
    if (end < t->begin)
        return fail(error, NAME "data_offsets [%" PRIu64 ", %" PRIu64 "] run backwards", t->name,
                    t->begin, end);
    if (end > data_bytes)
        return fail(error,
                    NAME "its data ends at byte %" PRIu64 ", but the file has %" PRIu64
                         " bytes of data (the file was cut off: fetch it again)",
                    t->name, end, data_bytes);
    t->nbytes = end - t->begin;

    uint64_t need = t->dtype->size;
    bool empty = false;
    for (int i = 0; i < t->n_dims; i++)
        empty |= t->shape[i] == 0;
    for (int i = 0; i < t->n_dims && !empty; i++)
        if (__builtin_mul_overflow(need, t->shape[i], &need))
            return fail(error, NAME "its shape needs more than 2^64 bytes", t->name);
    if (empty)
        need = 0;
    if (need != t->nbytes)
        return fail(error, NAME "its shape needs %" PRIu64 " bytes, data_offsets give %" PRIu64,
                    t->name, need, t->nbytes);
    return true;
}

/* The object that follows a tensor's name. */
static bool parse_tensor(struct json *j, struct tensor *t, uint64_t data_bytes, char *text,
                         size_t size, char *error)
{
    bool have_shape = false, have_offsets = false;
    uint64_t end = 0;
    json_expect(j, '{');
    do {
        if (!json_string(j, text, size) || !json_expect(j, ':'))
            return false;
        if (strcmp(text, "dtype") == 0 && !t->dtype) {
            if (!parse_dtype(j, t, text, size, error))
                return false;
        } else if (strcmp(text, "shape") == 0 && !have_shape) {
            if (!parse_shape(j, t, error))
                return false;
            have_shape = true;
        } else if (strcmp(text, "data_offsets") == 0 && !have_offsets) {
            if (!json_expect(j, '[') || !json_uint(j, &t->begin) || !json_accept(j, ',') ||
                !json_uint(j, &end) || !json_expect(j, ']'))
                return j->error ? false
                                : fail(error, NAME "data_offsets must be two numbers", t->name);
            have_offsets = true;
        } else {
            return fail(error, NAME "key '%.40s' is unknown, or there twice", t->name, text);
        }
    } while (json_accept(j, ','));
    if (!json_expect(j, '}'))
        return false;
    if (!t->dtype || !have_shape || !have_offsets)
        return fail(error, NAME "dtype, shape and data_offsets must all be there", t->name);
    return check_size(t, end, data_bytes, error);
}

/* Parses __metadata__, an object of strings, which this program does not use. */
static bool skip_metadata(struct json *j, char *text, size_t size)
{
    json_expect(j, '{');
    if (json_accept(j, '}'))
        return true;
    do {
        if (!json_string(j, text, size) || !json_expect(j, ':') || !json_string(j, text, size))
            return false;
    } while (json_accept(j, ','));
    return json_expect(j, '}');
}

/* Adds a tensor with this name; NULL: there is no memory. */
static struct tensor *add_tensor(struct model *m, const char *name)
{
    /* The capacity is the least power of two that is not below count, so it must grow when count is
     * a power of two, or 0. */
    if ((m->count & (m->count - 1)) == 0) {
        size_t capacity = m->count ? 2 * m->count : 1;
        struct tensor *grown = realloc(m->tensors, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        m->tensors = grown;
    }
    struct tensor *t = &m->tensors[m->count];
    *t = (struct tensor){.name = strdup(name)};
    if (!t->name)
        return NULL;
    m->count++;
    return t;
}

static bool parse_header(struct model *m, struct json *j, uint64_t data_bytes, char *text,
                         size_t size, char *error)
{
    bool have_metadata = false;
    json_expect(j, '{');
    if (json_accept(j, '}'))
        return json_finish(j);
    do {
        if (!json_string(j, text, size) || !json_expect(j, ':'))
            return false;
        if (strcmp(text, "__metadata__") == 0) {
            if (have_metadata)
                return fail(error, "__metadata__ is there twice");
            have_metadata = true;
            if (!skip_metadata(j, text, size))
                return false;
            continue;
        }
        struct tensor *t = add_tensor(m, text);
        if (!t)
            return fail(error, "no memory for %zu tensors", m->count + 1);
        if (!parse_tensor(j, t, data_bytes, text, size, error))
            return false;
    } while (json_accept(j, ','));
    return json_expect(j, '}') && json_finish(j);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct tensor *)a)->name, ((const struct tensor *)b)->name);
}

/* Empty tensors come first where they share an offset, and the name decides
 * the rest, so that every PE has the same order. */
static int by_data(const void *a, const void *b)
{
    const struct tensor *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->nbytes != y->nbytes)
        return x->nbytes < y->nbytes ? -1 : 1;
    return by_name(a, b);
}

/* Sorts the tensors by the place of their data, and checks that these cover all data exactly once.
 */
static bool check_together(struct model *m, uint64_t data_bytes, char *error)
{
    if (m->count == 0)
        return data_bytes == 0 ||
               fail(error, "no tensor, but %" PRIu64 " bytes of data", data_bytes);
    qsort(m->tensors, m->count, sizeof *m->tensors, by_name);
    for (size_t i = 1; i < m->count; i++)
        if (by_name(&m->tensors[i - 1], &m->tensors[i]) == 0)
            return fail(error, NAME "it is there twice", m->tensors[i].name);

    qsort(m->tensors, m->count, sizeof *m->tensors, by_data);
    uint64_t covered = 0;
    for (size_t i = 0; i < m->count; i++) {
        const struct tensor *t = &m->tensors[i];
        if (t->begin < covered)
            return fail(error, NAME "its data overlaps that of '%.100s'", t->name,
                        m->tensors[i - 1].name);
        if (t->begin > covered)
            return fail(error,
                        NAME "bytes %" PRIu64 " to %" PRIu64 " before its data belong to no tensor",
                        t->name, covered, t->begin);
        covered = t->begin + t->nbytes;
    }
    if (covered != data_bytes)
        return fail(error, "the last %" PRIu64 " bytes of data belong to no tensor",
                    data_bytes - covered);
    m->nbytes = covered;
    return true;
}

static void free_tensors(struct model *m)
{
    for (size_t i = 0; i < m->count; i++)
        free(m->tensors[i].name);
    free(m->tensors);
    m->tensors = NULL;
    m->count = 0;
}

bool safetensors_parse(struct model *m, const char *header, size_t header_bytes,
                       uint64_t data_bytes, char error[SAFETENSORS_ERROR])
{
    *m = (struct model){.fd = -1};
    size_t size = header_bytes + JSON_ROOM;
    char *text = malloc(size);
    if (!text)
        return fail(error, "no memory for a header of %zu bytes", header_bytes);
    struct json j = {.at = header, .end = header + header_bytes};
    bool ok = parse_header(m, &j, data_bytes, text, size, error);
    free(text);
    if (j.error)
        fail(error, "byte %td of the header: %s (this is no safetensors file, or it is damaged)",
             j.at - header, j.error);
    ok = ok && check_together(m, data_bytes, error);
    if (!ok)
        free_tensors(m);
    return ok;
}

/* Reads nbytes from a place in the file. One pread may read fewer: above 2 GiB it always does. */
static bool read_at(const struct model *m, uint64_t offset, void *to, size_t nbytes, char *error)
{
    char *p = to;
    while (nbytes > 0) {
        ssize_t n = pread(m->fd, p, nbytes, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(error, "read %.200s: %s", m->path, strerror(errno));
        if (n == 0)
            return fail(error,
                        "read %.200s: the file ends at byte %" PRIu64
                        " (it became shorter meanwhile: leave it alone until the job ends)",
                        m->path, offset);
        p += n;
        offset += (uint64_t)n;
        nbytes -= (size_t)n;
    }
    return true;
}

/* Reads and checks the header of the open file m->fd. On false the caller closes it. */
static bool read_header(struct model *m, char *error)
{
    struct stat st;
    if (fstat(m->fd, &st) != 0)
        return fail(error, "open %.200s: %s", m->path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return fail(error, "open %.200s: not a file (give the path of a .safetensors file)",
                    m->path);
    uint64_t file_bytes = (uint64_t)st.st_size;
    if (file_bytes < LENGTH_BYTES)
        return fail(error,
                    "read %.200s: the file has %" PRIu64
                    " bytes, fewer than the %d of its first field"
                    " (this is no safetensors file, or it was cut off: fetch it again)",
                    m->path, file_bytes, LENGTH_BYTES);

    unsigned char field[LENGTH_BYTES];
    if (!read_at(m, 0, field, sizeof field, error))
        return false;
    uint64_t header_bytes = 0;
    for (int i = LENGTH_BYTES - 1; i >= 0; i--)
        header_bytes = header_bytes << 8 | field[i];
    if (header_bytes > SAFETENSORS_MAX_HEADER)
        return fail(error,
                    "read %.200s: a header of %" PRIu64 " bytes is longer than the %d allowed"
                    " (this is no safetensors file)",
                    m->path, header_bytes, SAFETENSORS_MAX_HEADER);
    if (header_bytes > file_bytes - LENGTH_BYTES)
        return fail(error,
                    "read %.200s: the header has %" PRIu64 " bytes, but the file only %" PRIu64
                    " (this is no safetensors file, or it was cut off: fetch it again)",
                    m->path, header_bytes, file_bytes);

    char *header = malloc(header_bytes + 1);
    if (!header)
        return fail(error, "read %.200s: no memory for its header", m->path);
    char cause[SAFETENSORS_ERROR];
    struct model parsed;
    bool ok = read_at(m, LENGTH_BYTES, header, header_bytes, error);
    if (ok && !safetensors_parse(&parsed, header, header_bytes,
                                 file_bytes - LENGTH_BYTES - header_bytes, cause))
        ok = fail(error, "read %.100s: %.400s", m->path, cause);
    if (ok) {
        struct sha256 h;
        sha256_begin(&h);
        sha256_add(&h, header, header_bytes);
        sha256_end(&h, m->header_digest);
    }
    free(header);
    if (!ok)
        return false;
    m->tensors = parsed.tensors;
    m->count = parsed.count;
    m->nbytes = parsed.nbytes;
    m->header_bytes = header_bytes;
    return true;
}

bool safetensors_open(struct model *m, const char *path, char error[SAFETENSORS_ERROR])
{
    /* O_NONBLOCK has no effect on a regular file. Without it the open of a pipe would wait. */
    *m = (struct model){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (m->fd < 0)
        return fail(error, "open %.200s: %s (give the path of a .safetensors file)", path,
                    strerror(errno));
    m->path = strdup(path);
    bool ok = m->path ? read_header(m, error) : fail(error, "open %.200s: no memory", path);
    if (!ok)
        safetensors_close(m);
    return ok;
}

void safetensors_close(struct model *m)
{
    free_tensors(m);
    free(m->path);
    m->path = NULL;
    if (m->fd >= 0)
        close(m->fd);
    m->fd = -1;
}

bool safetensors_read(const struct model *m, uint64_t offset, void *to, size_t nbytes,
                      char error[SAFETENSORS_ERROR])
{
    return read_at(m, LENGTH_BYTES + m->header_bytes + offset, to, nbytes, error);
}
