/*
 * check_to_all.h: reductions on active sets against a model that every PE computes
 * alone, small enough for pWrk and not.
 */
#ifndef CHECK_TO_ALL_H
#define CHECK_TO_ALL_H

#include "check_reduce.h"
#include "check_sets.h"

static inline void check_to_all_reduced(const struct check_symbol *s, const struct check_set *set,
                                        const char *dest, size_t n, size_t round, const char *what)
{
    const struct check_type *t = s->type;
    char op = check_operation(s);
    for (size_t i = 0; i < n; i++, dest += t->size) {
        char want[16], in[16], expected[33], got[33];
        check_share(t, want, set->start, i, round);
        for (int rank = 1; rank < set->size; rank++) {
            check_share(t, in, check_set_pe(set, rank), i, round);
            check_reduce_model(t, op, want, in);
        }
        if (check_same(t, want, dest))
            continue;
        check_hex(expected, want, t->used);
        check_hex(got, dest, t->used);
        check_fail("%s, %d PEs from %d by 2^%d, element %zu of %zu: expected 0x%s, got 0x%s", what,
                   set->size, set->start, set->log_stride, i, n, expected, got);
        return;
    }
}

/* Room for the largest type and the longest array, for each kind of set. */
static inline void *check_work(int kind)
{
    enum { ELEMENTS = 3000 / 2 + 1 };
    static char *all;
    if (all == NULL)
        all = check_alloc((size_t)CHECK_SETS * ELEMENTS * 16);
    return all + (size_t)kind * ELEMENTS * 16;
}

static inline void check_to_all_call(const struct check_symbol *s, int kind, void *dest,
                                     const void *source, size_t n)
{
    struct check_set set = check_set(kind);
    struct check_call c = {.dest = dest,
                           .source = source,
                           .nreduce = n,
                           .PE_start = set.start,
                           .logPE_stride = set.log_stride,
                           .PE_size = set.size,
                           .pWrk = check_work(kind),
                           .pSync = check_sync(kind)};
    if (set.rank >= 0)
        s->call(&c);
}

static inline void check_to_all(const struct check_symbol *s)
{
    char *dest, *source;
    size_t area, size = s->type->size;
    check_areas(&dest, &source, &area);
    check_multiplies = check_operation(s) == 'p';
    char *to = dest + CHECK_GUARD;
    /* The PEs' algorithm depends neither on the operation nor on the type. */
    bool whole = check_operation(s) == 's' && (s->type->size == 2 || s->type->size == 16);
    for (int kind = 0; kind < CHECK_SETS; kind++)
        check_to_all_call(s, kind, NULL, NULL, 0);
    for (int kind = 0; kind < CHECK_SETS; kind++) {
        struct check_set set = check_set(kind);
        for (size_t l = 0; l < CHECK_LENGTHS; l++) {
            size_t n;
            if (!check_length(l, check_few, CHECK_FEW, size, &n) || (!whole && n != 7))
                continue;
            size_t end = CHECK_GUARD + n * size;
            memset(dest, CHECK_SENTINEL, end + CHECK_GUARD);
            check_shares(s, source, n, 0);
            shmem_barrier_all();
            check_to_all_call(s, kind, to, source, n);
            check_sync_restored(kind);
            if (set.rank >= 0)
                check_to_all_reduced(s, &set, to, n, 0, "alone");
            else
                check_untouched(dest, 0, end + CHECK_GUARD, "not in the set");
            check_untouched(dest, 0, CHECK_GUARD, "before");
            check_untouched(dest, end, end + CHECK_GUARD, "after");
            shmem_barrier_all();
        }
    }
    if (!whole)
        return;
    /* In place, and one set after the other. */
    const size_t n = 7;
    for (int kind = 0; kind < CHECK_SETS; kind++)
        check_shares(s, to + (size_t)kind * n * size, n, (size_t)kind);
    shmem_barrier_all();
    for (int kind = 0; kind < CHECK_SETS; kind++) {
        char *at = to + (size_t)kind * n * size;
        check_to_all_call(s, kind, at, at, n);
    }
    for (int kind = 0; kind < CHECK_SETS; kind++) {
        struct check_set set = check_set(kind);
        if (set.rank >= 0)
            check_to_all_reduced(s, &set, to + (size_t)kind * n * size, n, (size_t)kind,
                                 "in place");
    }
    shmem_barrier_all();
}

#endif
