/*
 * check_strided.h: iput and iget, and the same with blocks, against a model that
 * copies element by element into a picture of the whole area.
 */
#ifndef CHECK_STRIDED_H
#define CHECK_STRIDED_H

#include "check.h"

static const struct check_stride {
    size_t dst, sst, bsize, nblocks;
    size_t widest; /* bytes of the largest element type */
} check_strides[] = {
    {1, 1, 1, 0, 16},      {1, 1, 1, 1, 16},     {5, 3, 1, 1, 16},    {1, 1, 1, 700, 16},
    {1, 3, 1, 400, 16},    {3, 1, 1, 400, 16},   {2, 5, 1, 333, 16},  {7, 2, 3, 90, 16},
    {1, 7, 1, 1500, 2},    {4, 9, 4, 200, 16},   {9, 4, 4, 0, 16},    {9, 4, 0, 5, 16},
    {3000, 500, 1, 7, 16}, {700, 2400, 2, 9, 8}, {64, 600, 1, 40, 8}, {600, 64, 600, 12, 8},
    {8, 9, 8, 1200, 16},
};
enum {
    CHECK_STRIDES = sizeof check_strides / sizeof check_strides[0],
    CHECK_STRIDED = 3000 * 6 * 16 + 2048, /* the longest of them */
    CHECK_STRIDED_AREA = 2 * CHECK_GUARD + CHECK_STRIDED
};

static inline size_t check_stride_span(size_t step, const struct check_stride *s, size_t size)
{
    size_t span = s->nblocks == 0 || s->bsize == 0 ? 0 : (s->nblocks - 1) * step + s->bsize;
    if (span * size > CHECK_STRIDED)
        abort();
    return span * size;
}

/* Does the symbol take blocks? And does this shape suit it and its type? */
static inline bool check_stride_fits(const struct check_symbol *s, const struct check_stride *k)
{
    bool blocks = s->family[1] == 'b';
    return s->type->size <= k->widest && (blocks || k->bsize == 1);
}

static inline void check_stride_model(char *to, const char *from, const struct check_stride *k,
                                      size_t size)
{
    for (size_t b = 0; b < k->nblocks; b++)
        for (size_t e = 0; e < k->bsize; e++)
            memcpy(to + (b * k->dst + e) * size, from + (b * k->sst + e) * size, size);
}

static inline void check_stride_call(const struct check_symbol *s, const struct check_stride *k,
                                     void *dest, const void *source, int pe)
{
    struct check_call c = {.dest = dest,
                           .source = source,
                           .dst = (ptrdiff_t)k->dst,
                           .sst = (ptrdiff_t)k->sst,
                           .nelems = k->nblocks,
                           .bsize = k->bsize,
                           .nblocks = k->nblocks,
                           .pe = pe};
    s->call(&c);
}

/* Bytes of a PE for a round; they may have any value, since they are only copied. */
static inline void check_stride_fill(char *at, size_t n, int pe, size_t round)
{
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++) {
        if (i % 8 == 0)
            word = check_mix(check_seed(pe, i, round));
        at[i] = (char)(word >> i % 8 * 8);
    }
}

static inline void check_stride_compare(const char *got, const char *want, size_t n,
                                        const struct check_stride *k, const char *what)
{
    if (memcmp(got, want, n) == 0)
        return;
    size_t i = 0;
    while (got[i] == want[i])
        i++;
    check_fail("%s, %zu blocks of %zu, strides %zu and %zu: byte %zd of dest is 0x%02x, expected "
               "0x%02x",
               what, k->nblocks, k->bsize, k->dst, k->sst, (ssize_t)i - CHECK_GUARD,
               (unsigned char)got[i], (unsigned char)want[i]);
}

static char check_source[CHECK_STRIDED_AREA] __attribute__((aligned(16)));
static char check_image[CHECK_STRIDED_AREA] __attribute__((aligned(16)));
static char check_local[CHECK_STRIDED_AREA] __attribute__((aligned(16)));

static inline char *check_strided_area(void)
{
    static char *area; /* symmetric */
    if (area == NULL)
        area = check_alloc(CHECK_STRIDED_AREA);
    return area;
}

/* Every shape for the namesake of a symbol with a context, which behaves the same with them. */
static inline size_t check_stride_step(const struct check_symbol *s)
{
    return s->flags & CHECK_CTX ? 4 : 1;
}

/* No elements at NULL: no blocks, and blocks of no elements. */
static inline void check_stride_null(const struct check_symbol *s)
{
    static const struct check_stride none[] = {
        {1, 1, 1, 0, 16}, {9, 4, 4, 0, 16}, {9, 4, 0, 5, 16}};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        if (check_stride_fits(s, &none[i]))
            check_stride_call(s, &none[i], NULL, NULL, check_right());
    check_barrier(s);
}

static inline void check_iput(const struct check_symbol *s)
{
    char *area = check_strided_area();
    size_t size = s->type->size;
    check_stride_null(s);
    for (size_t i = 0; i < CHECK_STRIDES; i += check_stride_step(s)) {
        const struct check_stride *k = &check_strides[i];
        enum check_pattern p = i % 2 == 0 ? CHECK_RIGHT : i % 3 == 0 ? CHECK_SELF : CHECK_FROM_0;
        if (!check_stride_fits(s, k))
            continue;
        size_t read = check_stride_span(k->sst, k, size), all = check_stride_span(k->dst, k, size);
        all += 2 * CHECK_GUARD;
        memset(area, CHECK_SENTINEL, all);
        check_barrier(s);
        int pe, end;
        for (check_targets(p, &pe, &end); pe < end; pe++) {
            check_stride_fill(check_source, read, check.me, (size_t)pe);
            check_stride_call(s, k, area + CHECK_GUARD, check_source, pe);
            memset(check_source, 0, read);
        }
        check_barrier(s);
        check_stride_fill(check_source, read, check_origin(p), (size_t)check.me);
        memset(check_image, CHECK_SENTINEL, all);
        check_stride_model(check_image + CHECK_GUARD, check_source, k, size);
        check_stride_compare(area, check_image, all, k, check_pattern_names[p]);
    }
    check_barrier(s);
}

static inline void check_iget(const struct check_symbol *s)
{
    char *area = check_strided_area();
    size_t size = s->type->size;
    check_stride_fill(area, CHECK_STRIDED, check.me, 0);
    check_stride_null(s);
    for (size_t i = 0; i < CHECK_STRIDES; i += check_stride_step(s)) {
        const struct check_stride *k = &check_strides[i];
        if (!check_stride_fits(s, k))
            continue;
        size_t read = check_stride_span(k->sst, k, size), all = check_stride_span(k->dst, k, size);
        all += 2 * CHECK_GUARD;
        int pe = (check.me + (int)i) % check.n;
        memset(check_local, CHECK_SENTINEL, all);
        memset(check_image, CHECK_SENTINEL, all);
        check_stride_call(s, k, check_local + CHECK_GUARD, area, pe);
        check_stride_fill(check_source, read, pe, 0);
        check_stride_model(check_image + CHECK_GUARD, check_source, k, size);
        check_stride_compare(check_local, check_image, all, k, "from another PE");
    }
    check_barrier(s);
}

#endif
