/*
 * check_collective.h: the results of collectives that move data, on every PE, from every root, in
 * several lengths, and several times in a row.
 */
#ifndef CHECK_COLLECTIVE_H
#define CHECK_COLLECTIVE_H

#include "check.h"

static const size_t check_few[] = {0, 1, 7, 3001}; /* and 3001 is a prime */
enum {
    CHECK_FEW = sizeof check_few / sizeof check_few[0],
    CHECK_LENGTHS = CHECK_FEW + CHECK_BYTES,
    CHECK_LONGEST = CHECK_MAX_BYTES,
    CHECK_ROW = 5 /* calls in a row without a barrier */
};

/* Two symmetric areas, each with room for one longest array of every PE. */
static inline void check_areas(char **dest, char **source, size_t *size)
{
    static char *area;
    *size = 2 * CHECK_GUARD + (size_t)check.n * CHECK_LONGEST;
    if (area == NULL)
        area = check_alloc(2 * *size);
    *dest = area;
    *source = area + *size;
}

/* One kind of collective: blocks of nelems elements in source and in dest, and
 * the seed of each. */
struct check_move {
    const struct check_symbol *s;
    bool rooted;
    size_t sources, dests; /* blocks */
    bool uneven;           /* PEs give different numbers of elements */
};

/* The number of a PE's elements when the longest share is n. */
static inline size_t check_given(const struct check_move *m, size_t pe, size_t n)
{
    if (!m->uneven)
        return n;
    return pe % 3 == 1 ? 0 : n - pe % 2 * (n / 2);
}

static inline struct check_move check_move_of(const struct check_symbol *s)
{
    size_t n = (size_t)check.n;
    if (strcmp(s->family, "broadcast") == 0)
        return (struct check_move){s, true, 1, 1, false};
    if (strcmp(s->family, "fcollect") == 0)
        return (struct check_move){s, false, 1, n, false};
    if (strcmp(s->family, "collect") == 0)
        return (struct check_move){s, false, 1, n, true};
    if (strcmp(s->family, "alltoall") == 0)
        return (struct check_move){s, false, n, n, false};
    fprintf(stderr, "%s: no model for %s\n", s->name, s->family);
    shmem_global_exit(1);
    abort();
}

/* Seed of block number `block` of a PE's source. */
static inline uint64_t check_block(int pe, size_t block, size_t nelems, size_t round)
{
    return check_seed(pe, nelems, 64 * (block + 1) + round);
}

static inline void check_move_fill(const struct check_move *m, char *source, size_t n, size_t round)
{
    for (size_t b = 0; b < m->sources; b++)
        check_fill(m->s->type, source + b * n * m->s->type->size, n,
                   check_block(check.me, b, n, round));
}

static inline void check_move_call(const struct check_move *m, char *dest, const char *source,
                                   size_t n, int root)
{
    size_t given = check_given(m, (size_t)check.me, n);
    struct check_call c = {.team = SHMEM_TEAM_WORLD,
                           .dest = dest,
                           /*
                            * A PE that contributes no elements to a collect need not pass an array.
                            */
                           .source = m->uneven && given == 0 ? NULL : source,
                           .nelems = given,
                           .PE_root = root,
                           .answer = -1};
    m->s->call(&c);
    CHECK(c.answer == 0, "%zu elements: returned %d, expected 0", n, c.answer);
}

static inline void check_move_verify(const struct check_move *m, const char *dest, size_t n,
                                     int root, size_t round, const char *what)
{
    for (size_t b = 0; b < m->dests; b++) {
        int pe = m->rooted ? root : (int)b;
        size_t block = m->sources > 1 ? (size_t)check.me : 0, given = check_given(m, b, n);
        check_filled(m->s->type, dest, given, check_block(pe, block, n, round), what);
        dest += given * m->s->type->size;
    }
}

/* No elements at NULL on every PE: 0, and nothing is read or written. */
static inline void check_collective_null(const struct check_symbol *s)
{
    struct check_call c = {.team = SHMEM_TEAM_WORLD, .dst = 1, .sst = 1, .answer = -1};
    s->call(&c);
    CHECK(c.answer == 0, "no elements at NULL: returned %d, expected 0", c.answer);
    shmem_barrier_all();
}

/* The elements of alltoalls lie apart; the bytes between them stay unchanged. */
static inline void check_alltoalls(const struct check_symbol *s)
{
    enum { DST = 3, SST = 2 };
    char *dest, *source;
    size_t area, size = s->type->size, pes = (size_t)check.n;
    check_areas(&dest, &source, &area);
    check_collective_null(s);
    for (size_t l = 0; l < CHECK_LENGTHS; l++) {
        size_t n, end;
        if (!check_length(l, check_few, CHECK_FEW, size, &n))
            continue;
        n /= DST;
        end = pes * n * DST * size;
        memset(dest, CHECK_SENTINEL, CHECK_GUARD + end + CHECK_GUARD);
        for (size_t i = 0; i < pes * n; i++)
            check_fill(s->type, source + i * SST * size, 1, check_block(check.me, i, n, 0));
        shmem_barrier_all();
        struct check_call c = {.team = SHMEM_TEAM_WORLD,
                               .dest = dest + CHECK_GUARD,
                               .source = source,
                               .dst = DST,
                               .sst = SST,
                               .nelems = n,
                               .answer = -1};
        s->call(&c);
        CHECK(c.answer == 0, "%zu elements: returned %d, expected 0", n, c.answer);
        check_untouched(dest, 0, CHECK_GUARD, "before");
        for (size_t i = 0; i < pes * n; i++) {
            size_t at = CHECK_GUARD + i * DST * size;
            size_t place = (size_t)check.me * n + i % n; /* in the source of PE i / n */
            check_filled(s->type, dest + at, 1, check_block((int)(i / n), place, n, 0), "apart");
            check_untouched(dest, at + size, at + DST * size, "between");
        }
        check_untouched(dest, CHECK_GUARD + end, CHECK_GUARD + end + CHECK_GUARD, "after");
        shmem_barrier_all();
    }
}

static inline void check_move(const struct check_symbol *s)
{
    if (strcmp(s->family, "alltoalls") == 0) {
        check_alltoalls(s);
        return;
    }
    struct check_move m = check_move_of(s);
    char *dest, *source;
    size_t area;
    check_areas(&dest, &source, &area);
    char *to = dest + CHECK_GUARD;
    check_collective_null(s);
    for (size_t l = 0; l < CHECK_LENGTHS; l++) {
        size_t n, size = s->type->size;
        if (!check_length(l, check_few, CHECK_FEW, size, &n))
            continue;
        for (int root = 0; root < (m.rooted ? check.n : 1); root++) {
            size_t end = CHECK_GUARD;
            for (size_t b = 0; b < m.dests; b++)
                end += check_given(&m, b, n) * size;
            memset(dest, CHECK_SENTINEL, end + CHECK_GUARD);
            check_move_fill(&m, source, n, 0);
            shmem_barrier_all();
            check_move_call(&m, to, source, n, root);
            check_move_verify(&m, to, n, root, 0, "alone");
            check_untouched(dest, 0, CHECK_GUARD, "before");
            check_untouched(dest, end, end + CHECK_GUARD, "after");
            /* The source may be reused once the call has returned, but not the destination: a
             * slower PE may still be writing there. */
            check_move_fill(&m, source, n, 1);
            shmem_barrier_all();
        }
    }
    const size_t n = 7, room = (size_t)check.n * n * s->type->size;
    for (size_t round = 0; round < CHECK_ROW; round++)
        check_move_fill(&m, source + round * room, n, round);
    shmem_barrier_all();
    for (size_t round = 0; round < CHECK_ROW; round++)
        check_move_call(&m, to + round * room, source + round * room, n, (int)round % check.n);
    for (size_t round = 0; round < CHECK_ROW; round++)
        check_move_verify(&m, to + round * room, n, (int)round % check.n, round, "in a row");
    shmem_barrier_all();
}

#endif
