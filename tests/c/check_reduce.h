/*
 * check_reduce.h: reductions against a model that every PE computes alone. The
 * floating-point values are small multiples of a quarter, so that sums are
 * exact in any order.
 */
#ifndef CHECK_REDUCE_H
#define CHECK_REDUCE_H

#include "check_collective.h"

/* Set when the values are to be multiplied. */
static bool check_multiplies;

/* The i-th element of a PE's source. */
static inline void check_share(const struct check_type *t, void *at, int pe, size_t i, size_t round)
{
    static const long double factors[] = {1, -1, 2, -2, 0.5L, -0.5L, 1, -1};
    uint64_t h = check_mix(check_seed(pe, i, round));
    if (check_multiplies && t->kind == CHECK_REAL) {
        check_store_real(t->size, at, factors[h % 8]);
    } else if (check_multiplies && t->kind == CHECK_COMPLEX) {
        /* On one of the axes, so that products stay small and exact. */
        check_store_real(t->size / 2, at, h / 8 % 2 ? factors[h % 8] : 0);
        check_store_real(t->size / 2, (char *)at + t->size / 2, h / 8 % 2 ? 0 : factors[h % 8]);
    } else if (t->kind == CHECK_REAL) {
        check_store_real(t->size, at, ((long double)(h % 4001) - 2000) / 4);
    } else if (t->kind == CHECK_COMPLEX) {
        check_store_real(t->size / 2, at, ((long double)(h % 4001) - 2000) / 4);
        check_store_real(t->size / 2, (char *)at + t->size / 2,
                         ((long double)(h / 4001 % 4001) - 2000) / 4);
    } else {
        check_store(t, at, h);
    }
}

/* An operation by a letter of its name: s, p, m, M, a, o, x. */
static inline char check_operation(const struct check_symbol *s)
{
    return s->family[0] == 'm' && s->family[1] == 'a' ? 'M' : s->family[0];
}

static inline long double check_real_model(char op, long double a, long double b)
{
    return op == 'p' ? a * b : op == 's' ? a + b : op == 'm' ? (b < a ? b : a) : (b > a ? b : a);
}

static inline void check_complex_product(size_t size, char *acc, const char *in)
{
    long double a = check_load_real(size, acc), b = check_load_real(size, acc + size);
    long double c = check_load_real(size, in), d = check_load_real(size, in + size);
    check_store_real(size, acc, a * c - b * d);
    check_store_real(size, acc + size, a * d + b * c);
}

/* Are two elements the same? The sign of a zero depends on the order of factors. */
static inline bool check_same(const struct check_type *t, const char *a, const char *b)
{
    if (t->kind != CHECK_COMPLEX)
        return memcmp(a, b, t->used) == 0;
    size_t size = t->size / 2;
    return check_load_real(size, a) == check_load_real(size, b) &&
           check_load_real(size, a + size) == check_load_real(size, b + size);
}

/* acc = acc op in. */
static inline void check_reduce_model(const struct check_type *t, char op, void *acc,
                                      const void *in)
{
    if (op == 'p' && t->kind == CHECK_COMPLEX) {
        check_complex_product(t->size / 2, acc, in);
        return;
    }
    if (t->kind == CHECK_REAL || t->kind == CHECK_COMPLEX) {
        size_t parts = t->kind == CHECK_COMPLEX ? 2 : 1, size = t->size / parts;
        for (size_t i = 0; i < parts; i++)
            check_store_real(size, (char *)acc + i * size,
                             check_real_model(op, check_load_real(size, (char *)acc + i * size),
                                              check_load_real(size, (const char *)in + i * size)));
        return;
    }
    uint64_t a = check_load(t, acc), b = check_load(t, in);
    bool less = t->kind == CHECK_SIGNED ? (int64_t)b < (int64_t)a : b < a;
    if (op == 's')
        a += b;
    else if (op == 'p')
        a *= b;
    else if (op == 'a')
        a &= b;
    else if (op == 'o')
        a |= b;
    else if (op == 'x')
        a ^= b;
    else if (less == (op == 'm'))
        a = b;
    check_store(t, acc, a);
}

static inline void check_reduced(const struct check_symbol *s, const char *dest, size_t n,
                                 size_t round, const char *what)
{
    const struct check_type *t = s->type;
    char op = check_operation(s);
    for (size_t i = 0; i < n; i++, dest += t->size) {
        char want[16], in[16], expected[33], got[33];
        check_share(t, want, 0, i, round);
        for (int pe = 1; pe < check.n; pe++) {
            check_share(t, in, pe, i, round);
            check_reduce_model(t, op, want, in);
        }
        if (check_same(t, want, dest))
            continue;
        check_hex(expected, want, t->used);
        check_hex(got, dest, t->used);
        check_fail("%s, element %zu of %zu: expected 0x%s, got 0x%s", what, i, n, expected, got);
        return;
    }
}

static inline void check_reduce_call(const struct check_symbol *s, void *dest, const void *source,
                                     size_t n)
{
    struct check_call c = {
        .team = SHMEM_TEAM_WORLD, .dest = dest, .source = source, .nreduce = n, .answer = -1};
    s->call(&c);
    CHECK(c.answer == 0, "%zu elements: returned %d, expected 0", n, c.answer);
}

static inline void check_shares(const struct check_symbol *s, char *at, size_t n, size_t round)
{
    for (size_t i = 0; i < n; i++)
        check_share(s->type, at + i * s->type->size, check.me, i, round);
}

static inline void check_reduce(const struct check_symbol *s)
{
    char *dest, *source;
    size_t area, size = s->type->size;
    check_areas(&dest, &source, &area);
    check_multiplies = check_operation(s) == 'p';
    char *to = dest + CHECK_GUARD;
    /* The PEs' algorithm does not depend on the operation: three operations run in full. */
    bool whole = check_operation(s) == 's' || s->family[0] == 'm';
    check_collective_null(s);
    for (size_t l = 0; l < CHECK_LENGTHS; l++) {
        size_t n;
        if (!check_length(l, check_few, CHECK_FEW, size, &n) || (!whole && n != 7))
            continue;
        size_t end = CHECK_GUARD + n * size;
        memset(dest, CHECK_SENTINEL, end + CHECK_GUARD);
        check_shares(s, source, n, 0);
        shmem_barrier_all();
        check_reduce_call(s, to, source, n);
        check_reduced(s, to, n, 0, "alone");
        check_shares(s, source, n, 1);
        shmem_barrier_all();
        check_shares(s, to, n, 2);
        shmem_barrier_all();
        check_reduce_call(s, to, to, n);
        check_reduced(s, to, n, 2, "in place");
        check_untouched(dest, 0, CHECK_GUARD, "before");
        check_untouched(dest, end, end + CHECK_GUARD, "after");
        shmem_barrier_all();
    }
    if (!whole)
        return;
    const size_t n = 7;
    for (size_t round = 0; round < CHECK_ROW; round++)
        check_shares(s, source + round * n * size, n, round);
    shmem_barrier_all();
    for (size_t round = 0; round < CHECK_ROW; round++)
        check_reduce_call(s, to + round * n * size, source + round * n * size, n);
    for (size_t round = 0; round < CHECK_ROW; round++)
        check_reduced(s, to + round * n * size, n, round, "in a row");
    shmem_barrier_all();
}

#endif
