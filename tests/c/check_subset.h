/*
 * check_subset.h: the results of collectives that move data on active sets, at every PE, for each
 * set, in several lengths, and on one set after the other without a barrier between them.
 */
#ifndef CHECK_SUBSET_H
#define CHECK_SUBSET_H

#include "check_sets.h"

struct check_subset {
    const struct check_symbol *s;
    struct check_set set;
    int kind, root;
    size_t n; /* elements */
    size_t round;
    ptrdiff_t dst, sst;
};

static inline bool check_subset_is(const struct check_subset *u, const char *family)
{
    return strcmp(u->s->family, family) == 0;
}

static inline bool check_subset_exchanges(const struct check_subset *u)
{
    return check_subset_is(u, "alltoall") || check_subset_is(u, "alltoalls");
}

static inline size_t check_subset_given(const struct check_subset *u, int rank)
{
    if (!check_subset_is(u, "collect"))
        return u->n;
    return rank % 3 == 1 ? 0 : u->n - (size_t)rank % 2 * (u->n / 2);
}

/* The data of a PE for the rank-th PE of the set, or for all. */
static inline uint64_t check_subset_seed(const struct check_subset *u, int pe, int rank)
{
    return check_block(pe, check_subset_exchanges(u) ? (size_t)rank : 0, u->n, u->round);
}

/* Moves n elements between an array without gaps and one with a stride. */
static inline void check_spread(const struct check_subset *u, char *at, ptrdiff_t stride, size_t n,
                                char *dense, bool out)
{
    size_t size = u->s->type->size;
    for (size_t i = 0; i < n; i++) {
        char *one = at + i * (size_t)stride * size;
        memcpy(out ? one : dense + i * size, out ? dense + i * size : one, size);
    }
}

static char check_dense[CHECK_LONGEST];

static inline void check_subset_fill(const struct check_subset *u, char *source)
{
    size_t step = u->n * (size_t)u->sst * u->s->type->size;
    for (int rank = 0; rank < (check_subset_exchanges(u) ? u->set.size : 1); rank++) {
        check_fill(u->s->type, check_dense, u->n, check_subset_seed(u, check.me, rank));
        check_spread(u, source + (size_t)rank * step, u->sst, u->n, check_dense, true);
    }
}

static inline void check_subset_call(const struct check_subset *u, char *dest, char *source)
{
    struct check_call c = {.dest = dest,
                           .source = source,
                           .dst = u->dst,
                           .sst = u->sst,
                           .nelems = check_subset_given(u, u->set.rank),
                           .PE_root = u->root,
                           .PE_start = u->set.start,
                           .logPE_stride = u->set.log_stride,
                           .PE_size = u->set.size,
                           .pSync = check_sync(u->kind)};
    if (u->set.rank >= 0)
        u->s->call(&c);
}

/* Bytes of dest that the call writes, gaps included. */
static inline size_t check_subset_written(const struct check_subset *u)
{
    size_t elements = 0;
    if (u->set.rank < 0 || (check_subset_is(u, "broadcast") && u->set.rank == u->root))
        return 0;
    for (int rank = 0; rank < u->set.size; rank++)
        elements += check_subset_given(u, rank);
    if (check_subset_is(u, "broadcast"))
        elements = u->n;
    return elements == 0 ? 0 : ((elements - 1) * (size_t)u->dst + 1) * u->s->type->size;
}

static inline void check_subset_verify(const struct check_subset *u, char *dest)
{
    if (check_subset_written(u) == 0)
        return;
    bool one = check_subset_is(u, "broadcast");
    for (int rank = one ? u->root : 0; rank < (one ? u->root + 1 : u->set.size); rank++) {
        size_t given = check_subset_given(u, rank);
        int pe = check_set_pe(&u->set, rank);
        check_spread(u, dest, u->dst, given, check_dense, false);
        check_filled(u->s->type, check_dense, given, check_subset_seed(u, pe, u->set.rank),
                     "on a set");
        dest += given * (size_t)u->dst * u->s->type->size;
    }
}

static inline struct check_subset check_subset_of(const struct check_symbol *s, int kind, size_t n,
                                                  int root)
{
    struct check_subset u = {s, check_set(kind), kind, root, n, (size_t)kind, 1, 1};
    if (check_subset_is(&u, "alltoalls")) {
        u.dst = 3;
        u.sst = 2;
        u.n /= 3;
    }
    return u;
}

/* No elements at NULL, on each set: nothing is read or written. */
static inline void check_subset_null(const struct check_symbol *s)
{
    for (int kind = 0; kind < CHECK_SETS; kind++) {
        struct check_subset u = check_subset_of(s, kind, 0, 0);
        check_subset_call(&u, NULL, NULL);
        check_sync_restored(kind);
    }
    shmem_barrier_all();
}

static inline void check_subset(const struct check_symbol *s)
{
    char *dest, *source;
    size_t area;
    check_areas(&dest, &source, &area);
    check_subset_null(s);
    for (size_t l = 0; l < CHECK_LENGTHS; l++) {
        size_t n;
        if (!check_length(l, check_few, CHECK_FEW, s->type->size, &n))
            continue;
        for (int kind = 0; kind < CHECK_SETS; kind++) {
            int roots = strcmp(s->family, "broadcast") == 0 ? check_set(kind).size : 1;
            for (int root = 0; root<roots; root += roots> 3 ? roots / 3 : 1) {
                struct check_subset u = check_subset_of(s, kind, n, root);
                memset(dest, CHECK_SENTINEL, CHECK_GUARD + check_subset_written(&u) + CHECK_GUARD);
                check_subset_fill(&u, source);
                shmem_barrier_all();
                check_subset_call(&u, dest + CHECK_GUARD, source);
                check_sync_restored(kind);
                shmem_barrier_all();
                check_subset_verify(&u, dest + CHECK_GUARD);
                size_t end = CHECK_GUARD + check_subset_written(&u);
                check_untouched(dest, 0, CHECK_GUARD, "before");
                check_untouched(dest, end, end + CHECK_GUARD, "after");
                shmem_barrier_all();
            }
        }
    }
    /* One set after the other, each with arrays of its own: PEs run ahead. */
    const size_t n = 7, room = (size_t)check.n * n * 3 * s->type->size;
    struct check_subset u[CHECK_SETS];
    for (int kind = 0; kind < CHECK_SETS; kind++) {
        u[kind] = check_subset_of(s, kind, n, 0);
        check_subset_fill(&u[kind], source + (size_t)kind * room);
    }
    shmem_barrier_all();
    for (int kind = 0; kind < CHECK_SETS; kind++)
        check_subset_call(&u[kind], dest + (size_t)kind * room, source + (size_t)kind * room);
    for (int kind = 0; kind < CHECK_SETS; kind++)
        check_subset_verify(&u[kind], dest + (size_t)kind * room);
    shmem_barrier_all();
}

#endif
