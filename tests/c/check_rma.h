/*
 * check_rma.h: put and get in every pattern and length, with sentinels around
 * the destination, and with a source that is overwritten as soon as it may be.
 */
#ifndef CHECK_RMA_H
#define CHECK_RMA_H

#include "check.h"

static const size_t check_lengths[] = {0, 1, 7, 1000};
enum {
    CHECK_LENGTHS = sizeof check_lengths / sizeof check_lengths[0],
    CHECK_AREA = 2 * CHECK_GUARD + 1000 * 16
};

/* A symmetric area with room for the longest array and its surroundings, the
 * same one for every symbol. */
static inline char *check_area(void)
{
    static char *area;
    if (area == NULL)
        area = check_alloc(CHECK_AREA);
    return area;
}

static inline void check_put(const struct check_symbol *s)
{
    static char source[1000 * 16] __attribute__((aligned(16)));
    char *area = check_area(), *dest = area + CHECK_GUARD;
    const struct check_type *t = s->type;
    for (int p = 0; p < CHECK_PATTERNS; p++) {
        for (int l = 0; l < CHECK_LENGTHS; l++) {
            size_t n = check_lengths[l];
            if (s->flags & CHECK_SINGLE && n != 1)
                continue;
            memset(area, CHECK_SENTINEL, CHECK_AREA);
            shmem_barrier_all();
            int pe, end;
            for (check_targets(p, &pe, &end); pe < end; pe++) {
                check_fill(t, source, n, check_seed(check.me, n, (size_t)pe));
                struct check_call c = {
                    .dest = dest, .source = source, .value = source, .nelems = n, .pe = pe};
                s->call(&c);
                if (s->flags & CHECK_NBI)
                    shmem_quiet();
                memset(source, 0, sizeof source);
            }
            shmem_barrier_all();
            const char *what = check_pattern_names[p];
            check_filled(t, dest, n, check_seed(check_origin(p), n, (size_t)check.me), what);
            check_untouched(area, 0, CHECK_GUARD, what);
            check_untouched(area, CHECK_GUARD + n * t->size, CHECK_AREA, what);
        }
    }
    shmem_barrier_all();
}

static inline void check_get(const struct check_symbol *s)
{
    static char local[CHECK_AREA] __attribute__((aligned(16)));
    char *source = check_area(), *dest = local + CHECK_GUARD;
    const struct check_type *t = s->type;
    for (int l = 0; l < CHECK_LENGTHS; l++) {
        size_t n = check_lengths[l];
        if (s->flags & CHECK_SINGLE && n != 1)
            continue;
        shmem_barrier_all();
        check_fill(t, source, n, check_seed(check.me, n, 0));
        shmem_barrier_all();
        for (int p = 0; p < CHECK_PATTERNS; p++) {
            int pe, end;
            for (check_targets(p, &pe, &end); pe < end; pe++) {
                memset(local, CHECK_SENTINEL, sizeof local);
                struct check_call c = {
                    .dest = dest, .result = dest, .source = source, .nelems = n, .pe = pe};
                s->call(&c);
                if (s->flags & CHECK_NBI)
                    shmem_quiet();
                const char *what = check_pattern_names[p];
                check_filled(t, dest, n, check_seed(pe, n, 0), what);
                check_untouched(local, 0, CHECK_GUARD, what);
                check_untouched(local, CHECK_GUARD + n * t->size, CHECK_AREA, what);
            }
        }
    }
    shmem_barrier_all();
}

#endif
