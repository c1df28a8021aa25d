/*
 * check.h: the shared parts of the C tests.
 *
 * A test program runs under any number of PEs, checks one symbol after the other on all of them,
 * and ends with one line of PE 0, "<family>: N passed, N failed", counting symbols. A symbol that
 * fails on any PE has failed. The checks themselves are in check_<kind>.h; a generated program
 * (zz_*.c) adds a table of symbols, each with a function that calls it.
 *
 * With the argument "whole" a generated program tries many more lengths: those around each limit at
 * which the library changes its path. With another one it checks the symbols that have the argument
 * in their names.
 */
#ifndef CHECK_H
#define CHECK_H

#include <shmem.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sentinel bytes on either side of the memory that a function may write. */
enum { CHECK_GUARD = 64, CHECK_SENTINEL = 0xA5 };

/* A program with many failures prints only its first ones. */
enum { CHECK_LINES = 3 };

enum check_kind { CHECK_RAW, CHECK_SIGNED, CHECK_UNSIGNED, CHECK_REAL, CHECK_COMPLEX };

struct check_type {
    const char *name;
    enum check_kind kind;
    size_t size;
    size_t used; /* bytes that carry the value: 10 of 16 in a long double */
};

/* The arguments of any function of the table, under the names in the table. */
struct check_call {
    void *dest;
    const void *source;
    const void *value;
    const void *cond;
    void *fetch;
    void *result; /* receives a function's result of the element type */
    int answer;   /* a result of type int */
    size_t count; /* a result of type size_t */
    size_t nelems;
    size_t nreduce;
    int pe;
    uint64_t *sig_addr;
    uint64_t signal;
    int sig_op;
    void *ivar;
    int cmp;
    const void *cmp_value;
    void *ivars;
    size_t *indices;
    const int *status;
    ptrdiff_t dst, sst;
    size_t bsize, nblocks;
    const void *cmp_values;
    shmem_team_t team;
    int PE_root;
    int PE_start, logPE_stride, PE_size;
    void *pWrk;
    long *pSync;
};

enum { CHECK_NBI = 1, CHECK_SINGLE = 2, CHECK_CTX = 4 };

struct check_symbol {
    const char *name;
    void (*call)(struct check_call *);
    void (*check)(const struct check_symbol *);
    const struct check_type *type;
    const char *family;
    int flags; /* CHECK_NBI, CHECK_SINGLE: one element, not an array, CHECK_CTX */
};

static struct {
    const char *family;
    const char *symbol;
    int me, n;
    size_t symbols;
    size_t current;
    unsigned char *failed; /* one flag for each symbol */
    bool whole;            /* also runs the checks that take minutes */
    size_t left;           /* the symbols that the argument leaves out */
    int lines;             /* printed for this symbol */
    /* A team of all PEs in reverse order, for symbols with a context. */
    shmem_team_t reverse;
    shmem_ctx_t ctx;
} check;

/* The number of a PE in the team of check.ctx. */
static inline int check_rank(int pe)
{
    return check.n - 1 - pe;
}

/* Starts the symbol-th of the family's symbols. */
static inline void check_start(size_t symbol, const char *name)
{
    check.current = symbol;
    check.symbol = name;
    check.lines = 0;
}

__attribute__((format(printf, 1, 2))) static inline void check_fail(const char *format, ...)
{
    check.failed[check.current] = 1;
    if (check.lines++ >= CHECK_LINES)
        return;
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    fprintf(stderr, "%s: PE %d: %s\n", check.symbol, check.me, text);
}

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            check_fail(__VA_ARGS__);                                                               \
    } while (0)

/* Joins the job. symbols is how many will be checked. */
static inline void check_open(const char *family, size_t symbols)
{
    shmem_init();
    check.family = family;
    check.me = shmem_my_pe();
    check.n = shmem_n_pes();
    check.symbols = symbols;
    check.failed = calloc(symbols, 1);
    if (check.failed == NULL)
        abort();
}

/* The neighbours of this PE in a ring. */
static inline int check_right(void)
{
    return (check.me + 1) % check.n;
}

static inline int check_left(void)
{
    return (check.me + check.n - 1) % check.n;
}

/* Symmetric memory, or the end of the test. */
static inline void *check_alloc(size_t size)
{
    void *p = shmem_malloc(size);
    if (p == NULL) {
        fprintf(stderr, "%s: PE %d: shmem_malloc(%zu) returned NULL\n", check.family, check.me,
                size);
        shmem_global_exit(1);
    }
    return p;
}

/* Counts the failures of all PEs on PE 0, prints the closing line, and leaves. */
static inline int check_close(void)
{
    size_t votes = check.symbols * (size_t)check.n;
    unsigned char *there = check_alloc(votes), *all = calloc(votes, 1);
    if (all == NULL)
        abort();
    shmem_putmem(there + check.symbols * (size_t)check.me, check.failed, check.symbols, 0);
    shmem_barrier_all();
    shmem_getmem(all, there, votes, 0); /* the heap may be in GPU memory */
    size_t failures = 0;
    for (size_t i = 0; i < check.symbols; i++) {
        bool failed = false;
        for (size_t pe = 0; pe < (size_t)check.n; pe++)
            failed |= all[pe * check.symbols + i] != 0;
        failures += failed;
    }
    free(all);
    int me = check.me;
    bool mine = memchr(check.failed, 1, check.symbols) != NULL;
    shmem_barrier_all();
    shmem_free(there);
    shmem_finalize();
    free(check.failed);
    if (me == 0)
        printf("%s: %zu passed, %zu failed\n", check.family, check.symbols - check.left - failures,
               failures);
    return me == 0 ? failures != 0 : mine;
}

/* ------------------------------------------------------------------ lengths */

/* The additional lengths of a whole run, in bytes: around the powers of two and around 4040, the
 * longest operand of a message. */
static const size_t check_bytes[] = {
    2,    3,    4,    5,    8,    12,   15,    16,    17,    24,    32,    33,
    48,   64,   65,   100,  128,  129,  255,   256,   257,   504,   511,   512,
    513,  520,  1023, 1024, 1025, 2040, 2048,  2049,  2056,  4039,  4040,  4041,
    4056, 4072, 4095, 4096, 4097, 8192, 16384, 32767, 32768, 32769, 65536, 65552,
};
enum { CHECK_BYTES = sizeof check_bytes / sizeof check_bytes[0], CHECK_MAX_BYTES = 65552 };

/* The l-th length in elements: one of the few of every run, then those of a whole run. When
 * several give the same number of elements, only the first counts. */
static inline bool check_length(size_t l, const size_t *few, size_t nfew, size_t size, size_t *n)
{
    if (l < nfew) {
        *n = few[l];
        return true;
    }
    *n = check_bytes[l - nfew] / size;
    return check.whole && *n > 0 && (l == nfew || check_bytes[l - nfew - 1] / size != *n);
}

/* ------------------------------------------------------------------- values */

/* A number that looks random and is the same on every PE. */
static inline uint64_t check_mix(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* The seed that distinguishes the contents of one array from those of all others. */
static inline uint64_t check_seed(int pe, size_t nelems, size_t round)
{
    return check_mix(check_mix(check.current * 64 + round) + nelems * 4096 + (uint64_t)pe);
}

/* Bits of an integer of the size at a place, extended as its kind says. */
static inline uint64_t check_load(const struct check_type *t, const void *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, t->size);
    if (t->kind == CHECK_SIGNED && t->size < 8 && bits >> (8 * t->size - 1))
        bits |= ~(uint64_t)0 << (8 * t->size);
    return bits;
}

static inline void check_store(const struct check_type *t, void *at, uint64_t bits)
{
    memcpy(at, &bits, t->size);
}

static inline long double check_load_real(size_t size, const void *at)
{
    float f;
    double d;
    long double l;
    switch (size) {
    case sizeof f:
        memcpy(&f, at, sizeof f);
        return f;
    case sizeof d:
        memcpy(&d, at, sizeof d);
        return d;
    default:
        memcpy(&l, at, sizeof l);
        return l;
    }
}

static inline void check_store_real(size_t size, void *at, long double value)
{
    float f = (float)value;
    double d = (double)value;
    if (size == sizeof f) {
        memcpy(at, &f, sizeof f);
    } else if (size == sizeof d) {
        memcpy(at, &d, sizeof d);
    } else {
        memset(at, 0, size);
        memcpy(at, &value, 10);
    }
}

/* Fills nelems elements with values that use the whole width of the type. */
static inline void check_fill(const struct check_type *t, void *at, size_t nelems, uint64_t seed)
{
    char *to = at;
    for (size_t i = 0; i < nelems; i++, to += t->size) {
        uint64_t words[2] = {check_mix(seed + 2 * i), check_mix(seed + 2 * i + 1)};
        if (t->kind == CHECK_REAL)
            check_store_real(t->size, to, (long double)(int64_t)words[0] / 1024);
        else
            memcpy(to, words, t->size);
    }
}

static inline void check_hex(char *text, const void *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sprintf(text + 2 * i, "%02x", ((const unsigned char *)at)[n - 1 - i]);
}

/* Are n elements as check_fill makes them from the seed? */
static inline void check_filled(const struct check_type *t, const void *at, size_t nelems,
                                uint64_t seed, const char *what)
{
    const char *from = at;
    for (size_t i = 0; i < nelems; i++, from += t->size) {
        char want[16], expected[33], got[33];
        uint64_t words[2] = {check_mix(seed + 2 * i), check_mix(seed + 2 * i + 1)};
        if (t->kind == CHECK_REAL)
            check_store_real(t->size, want, (long double)(int64_t)words[0] / 1024);
        else
            memcpy(want, words, t->size);
        if (memcmp(want, from, t->used) == 0)
            continue;
        check_hex(expected, want, t->used);
        check_hex(got, from, t->used);
        check_fail("%s, element %zu of %zu: expected 0x%s, got 0x%s", what, i, nelems, expected,
                   got);
        return;
    }
}

/* Are the bytes from begin to end untouched? */
static inline void check_untouched(const void *area, size_t begin, size_t end, const char *what)
{
    const unsigned char *bytes = area;
    for (size_t i = begin; i < end; i++) {
        if (bytes[i] == CHECK_SENTINEL)
            continue;
        check_fail("%s, byte %zu of the array's surroundings: expected 0x%02x, got 0x%02x", what, i,
                   CHECK_SENTINEL, bytes[i]);
        return;
    }
}

/* ----------------------------------------------------------------- patterns */

/* The pairs of PEs that communicate. In the last pattern, PE 0 communicates with every PE. */
enum check_pattern { CHECK_RIGHT, CHECK_SELF, CHECK_FROM_0, CHECK_PATTERNS };

static const char *const check_pattern_names[] = {"left to right", "to itself", "PE 0 to all"};

/* The PE whose operations reach this PE's memory. */
static inline int check_origin(enum check_pattern p)
{
    switch (p) {
    case CHECK_RIGHT:
        return (check.me + check.n - 1) % check.n;
    case CHECK_SELF:
        return check.me;
    default:
        return 0;
    }
}

/* The PEs that this PE operates on: from first, up to but not including end. */
static inline void check_targets(enum check_pattern p, int *first, int *end)
{
    *first = p == CHECK_RIGHT ? (check.me + 1) % check.n : p == CHECK_SELF ? check.me : 0;
    *end = p != CHECK_FROM_0 ? *first + 1 : check.me == 0 ? check.n : 0;
}

/* ------------------------------------------------------------------- tables */

/* Completes the operations of a symbol; or all operations, at all PEs. */
static inline void check_quiet(const struct check_symbol *s)
{
    if (s->flags & CHECK_CTX)
        shmem_ctx_quiet(check.ctx);
    else
        shmem_quiet();
}

static inline void check_barrier(const struct check_symbol *s)
{
    if (s->flags & CHECK_CTX)
        shmem_ctx_quiet(check.ctx);
    shmem_barrier_all();
}

/* A symbol with a context leads to the function of its namesake, which is tested in all patterns.
 * */
static inline int check_patterns(const struct check_symbol *s)
{
    return s->flags & CHECK_CTX ? CHECK_RIGHT + 1 : CHECK_PATTERNS;
}

/* Makes the context, if a symbol needs one: in the team of all PEs from the last to the first. */
static inline void check_context(const struct check_symbol *symbols, size_t n)
{
    int flags = 0;
    for (size_t i = 0; i < n; i++)
        flags |= symbols[i].flags;
    if ((flags & CHECK_CTX) == 0)
        return;
    if (shmem_team_split_strided(SHMEM_TEAM_WORLD, check.n - 1, -1, check.n, NULL, 0,
                                 &check.reverse) != 0 ||
        shmem_team_create_ctx(check.reverse, SHMEM_CTX_SERIALIZED, &check.ctx) != 0) {
        fprintf(stderr, "%s: PE %d: no context\n", check.family, check.me);
        shmem_global_exit(1);
    }
}

/* Runs a generated table. */
static inline int check_table(int argc, char **argv, const char *family,
                              const struct check_symbol *symbols, size_t n)
{
    check_open(family, n);
    check.whole = argc > 1 && strcmp(argv[1], "whole") == 0;
    const char *part = argc > 1 && !check.whole ? argv[1] : "";
    check_context(symbols, n);
    for (size_t i = 0; i < n; i++) {
        if (strstr(symbols[i].name, part) == NULL) {
            check.left++;
            continue;
        }
        check_start(i, symbols[i].name);
        symbols[i].check(&symbols[i]);
    }
    return check_close();
}

#endif
