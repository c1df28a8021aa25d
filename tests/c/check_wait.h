/*
 * check_wait.h: wait_until and test with every comparison of the values at the edges of the type,
 * and with a value that another PE writes during the call.
 */
#ifndef CHECK_WAIT_H
#define CHECK_WAIT_H

#include "check.h"

#include <sched.h>

static const int check_cmps[] = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT,
                                 SHMEM_CMP_GE, SHMEM_CMP_LT, SHMEM_CMP_LE};
static const char *const check_cmp_names[] = {"==", "!=", ">", ">=", "<", "<="};
enum { CHECK_CMPS = 6, CHECK_EDGES = 6 };

static inline bool check_compares(const struct check_type *t, uint64_t a, int cmp, uint64_t b)
{
    bool less = t->kind == CHECK_SIGNED ? (int64_t)a < (int64_t)b : a < b;
    if (cmp == SHMEM_CMP_EQ)
        return a == b;
    if (cmp == SHMEM_CMP_NE)
        return a != b;
    if (cmp == SHMEM_CMP_LT)
        return less;
    if (cmp == SHMEM_CMP_LE)
        return less || a == b;
    if (cmp == SHMEM_CMP_GT)
        return !less && a != b;
    return !less;
}

/* The i-th edge value, as check_load gives it. */
static inline uint64_t check_edge(const struct check_type *t, int i)
{
    uint64_t top = (uint64_t)1 << (8 * t->size - 1);
    const uint64_t edges[CHECK_EDGES] = {0, 1, top - 1, top, top + 1, top | (top - 1)};
    char at[8];
    check_store(t, at, edges[i]);
    return check_load(t, at);
}

/* The symbol's result; the only result of wait_until is that it returns. */
static inline int check_ask(const struct check_symbol *s, void *ivar, int cmp, uint64_t value)
{
    struct check_call c = {.ivar = ivar, .cmp = cmp, .cmp_value = &value, .answer = 1};
    s->call(&c);
    return c.answer;
}

/* only: the one comparison that the symbol has, or -1. */
static inline void check_asked_for(const struct check_symbol *s, bool waits, int only)
{
    static uint64_t *ivar; /* symmetric */
    const struct check_type *t = s->type;
    if (ivar == NULL)
        ivar = check_alloc(sizeof *ivar);
    for (int k = 0; k < CHECK_CMPS * CHECK_EDGES * CHECK_EDGES; k++) {
        int c = k % CHECK_CMPS;
        uint64_t a = check_edge(t, k / CHECK_CMPS % CHECK_EDGES);
        uint64_t b = check_edge(t, k / CHECK_CMPS / CHECK_EDGES);
        bool want = check_compares(t, a, check_cmps[c], b);
        if ((waits && !want) || (only >= 0 && check_cmps[c] != only))
            continue;
        check_store(t, ivar, a);
        int got = check_ask(s, ivar, check_cmps[c], b);
        CHECK(got == want, "0x%jx %s 0x%jx: expected %d, got %d", (uintmax_t)a, check_cmp_names[c],
              (uintmax_t)b, want, got);
    }
    /* The left neighbour writes a value that makes the comparison true. */
    for (int k = 0; k < CHECK_CMPS * CHECK_EDGES * CHECK_EDGES; k++) {
        int c = k % CHECK_CMPS;
        uint64_t first = check_edge(t, k / CHECK_CMPS % CHECK_EDGES);
        uint64_t then = check_edge(t, k / CHECK_CMPS / CHECK_EDGES);
        uint64_t value = c == 0 ? then : c == 1 ? first : check_edge(t, 2);
        if (check_compares(t, first, check_cmps[c], value) ||
            !check_compares(t, then, check_cmps[c], value) || (only >= 0 && check_cmps[c] != only))
            continue;
        check_store(t, ivar, first);
        shmem_barrier_all();
        int right = (check.me + 1) % check.n;
        if (t->size == 2)
            shmem_uint16_p((uint16_t *)ivar, (uint16_t)then, right);
        else if (t->size == 4)
            shmem_uint32_p((uint32_t *)ivar, (uint32_t)then, right);
        else
            shmem_uint64_p(ivar, then, right);
        /* With more PEs than cores, a PE that only tests keeps the writer from running. */
        while (check_ask(s, ivar, check_cmps[c], value) != 1)
            sched_yield();
        CHECK(check_load(t, ivar) == then, "%s 0x%jx: ended with 0x%jx, expected 0x%jx",
              check_cmp_names[c], (uintmax_t)value, (uintmax_t)check_load(t, ivar),
              (uintmax_t)then);
        shmem_barrier_all();
    }
}

static inline void check_asked(const struct check_symbol *s, bool waits)
{
    check_asked_for(s, waits, -1);
}

static inline void check_wait(const struct check_symbol *s)
{
    check_asked(s, true);
}

/* The waits without a comparison: they wait for a change. */
static inline void check_change(const struct check_symbol *s)
{
    check_asked_for(s, true, SHMEM_CMP_NE);
}

static inline void check_test(const struct check_symbol *s)
{
    check_asked(s, false);
}

#endif
