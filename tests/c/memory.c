/*
 * memory.c [ROUNDS]: the symmetric heap's collective calls. ROUNDS: how often 1 MiB is allocated
 * and freed, in a heap of 1 GiB.
 */
#include "check.h"

#include <stdlib.h>

enum {
    ALIKE,
    ALIGNED,
    ROUNDED,
    HINTED,
    CALLOC,
    REALLOC,
    REUSE,
    REFUSED,
    NOTHING,
    RANDOM,
    REMOTE,
    TESTS
};

static uint64_t *exchange; /* one word for each PE */

/* Do all PEs have the same value? */
static bool alike(uint64_t mine)
{
    for (int pe = 0; pe < check.n; pe++)
        shmem_uint64_p(&exchange[check.me], mine, pe);
    shmem_barrier_all();
    bool same = true;
    for (int pe = 0; pe < check.n; pe++)
        same &= exchange[pe] == mine;
    shmem_barrier_all();
    return same;
}

static uint64_t offset_of(const void *p)
{
    return p ? (uint64_t)((uintptr_t)p - (uintptr_t)exchange) : UINT64_MAX;
}

static void test_alike(void)
{
    static const size_t sizes[] = {1, 8, 63, 64, 65, 4096, 100000, (size_t)5 << 20};
    check_start(ALIKE, "shmem_malloc");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *p = shmem_malloc(sizes[i]);
        CHECK(p != NULL, "%zu bytes: NULL", sizes[i]);
        CHECK(alike(offset_of(p)), "%zu bytes: not at the same offset on every PE", sizes[i]);
        CHECK(shmem_addr_accessible(p + sizes[i] - 1, (check.me + 1) % check.n),
              "%zu bytes: the last one is not accessible", sizes[i]);
        memset(p, 0x5A, sizes[i]);
        shmem_free(p);
    }
}

static void test_aligned(void)
{
    check_start(ALIGNED, "shmem_align");
    for (size_t alignment = sizeof(void *); alignment <= (size_t)1 << 20; alignment *= 2) {
        void *p = shmem_align(alignment, 3 * alignment / 2);
        CHECK(p != NULL && (uintptr_t)p % alignment == 0, "alignment %zu: %p", alignment, p);
        CHECK(alike(offset_of(p)), "alignment %zu: not at the same offset on every PE", alignment);
        shmem_free(p);
    }
}

/* Below the size of a pointer an alignment is rounded up to it. */
static void test_rounded(void)
{
    check_start(ROUNDED, "shmem_align below the size of a pointer");
    static const size_t small[] = {1, 2, 4};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        void *p = shmem_align(small[i], 100);
        CHECK(p != NULL && (uintptr_t)p % sizeof(void *) == 0, "alignment %zu: %p", small[i], p);
        shmem_free(p);
    }
}

/* A hint that this release does not know, perhaps of a later specification, changes nothing. */
static void test_hinted(void)
{
    check_start(HINTED, "shmem_malloc_with_hints");
    static const long hints[] = {0, SHMEM_MALLOC_ATOMICS_REMOTE, 1L << 40, ~0L};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        long *p = shmem_malloc_with_hints(2 * sizeof *p, hints[i]);
        CHECK(p != NULL && alike(offset_of(p)), "hints %#lx: %p", (unsigned long)hints[i],
              (void *)p);
        shmem_long_atomic_set(p, check.me, check_right());
        shmem_barrier_all();
        CHECK(*p == check_left(), "hints %#lx: %ld", (unsigned long)hints[i], *p);
        shmem_free(p);
    }
}

static void test_calloc(void)
{
    enum { N = 12345 };
    check_start(CALLOC, "shmem_calloc");
    char *dirty = shmem_malloc(N * sizeof(int));
    memset(dirty, 0xFF, N * sizeof(int));
    shmem_free(dirty);
    int *p = shmem_calloc(N, sizeof *p);
    CHECK(p != NULL, "NULL");
    for (int i = 0; p && i < N; i++)
        CHECK(p[i] == 0, "element %d is %d", i, p[i]);
    shmem_free(p);
    CHECK(shmem_calloc(SIZE_MAX / 2, 4) == NULL, "a product beyond size_t is not refused");
}

static void test_realloc(void)
{
    check_start(REALLOC, "shmem_realloc");
    unsigned char *p = shmem_realloc(NULL, 1000);
    for (int i = 0; i < 1000; i++)
        p[i] = (unsigned char)(i * 7 + check.me);
    void *wall = shmem_malloc(64); /* so that the block above cannot always grow in place */
    static const size_t sizes[] = {2000, (size_t)1 << 20, 500, 100000};
    size_t kept = 1000;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        p = shmem_realloc(p, sizes[k]);
        CHECK(p != NULL, "to %zu bytes: NULL", sizes[k]);
        CHECK(alike(offset_of(p)), "to %zu bytes: not at the same offset on every PE", sizes[k]);
        if (sizes[k] < kept)
            kept = sizes[k];
        for (size_t i = 0; i < kept; i++)
            if (p[i] != (unsigned char)(i * 7 + (size_t)check.me)) {
                check_fail("to %zu bytes: byte %zu is lost", sizes[k], i);
                break;
            }
    }
    CHECK(shmem_realloc(p, (size_t)1 << 60) == NULL, "2^60 bytes are not refused");
    CHECK(p[0] == (unsigned char)check.me, "the block is gone after a refusal");
    CHECK(shmem_realloc(p, 0) == NULL, "to 0 bytes does not free");
    shmem_free(wall);
}

static void test_reuse(int rounds)
{
    check_start(REUSE, "shmem_free");
    void *first = shmem_malloc(1 << 20);
    uint64_t where = offset_of(first);
    shmem_free(first);
    for (int i = 0; i < rounds; i++) {
        void *p = shmem_malloc(1 << 20);
        if (offset_of(p) != where) {
            check_fail("round %d: freed memory is not used again", i);
            break;
        }
        shmem_free(p);
    }
    shmem_free(NULL);
}

static void test_refused(void)
{
    check_start(REFUSED, "shmem_malloc of what cannot be had");
    static const size_t sizes[] = {(size_t)1 << 45, SIZE_MAX, SIZE_MAX - 4096, SIZE_MAX / 2 + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *p = shmem_malloc(sizes[i]);
        CHECK(p == NULL, "%zu bytes: %p", sizes[i], p);
    }
    void *p = shmem_malloc(100);
    CHECK(p != NULL && alike(offset_of(p)), "the heap is not usable after a refusal");
    shmem_free(p);
}

static void test_nothing(void)
{
    check_start(NOTHING, "shmem_malloc(0)");
    CHECK(shmem_malloc(0) == NULL, "malloc");
    CHECK(shmem_calloc(0, 8) == NULL, "calloc");
    CHECK(shmem_align(64, 0) == NULL, "align");
    CHECK(shmem_malloc_with_hints(0, 0) == NULL, "malloc_with_hints");
}

/* Random calls, the same on every PE; each block holds a pattern of its own. */
static void test_random(void)
{
    enum { BLOCKS = 64, STEPS = 1500 };
    struct {
        unsigned char *p;
        size_t size;
        unsigned char mark;
    } b[BLOCKS] = {{0}};
    check_start(RANDOM, "random calls");
    for (unsigned step = 0; step < STEPS; step++) {
        uint64_t r = check_mix(step);
        unsigned i = (unsigned)(r % BLOCKS);
        size_t size = (size_t)(check_mix(r) % 40000) + 1;
        unsigned char mark = (unsigned char)(step * 31 + (unsigned)check.me);
        if (b[i].p) {
            bool intact = b[i].p[0] == b[i].mark && b[i].p[b[i].size - 1] == b[i].mark;
            CHECK(intact, "step %u: block %u of %zu bytes was overwritten", step, i, b[i].size);
        }
        if (b[i].p == NULL)
            b[i].p = r & 256 ? shmem_malloc(size)
                             : shmem_malloc_with_hints(size, SHMEM_MALLOC_SIGNAL_REMOTE);
        else if (r & 512)
            b[i].p = shmem_realloc(b[i].p, size);
        else {
            shmem_free(b[i].p);
            b[i].p = NULL;
            continue;
        }
        if (b[i].p == NULL) {
            check_fail("step %u: %zu bytes: NULL", step, size);
            break;
        }
        memset(b[i].p, mark, size);
        b[i].size = size;
        b[i].mark = mark;
    }
    uint64_t all = 0;
    for (unsigned i = 0; i < BLOCKS; i++)
        all = check_mix(all ^ offset_of(b[i].p));
    CHECK(alike(all), "the PEs' heaps differ at the end");
    for (unsigned i = 0; i < BLOCKS; i++)
        if (b[i].p)
            shmem_free(b[i].p);
}

/* Memory of every kind is the target of a put. */
static void test_remote(void)
{
    enum { N = 1000 };
    check_start(REMOTE, "put into every kind of block");
    int right = (check.me + 1) % check.n, left = (check.me + check.n - 1) % check.n;
    long *blocks[] = {shmem_malloc(N * sizeof(long)), shmem_calloc(N, sizeof(long)),
                      shmem_align(4096, N * sizeof(long)),
                      shmem_realloc(shmem_malloc(8), N * sizeof(long))};
    long mine[N];
    for (long i = 0; i < N; i++)
        mine[i] = i * 1000 + check.me;
    for (int k = 0; k < 4; k++)
        shmem_long_put(blocks[k], mine, N, right);
    shmem_barrier_all();
    for (int k = 0; k < 4; k++) {
        for (long i = 0; i < N; i++)
            if (blocks[k][i] != i * 1000 + left) {
                check_fail("block %d: element %ld is %ld", k, i, blocks[k][i]);
                break;
            }
        shmem_free(blocks[k]);
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 5000;
    check_open("memory", TESTS);
    exchange = check_alloc((size_t)check.n * sizeof *exchange);
    test_alike();
    test_aligned();
    test_rounded();
    test_hinted();
    test_calloc();
    test_realloc();
    test_reuse(rounds);
    test_refused();
    test_nothing();
    test_random();
    test_remote();
    shmem_free(exchange);
    return check_close();
}
