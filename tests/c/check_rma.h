/*
 * check_rma.h: put and get in every pattern and length, with sentinels around
 * the destination, and with a source that is overwritten as soon as it may be.
 */
#ifndef CHECK_RMA_H
#define CHECK_RMA_H

#include "check.h"

static const size_t check_few[] = {0, 1, 7, 1000};
enum {
    CHECK_FEW = sizeof check_few / sizeof check_few[0],
    CHECK_LENGTHS = CHECK_FEW + CHECK_BYTES,
    CHECK_ARRAY = CHECK_MAX_BYTES + 8 * 16,
    CHECK_AREA = 2 * CHECK_GUARD + CHECK_ARRAY
};

/* The data of a symbol's l-th length, if it has that one. The arrays start at multiples of the
 * element size that are not multiples of a word, each time at others. */
struct check_span {
    size_t n;
    size_t dest, source; /* where they start, in bytes */
    size_t end;          /* of dest */
    size_t area;         /* bytes to check */
};

static inline bool check_span(const struct check_symbol *s, size_t l, struct check_span *to)
{
    size_t size = s->type->size;
    if (!check_length(l, check_few, CHECK_FEW, size, &to->n))
        return false;
    if (s->flags & CHECK_SINGLE && to->n != 1)
        return false;
    to->dest = CHECK_GUARD + l % 3 * size;
    to->source = l % 5 * size;
    to->end = to->dest + to->n * size;
    to->area = to->end + CHECK_GUARD;
    return true;
}

/* A symmetric area with room for the longest array and its surroundings, the
 * same one for every symbol. */
static inline char *check_area(void)
{
    static char *area;
    if (area == NULL)
        area = check_alloc(CHECK_AREA);
    return area;
}

/* No elements at NULL: every PE makes the call, and nothing is read or written. */
static inline void check_null(const struct check_symbol *s)
{
    if (s->flags & CHECK_SINGLE)
        return;
    struct check_call c = {.pe = check_right()};
    s->call(&c);
    check_barrier(s);
}

static inline void check_put(const struct check_symbol *s)
{
    static char array[CHECK_ARRAY] __attribute__((aligned(16)));
    char *area = check_area();
    const struct check_type *t = s->type;
    struct check_span k;
    check_null(s);
    for (int p = 0; p < check_patterns(s); p++) {
        for (size_t l = 0; l < CHECK_LENGTHS; l++) {
            if (!check_span(s, l, &k))
                continue;
            char *dest = area + k.dest, *source = array + k.source;
            memset(area, CHECK_SENTINEL, k.area);
            check_barrier(s);
            int pe, end;
            for (check_targets(p, &pe, &end); pe < end; pe++) {
                check_fill(t, source, k.n, check_seed(check.me, k.n, (size_t)pe));
                struct check_call c = {
                    .dest = dest, .source = source, .value = source, .nelems = k.n, .pe = pe};
                s->call(&c);
                if (s->flags & CHECK_NBI)
                    check_quiet(s);
                memset(source, 0, k.n * t->size);
            }
            check_barrier(s);
            const char *what = check_pattern_names[p];
            check_filled(t, dest, k.n, check_seed(check_origin(p), k.n, (size_t)check.me), what);
            check_untouched(area, 0, k.dest, what);
            check_untouched(area, k.end, k.area, what);
        }
    }
    check_barrier(s);
}

static inline void check_get(const struct check_symbol *s)
{
    static char local[CHECK_AREA] __attribute__((aligned(16)));
    const struct check_type *t = s->type;
    struct check_span k;
    check_null(s);
    for (size_t l = 0; l < CHECK_LENGTHS; l++) {
        if (!check_span(s, l, &k))
            continue;
        char *source = check_area() + k.source, *dest = local + k.dest;
        check_barrier(s);
        check_fill(t, source, k.n, check_seed(check.me, k.n, 0));
        check_barrier(s);
        for (int p = 0; p < check_patterns(s); p++) {
            int pe, end;
            for (check_targets(p, &pe, &end); pe < end; pe++) {
                memset(local, CHECK_SENTINEL, k.area);
                struct check_call c = {
                    .dest = dest, .result = dest, .source = source, .nelems = k.n, .pe = pe};
                s->call(&c);
                if (s->flags & CHECK_NBI)
                    check_quiet(s);
                const char *what = check_pattern_names[p];
                check_filled(t, dest, k.n, check_seed(pe, k.n, 0), what);
                check_untouched(local, 0, k.dest, what);
                check_untouched(local, k.end, k.area, what);
            }
        }
    }
    check_barrier(s);
}

#endif
