/*
 * copy.c: copies and fills of the fake driver, which streams do.
 */
#define _GNU_SOURCE
#include "driver.h"
#include "stream.h"

/* Returns 0, or the error of a copy or a fill (from is NULL) of n bytes on a stream. */
static int may_move(const void *to, const void *from, size_t n, void *stream)
{
    bool crosses = fake_crosses(to, n) || (from != NULL && fake_crosses(from, n));
    return crosses ? INVALID_VALUE : fake_may_work(stream);
}

/* A FILL repeats the 4 bytes of its value, so the byte is in all of them. */
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t n, void *stream)
{
    BEGIN(may_move((void *)to, NULL, n, stream));
    return fake_later(
        (struct work){.what = FILL, .to = (void *)to, .n = n, .value = 0x01010101u * value},
        stream);
}

/* deaf=1 makes a GPU whose stores do not arrive: a check has to notice. */
int cuMemsetD32Async(uint64_t to, unsigned value, size_t n, void *stream)
{
    BEGIN(may_move((void *)to, NULL, 4 * n, stream));
    if (fake_setting("deaf", 0))
        n = 0;
    return fake_later((struct work){.what = FILL, .to = (void *)to, .n = 4 * n, .value = value},
                      stream);
}

static int move(void *to, const void *from, size_t n, void *stream)
{
    return fake_later((struct work){.what = MOVE, .to = to, .from = from, .n = n}, stream);
}

/* Queues one row of a copy of rows, see fake_waits_for_slice in stream.h. */
static int move_row(void *to, const void *from, size_t n, void *stream)
{
    return fake_later((struct work){.what = MOVE, .rows = true, .to = to, .from = from, .n = n},
                      stream);
}

/* 28 KiB: from SHMEMI_CUDA_FEW_ROWS (driver.h of package cuda) on, a copy engine makes the copy, as
 * measured on an H200. */
bool fake_waits_for_slice(const struct work *w)
{
    char *base;
    size_t n;
    unsigned long id;
    return w->what == MOVE && !w->rows && w->n < 28 << 10 && fake_setting("attribute133", 1) == 0 &&
           fake_mapped_range(w->to, &base, &n, &id) && !fake_mapped_range(w->from, &base, &n, &id);
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n, void *stream)
{
    BEGIN(may_move((void *)to, from, n, stream));
    return move((void *)to, from, n, stream);
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n, void *stream)
{
    BEGIN(may_move(to, (void *)from, n, stream));
    return move(to, (void *)from, n, stream);
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t n, void *stream)
{
    BEGIN(may_move((void *)to, (void *)from, n, stream));
    return move((void *)to, (void *)from, n, stream);
}

int cuMemcpyAsync(uint64_t to, uint64_t from, size_t n, void *stream)
{
    BEGIN(may_move((void *)to, (void *)from, n, stream));
    return move((void *)to, (void *)from, n, stream);
}

/* CUmemcpyAttributes. */
struct manner {
    int order; /* 1: the sources are read in the order of the stream */
    int hints[4];
    unsigned flags; /* 1: beside kernels, by copy engines */
};

/* A batch has no order of its own, so the fake makes its copies from the last to the first: a test
 * notices a batch whose order matters. It takes a batch only as the library gives it: with one
 * manner (manners) for all copies from the first on (*first is 0), and on a stream that is not the
 * default one. unbatched=1 refuses a batch. */
int cuMemcpyBatchAsync_v2(const uint64_t *to, const uint64_t *from, const size_t *n, size_t count,
                          const struct manner *manner, const size_t *first, size_t manners,
                          void *stream)
{
    bool wrong = count == 0 || manners != 1 || first[0] != 0 || manner->order != 1 ||
                 manner->flags > 1 || stream == NULL;
    for (size_t i = 0; !wrong && i < count; i++)
        wrong =
            n[i] == 0 || fake_crosses((void *)to[i], n[i]) || fake_crosses((void *)from[i], n[i]);
    BEGIN(fake_setting("unbatched", 0) ? NOT_SUPPORTED
          : wrong                      ? INVALID_VALUE
                                       : fake_may_work(stream));
    for (size_t i = count; i-- > 0;)
        move((void *)to[i], (void *)from[i], n[i], stream);
    return 0;
}

/* CUDA_MEMCPY2D. The fake copies only rows at unified addresses (type 4), with a pitch of less than
 * 2 GiB, and within one registration on each side. parts=1 refuses rows with gaps between them, as
 * a driver does if the memory in the gaps is not mapped. */
struct side {
    size_t x, y;
    int type;
    const void *host;
    uint64_t at;
    void *array;
    size_t pitch;
};
struct rows {
    struct side from, to;
    size_t width, count;
};

static bool is_plain(const struct side *s, size_t width)
{
    bool gaps_allowed = s->pitch == width || !fake_setting("parts", 0);
    return s->x == 0 && s->y == 0 && s->type == 4 && s->pitch >= width && s->pitch < 1u << 31 &&
           gaps_allowed;
}

int cuMemcpy2DAsync_v2(const struct rows *r, void *stream)
{
    char *to = (char *)r->to.at;
    const char *from = (const char *)r->from.at;
    size_t n = r->width * r->count;
    BEGIN(n == 0 || !is_plain(&r->from, r->width) || !is_plain(&r->to, r->width) ||
                  fake_crosses(from, (r->count - 1) * r->from.pitch + r->width)
              ? INVALID_VALUE
              : may_move(to, NULL, (r->count - 1) * r->to.pitch + r->width, stream));
    for (size_t i = 0; i < r->count; i++)
        move_row(to + i * r->to.pitch, from + i * r->from.pitch, r->width, stream);
    return 0;
}
