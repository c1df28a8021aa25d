/*
 * check_set.h: wait_until and test over arrays. First on values that do not change, against a
 * model, with every comparison, length and kind of mask; then on words that all PEs write at the
 * same time.
 */
#ifndef CHECK_SET_H
#define CHECK_SET_H

#include "check_wait.h"

enum { CHECK_SET_MAX = 600, CHECK_SET_ROUNDS = 1, CHECK_MASKS = 4 };

/* The condition in a symbol's name. */
struct check_set {
    const struct check_symbol *s;
    bool waits, each;
    char quorum; /* a: all, y: any, s: some */
};

static inline struct check_set check_set_of(const struct check_symbol *s)
{
    struct check_set q = {.s = s, .waits = strncmp(s->family, "wait_until_", 11) == 0};
    const char *name = s->family + (q.waits ? 11 : 5);
    q.quorum = name[0] == 's' ? 's' : name[1] == 'n' ? 'y' : 'a';
    q.each = strstr(name, "_vector") != NULL;
    return q;
}

/* Arguments and result of one call. */
struct check_asked {
    void *ivars;
    size_t n;
    const int *status;
    int cmp;
    const uint64_t *values; /* n of them, as check_load gives them */
    size_t indices[CHECK_SET_MAX];
    size_t count;
    int answer;
};

static inline void check_set_call(const struct check_set *q, struct check_asked *a)
{
    static char packed[CHECK_SET_MAX * 8 + 8];
    const struct check_type *t = q->s->type;
    for (size_t i = 0; i < a->n; i++)
        check_store(t, packed + i * t->size, a->values[i]);
    memset(a->indices, 0xff, sizeof a->indices);
    struct check_call c = {.ivars = a->ivars,
                           .nelems = a->n,
                           .indices = a->indices,
                           .status = a->status,
                           .cmp = a->cmp,
                           .cmp_value = packed,
                           .cmp_values = packed,
                           .answer = -1,
                           .count = SIZE_MAX - 1};
    q->s->call(&c);
    a->count = c.count;
    a->answer = c.answer;
}

static inline bool check_in(const struct check_asked *a, size_t i)
{
    return a->status == NULL || a->status[i] == 0;
}

static inline bool check_set_holds(const struct check_set *q, const struct check_asked *a, size_t i)
{
    const struct check_type *t = q->s->type;
    uint64_t now = check_load(t, (char *)a->ivars + i * t->size);
    return check_in(a, i) && check_compares(t, now, a->cmp, a->values[i]);
}

/* Compares the result with the present values; members are in the set, hold also satisfy the
 * comparison. */
static inline void check_set_answer(const struct check_set *q, const struct check_asked *a,
                                    size_t members, size_t hold)
{
    size_t n = a->n;
    if (q->quorum == 'a') {
        int want = q->waits ? -1 : members == hold;
        CHECK(a->answer == want, "%zu elements, %zu of %zu hold: answered %d, expected %d", n, hold,
              members, a->answer, want);
    } else if (q->quorum == 'y') {
        bool right =
            hold == 0 ? a->count == SIZE_MAX : a->count < n && check_set_holds(q, a, a->count);
        CHECK(right, "%zu elements, %zu of %zu hold: answered index %zu", n, hold, members,
              a->count);
    } else {
        CHECK(a->count == hold, "%zu elements: answered %zu, %zu of %zu hold", n, a->count, hold,
              members);
        for (size_t k = 0; k < a->count && k < n; k++)
            CHECK(a->indices[k] < n && check_set_holds(q, a, a->indices[k]) &&
                      (k == 0 || a->indices[k - 1] < a->indices[k]),
                  "%zu elements: index %zu of the answer is %zu", n, k, a->indices[k]);
        CHECK(a->count >= n || a->indices[a->count] == SIZE_MAX,
              "%zu elements: wrote more indices than it answered", n);
    }
}

/* The masks: no mask, a mask of zeros, some words excluded, all excluded. */
static inline const int *check_mask(int kind, int *status, size_t n)
{
    static const int marks[] = {1, -1, 7, 1 << 30};
    for (size_t i = 0; i < n; i++) {
        uint64_t h = check_mix(i + 99);
        status[i] = kind == 3 || (kind == 2 && h % 3 == 0) ? marks[h / 3 % 4] : 0;
    }
    return kind == 0 ? NULL : status;
}

static inline void check_set_still(const struct check_set *q, void *ivars)
{
    static const size_t lengths[] = {0, 1, 2, 9, CHECK_SET_MAX};
    static uint64_t values[CHECK_SET_MAX];
    static int status[CHECK_SET_MAX];
    static struct check_asked a;
    const struct check_type *t = q->s->type;
    for (int k = 0; k < 5 * CHECK_MASKS * CHECK_CMPS * 3; k++) {
        size_t n = lengths[k % 5];
        int mask = k / 5 % CHECK_MASKS, cmp = check_cmps[k / 5 / CHECK_MASKS % CHECK_CMPS];
        int shape = k / 5 / CHECK_MASKS / CHECK_CMPS; /* 0: mixed, 1: all hold, 2: one does */
        if (n == CHECK_SET_MAX && (mask != 2 || cmp != SHMEM_CMP_GE))
            continue; /* filling it takes longer than the rest together */
        a = (struct check_asked){
            .ivars = ivars, .n = n, .cmp = cmp, .status = check_mask(mask, status, n)};
        a.values = values;
        uint64_t shared = check_edge(t, (int)(check_mix((uint64_t)k) % CHECK_EDGES));
        size_t members = 0, hold = 0;
        char *at = ivars;
        for (size_t i = 0; i < n; i++, at += t->size) {
            uint64_t h = check_mix((uint64_t)k * CHECK_SET_MAX + i);
            values[i] = q->each ? check_edge(t, (int)(h % CHECK_EDGES)) : shared;
            bool wanted = shape == 1 || i == n / 2;
            uint64_t now = check_edge(t, (int)(h / 8 % CHECK_EDGES));
            for (int e = 0; shape > 0 && e < CHECK_EDGES; e++)
                if (check_compares(t, check_edge(t, e), cmp, values[i]) == wanted)
                    now = check_edge(t, e);
            check_store(t, at, now);
            members += check_in(&a, i);
            hold += check_set_holds(q, &a, i);
        }
        if (q->waits && hold < (q->quorum == 'a' ? members : members > 0))
            continue;
        check_set_call(q, &a);
        check_set_answer(q, &a, members, hold);
    }
}

/* A word that always satisfies the comparison does not hide the others. */
static inline void check_set_fair(const struct check_set *q, void *ivars)
{
    enum { N = 7, CALLS = 3 * N };
    static struct check_asked a;
    uint64_t values[N] = {0};
    int status[N] = {0, 0, 1, 0, 0, 0, 0}, turns[N] = {0};
    memset(ivars, 0, N * q->s->type->size);
    for (int call = 0; call < CALLS; call++) {
        a = (struct check_asked){
            .ivars = ivars, .n = N, .status = status, .cmp = SHMEM_CMP_EQ, .values = values};
        check_set_call(q, &a);
        if (a.count < N)
            turns[a.count]++;
    }
    for (int i = 0; i < N; i++)
        CHECK((turns[i] > 0) == (status[i] == 0), "of %d answers %d are index %d", CALLS, turns[i],
              i);
}

static inline void check_set_write(const struct check_type *t, void *at, uint64_t value, int pe)
{
    if (t->size == 4)
        shmem_uint32_p(at, (uint32_t)value, pe);
    else
        shmem_uint64_p(at, value, pe);
}

/* Each PE writes its word of every PE, and each PE waits for all of them. The last word
 * satisfies the comparison from the start and is excluded. */
static inline void check_set_live(const struct check_set *q, char *ivars)
{
    static struct check_asked a;
    static int status[64];
    static uint64_t values[64];
    const struct check_type *t = q->s->type;
    size_t n = (size_t)check.n, seen = 0;
    if (n + 1 > sizeof status / sizeof status[0])
        abort();
    for (size_t i = 0; i <= n; i++) {
        values[i] = q->each ? 100 + i : 100;
        status[i] = i == n;
        check_store(t, ivars + i * t->size, i == n ? values[i] : 0);
    }
    shmem_barrier_all();
    for (int i = 1; i <= check.n; i++) {
        int pe = (check.me + i) % check.n;
        check_set_write(t, ivars + (size_t)check.me * t->size, values[check.me], pe);
    }
    while (seen < n) {
        a = (struct check_asked){.ivars = ivars, .n = n + 1, .status = status, .values = values};
        a.cmp = SHMEM_CMP_GE;
        check_set_call(q, &a);
        if (q->quorum == 'a') {
            seen = q->waits || a.answer == 1 ? n : 0;
        } else if (q->quorum == 'y' && a.count < n) {
            CHECK(status[a.count] == 0, "index %zu again", a.count);
            status[a.count] = 1;
            seen++;
        } else if (q->quorum == 's') {
            for (size_t k = 0; k < a.count && k < n; k++) {
                CHECK(a.indices[k] < n && status[a.indices[k]] == 0, "index %zu again",
                      a.indices[k]);
                status[a.indices[k] % n] = 1;
                seen++;
            }
        }
        if (!q->waits && seen < n)
            sched_yield();
    }
    for (size_t i = 0; i < n; i++)
        CHECK(check_load(t, ivars + i * t->size) == values[i], "word %zu was not written", i);
    shmem_barrier_all();
}

/* No elements at NULL: the set is empty. */
static inline void check_set_null(const struct check_set *q)
{
    struct check_call c = {.cmp = SHMEM_CMP_EQ, .cmp_value = &(uint64_t){0}, .answer = -1};
    q->s->call(&c);
    if (q->quorum == 'a')
        CHECK(c.answer == (q->waits ? -1 : 1), "no elements at NULL: answered %d", c.answer);
    else
        CHECK(c.count == (q->quorum == 'y' ? SIZE_MAX : 0), "no elements at NULL: answered %zu",
              c.count);
}

static inline void check_set(const struct check_symbol *s)
{
    static char *ivars; /* symmetric */
    struct check_set q = check_set_of(s);
    if (ivars == NULL)
        ivars = check_alloc(CHECK_SET_MAX * 8);
    check_set_null(&q);
    check_set_still(&q, ivars);
    if (q.quorum == 'y')
        check_set_fair(&q, ivars);
    for (int round = 0; round < CHECK_SET_ROUNDS; round++)
        check_set_live(&q, ivars);
}

#endif
