/*
 * check_atomic.h: atomics against a model, first one at a time in every
 * pattern, then from all PEs at once on one word of PE 0. Floating-point values
 * are only moved, so the model sees their bits.
 */
#ifndef CHECK_ATOMIC_H
#define CHECK_ATOMIC_H

#include "check.h"

/* Odd, so that a bit toggled this often ends as set. */
enum { CHECK_TIMES = 51 };

enum check_op {
    CHECK_OP_FETCH,
    CHECK_OP_SET,
    CHECK_OP_CSWAP,
    CHECK_OP_SWAP,
    CHECK_OP_INC,
    CHECK_OP_ADD,
    CHECK_OP_AND,
    CHECK_OP_OR,
    CHECK_OP_XOR
};

struct check_amo {
    const struct check_symbol *s;
    enum check_op op;
    bool fetches;
    uint64_t mask;  /* of the type's bits */
    uint64_t *area; /* symmetric: sentinel, object, sentinel, then totals of each PE */
};

static inline struct check_amo check_amo_of(const struct check_symbol *s)
{
    static const struct {
        const char *family;
        enum check_op op;
        bool fetches;
    } ops[] = {{"atomic_fetch", CHECK_OP_FETCH, true},        {"atomic_set", CHECK_OP_SET, false},
               {"atomic_compare_swap", CHECK_OP_CSWAP, true}, {"atomic_swap", CHECK_OP_SWAP, true},
               {"atomic_fetch_inc", CHECK_OP_INC, true},      {"atomic_inc", CHECK_OP_INC, false},
               {"atomic_fetch_add", CHECK_OP_ADD, true},      {"atomic_add", CHECK_OP_ADD, false},
               {"atomic_fetch_and", CHECK_OP_AND, true},      {"atomic_and", CHECK_OP_AND, false},
               {"atomic_fetch_or", CHECK_OP_OR, true},        {"atomic_or", CHECK_OP_OR, false},
               {"atomic_fetch_xor", CHECK_OP_XOR, true},      {"atomic_xor", CHECK_OP_XOR, false}};
    static uint64_t *area;
    if (area == NULL)
        area = check_alloc((3 + 2 * (size_t)check.n) * sizeof *area);
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (strcmp(ops[i].family, s->family) == 0)
            return (struct check_amo){s, ops[i].op, ops[i].fetches,
                                      ~(uint64_t)0 >> (64 - 8 * s->type->size), area};
    }
    fprintf(stderr, "%s: no model for %s\n", s->name, s->family);
    shmem_global_exit(1);
    abort();
}

/* The new value of the object. */
static inline uint64_t check_amo_model(const struct check_amo *a, uint64_t old, uint64_t value,
                                       uint64_t cond)
{
    switch (a->op) {
    case CHECK_OP_FETCH:
        return old;
    case CHECK_OP_SET:
    case CHECK_OP_SWAP:
        return value;
    case CHECK_OP_CSWAP:
        return old == cond ? value : old;
    case CHECK_OP_INC:
        return (old + 1) & a->mask;
    case CHECK_OP_ADD:
        return (old + value) & a->mask;
    case CHECK_OP_AND:
        return old & value;
    case CHECK_OP_OR:
        return old | value;
    default:
        return old ^ value;
    }
}

/* Performs the operation on PE pe; returns the old value, if it fetches one. */
static inline uint64_t check_amo_do(const struct check_amo *a, uint64_t value, uint64_t cond,
                                    int pe)
{
    uint64_t around[3], fetched = 0;
    memset(around, CHECK_SENTINEL, sizeof around);
    struct check_call c = {.dest = a->area + 1,
                           .source = a->area + 1,
                           .value = &value,
                           .cond = &cond,
                           .fetch = around + 1,
                           .result = around + 1,
                           .pe = pe};
    a->s->call(&c);
    if (a->s->flags & CHECK_NBI)
        check_quiet(a->s);
    memcpy(&fetched, around + 1, a->s->type->size);
    check_untouched(around, 0, 8, "before what was fetched");
    check_untouched(around, 8 + a->s->type->size, sizeof around, "behind what was fetched");
    return fetched;
}

static inline void check_amo_reset(const struct check_amo *a, uint64_t initial)
{
    memset(a->area, CHECK_SENTINEL, 3 * sizeof *a->area);
    memcpy(a->area + 1, &initial, a->s->type->size);
}

static inline uint64_t check_amo_object(const struct check_amo *a)
{
    uint64_t bits = 0;
    memcpy(&bits, a->area + 1, a->s->type->size);
    return bits;
}

static inline uint64_t check_real_bits(size_t size, long double value)
{
    char at[sizeof value];
    uint64_t bits = 0;
    check_store_real(size, at, value);
    memcpy(&bits, at, size);
    return bits;
}

/* Initial value, operand and condition of a round, the same on every PE. */
struct check_amo_case {
    uint64_t initial, value, cond;
};

static inline struct check_amo_case check_amo_round(const struct check_amo *a, int round)
{
    struct check_amo_case c = {0, 0, 0};
    size_t size = a->s->type->size;
    if (a->s->type->kind == CHECK_REAL) {
        static const long double values[] = {0, -1.5L, 3.25e10L, -0x1p-100L};
        c.initial = check_real_bits(size, values[round]);
        c.value = check_real_bits(size, values[(round + 1) % 4]);
        return c;
    }
    uint64_t high = a->mask ^ (a->mask >> 1);
    const uint64_t initials[] = {0, a->mask, high, check_mix(check.current)};
    const uint64_t values[] = {a->mask, 1, high, check_mix(check.current + 1000)};
    c.initial = initials[round] & a->mask;
    c.value = values[round] & a->mask;
    /* In every second round the condition does not match. */
    c.cond = round % 2 ? c.initial : c.initial ^ 1;
    return c;
}

static inline void check_amo_alone(const struct check_amo *a)
{
    for (int p = 0; p < check_patterns(a->s); p++) {
        for (int round = 0; round < 4; round++) {
            struct check_amo_case k = check_amo_round(a, round);
            check_amo_reset(a, k.initial);
            check_barrier(a->s);
            int pe, end;
            for (check_targets(p, &pe, &end); pe < end; pe++) {
                uint64_t old = check_amo_do(a, k.value, k.cond, pe);
                CHECK(!a->fetches || old == k.initial,
                      "%s, old value at PE %d: expected 0x%jx, got 0x%jx", check_pattern_names[p],
                      pe, (uintmax_t)k.initial, (uintmax_t)old);
            }
            check_barrier(a->s);
            uint64_t want = check_amo_model(a, k.initial, k.value, k.cond);
            CHECK(check_amo_object(a) == want, "%s, new value: expected 0x%jx, got 0x%jx",
                  check_pattern_names[p], (uintmax_t)want, (uintmax_t)check_amo_object(a));
            check_untouched(a->area, 0, 8, check_pattern_names[p]);
            check_untouched(a->area, 8 + a->s->type->size, 24, check_pattern_names[p]);
            check_barrier(a->s);
        }
    }
}

/* A value that only this PE writes, and only in this round: a whole number, which a float
 * represents exactly. */
static inline uint64_t check_amo_own(const struct check_amo *a, int pe, int turn)
{
    uint64_t number = (uint64_t)pe * CHECK_TIMES + (uint64_t)turn + 1;
    if (a->s->type->kind == CHECK_REAL)
        return check_real_bits(a->s->type->size, (long double)number);
    return number;
}

/* All PEs at once on PE 0. given and taken are sums over the values that went in and came out;
 * PE 0's final value must account for all of them. The bitwise operations give each PE a bit of
 * its own, which suffices for 32 PEs. */
static inline void check_amo_together(const struct check_amo *a)
{
    uint64_t n = (uint64_t)check.n, bit = (uint64_t)1 << (check.me % (int)(8 * a->s->type->size));
    bool bitwise = a->op == CHECK_OP_AND || a->op == CHECK_OP_OR || a->op == CHECK_OP_XOR;
    uint64_t initial = a->op == CHECK_OP_AND ? a->mask : 0;
    uint64_t given = 0, taken = 0, guess = 0;
    check_amo_reset(a, initial);
    check_barrier(a->s);
    for (int i = 0; i < CHECK_TIMES; i++) {
        uint64_t value = check_amo_own(a, check.me, i), old;
        if (a->op == CHECK_OP_CSWAP) {
            while ((old = check_amo_do(a, guess + 1, guess, 0)) != guess)
                guess = old;
            guess++;
            continue;
        }
        if (bitwise)
            value = a->op == CHECK_OP_AND ? a->mask & ~bit : bit;
        else if (a->op == CHECK_OP_ADD)
            value = 3;
        given += value;
        old = check_amo_do(a, value, 0, 0);
        taken += old;
        if (bitwise && a->fetches) {
            bool was = (old & bit) != 0;
            bool want = a->op == CHECK_OP_AND ? i == 0 : a->op == CHECK_OP_OR ? i > 0 : i % 2 != 0;
            CHECK(was == want, "all to PE 0, turn %d: own bit was %d, expected %d", i, was, want);
        }
    }
    shmem_putmem(a->area + 3 + 2 * check.me, (uint64_t[]){given, taken}, 16, 0);
    check_barrier(a->s);
    if (check.me != 0)
        return;
    given = taken = 0;
    uint64_t bits = 0, object = check_amo_object(a), total = n * CHECK_TIMES;
    for (uint64_t pe = 0; pe < n; pe++) {
        given += a->area[3 + 2 * pe];
        taken += a->area[4 + 2 * pe];
        bits |= (uint64_t)1 << (pe % (8 * a->s->type->size));
    }
    uint64_t want = object, sum = taken;
    switch (a->op) {
    case CHECK_OP_FETCH:
        want = sum = 0;
        break;
    case CHECK_OP_SET: {
        bool last = false;
        for (int pe = 0; pe < check.n; pe++)
            last |= object == check_amo_own(a, pe, CHECK_TIMES - 1);
        CHECK(last, "all to PE 0: 0x%jx is not the last value of any PE", (uintmax_t)object);
        break;
    }
    case CHECK_OP_SWAP:
        sum = given - object;
        break;
    case CHECK_OP_CSWAP:
        want = total;
        sum = 0;
        break;
    case CHECK_OP_INC:
        want = total;
        sum = total * (total - 1) / 2;
        break;
    case CHECK_OP_ADD:
        want = 3 * total;
        sum = 3 * (total * (total - 1) / 2);
        break;
    case CHECK_OP_AND:
        want = a->mask & ~bits;
        break;
    case CHECK_OP_OR:
    case CHECK_OP_XOR:
        want = bits;
        break;
    }
    CHECK(object == want, "all to PE 0: expected 0x%jx, got 0x%jx", (uintmax_t)want,
          (uintmax_t)object);
    CHECK(!a->fetches || taken == sum, "all to PE 0, sum of old values: expected 0x%jx, got 0x%jx",
          (uintmax_t)sum, (uintmax_t)taken);
}

static inline void check_atomic(const struct check_symbol *s)
{
    struct check_amo a = check_amo_of(s);
    check_amo_alone(&a);
    check_amo_together(&a);
    check_barrier(s);
}

#endif
