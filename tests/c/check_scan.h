/*
 * check_scan.h: sums of the PEs up to the caller, against a model that every PE
 * computes alone, with values whose sums are exact in any order.
 */
#ifndef CHECK_SCAN_H
#define CHECK_SCAN_H

#include "check_reduce.h"

/* dest holds the sums of the first `pes` PEs. */
static inline void check_scanned(const struct check_symbol *s, const char *dest, size_t n, int pes,
                                 size_t round, const char *what)
{
    const struct check_type *t = s->type;
    for (size_t i = 0; i < n; i++, dest += t->size) {
        char want[16] = {0}, in[16], expected[33], got[33];
        for (int pe = 0; pe < pes; pe++) {
            check_share(t, pe == 0 ? want : in, pe, i, round);
            if (pe > 0)
                check_reduce_model(t, 's', want, in);
        }
        if (check_same(t, want, dest))
            continue;
        check_hex(expected, want, t->used);
        check_hex(got, dest, t->used);
        check_fail("%s, element %zu of %zu: expected 0x%s, got 0x%s", what, i, n, expected, got);
        return;
    }
}

static inline void check_scan_call(const struct check_symbol *s, void *dest, const void *source,
                                   size_t n)
{
    struct check_call c = {
        .team = SHMEM_TEAM_WORLD, .dest = dest, .source = source, .nelems = n, .answer = -1};
    s->call(&c);
    CHECK(c.answer == 0, "%zu elements: returned %d, expected 0", n, c.answer);
}

static inline void check_scan(const struct check_symbol *s)
{
    static const size_t few[] = {0, 1, 7, 31, 3000};
    enum { FEW = sizeof few / sizeof few[0] };
    char *dest, *source;
    size_t area, size = s->type->size;
    int pes = check.me + (strcmp(s->family, "sum_inscan") == 0);
    check_areas(&dest, &source, &area);
    check_multiplies = false;
    char *to = dest + CHECK_GUARD;
    /* Types differ in their additions; two run in full. */
    bool whole = s->type->kind == CHECK_COMPLEX;
    check_collective_null(s);
    for (size_t l = 0; l < FEW + CHECK_BYTES; l++) {
        size_t n;
        if (!check_length(l, few, FEW, size, &n) || (!whole && n != 7))
            continue;
        size_t end = CHECK_GUARD + n * size;
        memset(dest, CHECK_SENTINEL, end + CHECK_GUARD);
        check_shares(s, source, n, 0);
        shmem_barrier_all();
        check_scan_call(s, to, source, n);
        check_scanned(s, to, n, pes, 0, "alone");
        check_shares(s, source, n, 1);
        shmem_barrier_all();
        check_shares(s, to, n, 2);
        shmem_barrier_all();
        check_scan_call(s, to, to, n);
        check_scanned(s, to, n, pes, 2, "in place");
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
        check_scan_call(s, to + round * n * size, source + round * n * size, n);
    for (size_t round = 0; round < CHECK_ROW; round++)
        check_scanned(s, to + round * n * size, n, pes, round, "in a row");
    shmem_barrier_all();
}

#endif
