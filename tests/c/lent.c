/*
 * lent.c: GPU memory that the program has mapped itself, registered as symmetric memory. Calls use
 * its own address, which differs between PEs, and the address that registration returns. The
 * program needs heaps in GPU memory.
 */
#define _GNU_SOURCE
#include "check_buffer.h"

#include <dlfcn.h>

enum {
    CONTENTS,
    PUT_GET,
    SIGNALS,
    ATOMICS,
    STRIDED,
    COLLECTIVES,
    STREAM,
    GROWTH,
    NEIGHBOURS,
    MANY,
    REFUSED,
    TESTS
};
enum { GRANULE = 2 << 20, MOST = 8, MANY_BUFFERS = 12 };

/* CUmemAllocationProp and CUmemAccessDesc. */
struct property {
    int type, handles, location, device;
    void *windows;
    unsigned char compression, rdma;
    unsigned short usage;
    unsigned char reserved[4];
};
struct access {
    int location, device, flags;
};

static int (*ask_granularity)(size_t *, const struct property *, int);
static int (*reserve)(uint64_t *, size_t, size_t, uint64_t, unsigned long long);
static int (*unreserve)(uint64_t, size_t);
static int (*create)(uint64_t *, size_t, const struct property *, unsigned long long);
static int (*release_name)(uint64_t);
static int (*map)(uint64_t, size_t, size_t, uint64_t, unsigned long long);
static int (*unmap)(uint64_t, size_t);
static int (*set_access)(uint64_t, size_t, const struct access *, size_t);
static int (*allocate)(uint64_t *, size_t);
static int (*give_back)(uint64_t);
static int (*copy_async)(uint64_t, uint64_t, size_t, void *);
static int (*stream_wait)(void *);
static int (*context_device)(int *);

static struct property property = {.type = 1, .handles = 1, .location = 1};

static void driver_call(const char *what, int code)
{
    if (code != 0) {
        fprintf(stderr, "lent: %s: error %d of the driver\n", what, code);
        abort();
    }
}

static void open_driver(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (lib == NULL) {
        fprintf(stderr, "lent: %s\n", dlerror());
        abort();
    }
#define SYMBOL(to, name) *(void **)&to = dlsym(lib, name)
    SYMBOL(ask_granularity, "cuMemGetAllocationGranularity");
    SYMBOL(reserve, "cuMemAddressReserve");
    SYMBOL(unreserve, "cuMemAddressFree");
    SYMBOL(create, "cuMemCreate");
    SYMBOL(release_name, "cuMemRelease");
    SYMBOL(map, "cuMemMap");
    SYMBOL(unmap, "cuMemUnmap");
    SYMBOL(set_access, "cuMemSetAccess");
    SYMBOL(allocate, "cuMemAlloc_v2");
    SYMBOL(give_back, "cuMemFree_v2");
    SYMBOL(copy_async, "cuMemcpyAsync");
    SYMBOL(stream_wait, "cuStreamSynchronize");
    SYMBOL(context_device, "cuCtxGetDevice");
    driver_call("cuCtxGetDevice", context_device(&property.device));
    /* A driver may not grant NICs this memory; the fake driver always does. */
    property.rdma = 1;
    size_t granule;
    if (ask_granularity(&granule, &property, 0) != 0)
        property.rdma = 0;
    driver_call("cuMemGetAllocationGranularity", ask_granularity(&granule, &property, 0));
    if (granule != GRANULE) {
        fprintf(stderr, "lent: memory comes in units of %zu bytes, the test wants %d\n", granule,
                GRANULE);
        abort();
    }
}

/* Consecutive chunks, as a program's allocator makes them. */
struct chunks {
    uint64_t at;
    size_t n, bytes, granules[MOST];
};

static struct chunks take(size_t n, const size_t *granules)
{
    struct chunks c = {.n = n};
    for (size_t i = 0; i < n; i++)
        c.bytes += (c.granules[i] = granules[i]) * GRANULE;
    /* Nothing is mapped behind them. */
    driver_call("cuMemAddressReserve", reserve(&c.at, c.bytes + GRANULE, 0, 0, 0));
    uint64_t at = c.at;
    for (size_t i = 0; i < n; at += granules[i] * GRANULE, i++) {
        uint64_t name;
        size_t size = granules[i] * GRANULE;
        struct access all = {1, property.device, 3};
        driver_call("cuMemCreate", create(&name, size, &property, 0));
        driver_call("cuMemMap", map(at, size, 0, name, 0));
        driver_call("cuMemSetAccess", set_access(at, size, &all, 1));
        driver_call("cuMemRelease", release_name(name));
    }
    return c;
}

static void drop(const struct chunks *c)
{
    uint64_t at = c->at;
    for (size_t i = 0; i < c->n; at += c->granules[i] * GRANULE, i++)
        driver_call("cuMemUnmap", unmap(at, c->granules[i] * GRANULE));
    driver_call("cuMemAddressFree", unreserve(c->at, c->bytes + GRANULE));
}

static void copy(const void *to, const void *from, size_t n)
{
    driver_call("cuMemcpyAsync", copy_async((uint64_t)to, (uint64_t)from, n, NULL));
    driver_call("cuStreamSynchronize", stream_wait(NULL));
}

static uint64_t word(const uint64_t *at)
{
    uint64_t value = 0;
    copy(&value, at, sizeof value);
    return value;
}

/* It begins and ends within chunks, which differ from PE to PE. */
enum { BEHIND = 4096 + 64, WORDS = (5 * GRANULE) / 8 };

static struct chunks owned;
static uint64_t *buffer;   /* WORDS */
static uint64_t *returned; /* the same in the heap */

static void test_contents(void)
{
    check_start(CONTENTS, "contents");
    static const size_t even[] = {2, 1, 4}, odd[] = {1, 8};
    owned = check.me % 2 ? take(2, odd) : take(3, even);
    /* From the second granule of the first chunk on, or from the first of the second. */
    buffer = (uint64_t *)(owned.at + GRANULE + BEHIND);
    uint64_t ends[2] = {check_mix(1 + (uint64_t)check.me), check_mix(2 + (uint64_t)check.me)};
    copy(buffer, &ends[0], 8);
    copy(buffer + WORDS - 1, &ends[1], 8);
    returned = symmetric(buffer, WORDS * 8);
    CHECK(returned != buffer, "the result is the buffer itself");
    CHECK(word(buffer) == ends[0] && word(returned) == ends[0], "its first word");
    CHECK(word(buffer + WORDS - 1) == ends[1] && word(returned + WORDS - 1) == ends[1],
          "its last word");
    for (int pe = 0; pe < check.n; pe++) {
        CHECK(shmem_uint64_g(buffer, pe) == check_mix(1 + (uint64_t)pe), "the first word of PE %d",
              pe);
        CHECK(shmem_uint64_g(returned + WORDS - 1, pe) == check_mix(2 + (uint64_t)pe),
              "the last word of PE %d", pe);
    }
    shmem_barrier_all();
}

static void test_put_get(void)
{
    check_start(PUT_GET, "put and get");
    uint64_t *out = malloc(WORDS * 8), *in = malloc(WORDS * 8);
    for (size_t i = 0; i < WORDS; i++)
        out[i] = check_mix(i) + (uint64_t)check.me;
    shmem_uint64_put(buffer, out, WORDS, check_right());
    shmem_barrier_all();
    copy(in, buffer, WORDS * 8);
    size_t wrong = 0;
    for (size_t i = 0; i < WORDS; i++)
        wrong += in[i] != check_mix(i) + (uint64_t)check_left();
    CHECK(wrong == 0, "%zu words of a put are wrong", wrong);
    shmem_uint64_get(in, returned, WORDS, check_left());
    wrong = 0;
    for (size_t i = 0; i < WORDS; i++)
        wrong += in[i] != check_mix(i) + (uint64_t)((check_left() + check.n - 1) % check.n);
    CHECK(wrong == 0, "%zu words of a get are wrong", wrong);
    shmem_barrier_all();
    /* From one such buffer to another, without main memory in between. */
    shmem_uint64_put_nbi(returned + WORDS / 2, buffer, 1000, check_right());
    shmem_quiet();
    shmem_barrier_all();
    CHECK(word(buffer + WORDS / 2 + 999) == shmem_uint64_g(buffer + 999, check_left()),
          "a put from a buffer to another PE's");
    shmem_uint64_p(buffer + 5, 77 + (uint64_t)check.me, check_right());
    shmem_barrier_all();
    CHECK(word(returned + 5) == 77 + (uint64_t)check_left(), "p");
    shmem_barrier_all();
    free(out);
    free(in);
}

static void test_signals(void)
{
    check_start(SIGNALS, "signals");
    uint64_t data[3] = {1 + (uint64_t)check.me, 2, 3}, zero = 0;
    copy(buffer + 100, &zero, 8);
    shmem_barrier_all();
    shmem_uint64_put_signal(buffer + 200, data, 3, buffer + 100, 5, SHMEM_SIGNAL_ADD,
                            check_right());
    shmem_signal_wait_until(buffer + 100, SHMEM_CMP_EQ, 5);
    CHECK(word(buffer + 200) == 1 + (uint64_t)check_left(), "what came before the signal");
    CHECK(shmem_signal_fetch(returned + 100) == 5, "the signal");
    shmem_barrier_all();
}

static void test_atomics(void)
{
    check_start(ATOMICS, "atomics");
    uint64_t zero = 0;
    copy(buffer + 300, &zero, 8);
    shmem_barrier_all();
    for (int pe = 0; pe < check.n; pe++) {
        shmem_uint64_atomic_add(buffer + 300, 1, pe);
        (void)shmem_uint64_atomic_fetch_add(returned + 300, 2, pe);
    }
    shmem_barrier_all();
    CHECK(word(buffer + 300) == 3 * (uint64_t)check.n, "%llu after adding",
          (unsigned long long)word(buffer + 300));
    shmem_barrier_all();
}

static void test_strided(void)
{
    check_start(STRIDED, "strided");
    uint64_t out[4] = {10, 20, 30, 40}, in[4] = {0};
    shmem_uint64_iput(buffer + 400, out, 3, 1, 4, check_right());
    shmem_barrier_all();
    shmem_uint64_iget(in, returned + 400, 1, 3, 4, check_right());
    CHECK(memcmp(in, out, sizeof in) == 0, "what was put with strides");
    shmem_barrier_all();
}

static void test_collectives(void)
{
    check_start(COLLECTIVES, "collectives");
    enum { EACH = 300 };
    uint64_t out[EACH], in[EACH];
    for (uint64_t i = 0; i < EACH; i++)
        out[i] = i + 1000 * (uint64_t)check.me;
    copy(buffer, out, sizeof out);
    shmem_barrier_all();
    CHECK(shmem_uint64_fcollect(SHMEM_TEAM_WORLD, buffer + 1000, buffer, EACH) == 0, "fcollect");
    for (int pe = 0; pe < check.n; pe++) {
        copy(in, buffer + 1000 + pe * EACH, sizeof in);
        CHECK(in[0] == 1000 * (uint64_t)pe && in[EACH - 1] == 1000 * (uint64_t)pe + EACH - 1,
              "what PE %d has given", pe);
    }
    CHECK(shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, returned + 9000, buffer, EACH) == 0, "reduce");
    uint64_t n = (uint64_t)check.n;
    CHECK(word(buffer + 9000 + 7) == 7 * n + 500 * n * (n - 1), "a sum");
    shmem_barrier_all();
}

/* The program's streams copy such memory themselves. */
static void test_stream(void)
{
    check_start(STREAM, "on a stream");
    for (int pe = 0; pe < check.n; pe++)
        if (shmem_ptr(buffer, pe) == NULL) {
            shmem_barrier_all();
            return;
        }
    uint64_t out[2] = {500 + (uint64_t)check.me, 600}, zero = 0;
    copy(buffer + 600, &zero, 8);
    copy(buffer + 700, out, sizeof out);
    shmem_barrier_all();
    shmemx_uint64_put_signal_on_stream(buffer + 800, buffer + 700, 2, buffer + 600, 9,
                                       SHMEM_SIGNAL_SET, check_right(), NULL);
    shmemx_signal_wait_until_on_stream(buffer + 600, SHMEM_CMP_EQ, 9, NULL);
    driver_call("cuStreamSynchronize", stream_wait(NULL));
    CHECK(word(buffer + 800) == 500 + (uint64_t)check_left(), "by the own address");
    shmem_barrier_all();
    shmemx_uint64_get_on_stream(returned + 900, returned + 700, 2, check_right(), NULL);
    driver_call("cuStreamSynchronize", stream_wait(NULL));
    CHECK(word(buffer + 900) == 500 + (uint64_t)check_right(), "by the result");
    shmem_barrier_all();
}

/* The heap grows below the registered memory. */
static void test_growth(void)
{
    check_start(GROWTH, "growth");
    size_t n = (size_t)40 << 20;
    char *p = shmem_malloc(n);
    CHECK(p != NULL && p + n <= (char *)returned, "the heap does not grow, or into the buffer");
    if (p != NULL) {
        shmem_char_p(p + n - 1, (char)(5 + check.me), check_right());
        shmem_barrier_all();
        CHECK(shmem_char_g(p + n - 1, check.me) == 5 + check_left(), "its last byte");
    }
    shmem_free(p);
    CHECK(word(buffer + WORDS / 2) == shmem_uint64_g(returned + WORDS / 2, check.me), "the buffer");
    shmem_barrier_all();
}

/* Two buffers of one chunk. */
static void test_neighbours(void)
{
    check_start(NEIGHBOURS, "neighbours");
    uint64_t *other = (uint64_t *)(owned.at + 64), before = word(buffer);
    uint64_t *s = symmetric(other, 16);
    shmem_uint64_p(other + 1, 900 + (uint64_t)check.me, check_right());
    shmem_barrier_all();
    CHECK(word(s + 1) == 900 + (uint64_t)check_left(), "what was put into it");
    CHECK(shmem_uint64_g(s + 1, check_right()) == 900 + (uint64_t)check.me,
          "what another PE has in it");
    shmem_barrier_all();
    release(s, 16);
    CHECK(word(other + 1) == 900 + (uint64_t)check_left(), "what it holds afterwards");
    CHECK(word(buffer) == before && shmem_uint64_g(buffer, check.me) == before, "the first one");
    shmem_barrier_all();
}

/* A part of a chunk each, and unregistered in another order. */
static void test_many(void)
{
    check_start(MANY, "many");
    static const size_t granules[] = {1, 2};
    struct chunks mine[MANY_BUFFERS];
    uint64_t *s[MANY_BUFFERS];
    for (int i = 0; i < MANY_BUFFERS; i++) {
        mine[i] = take(2, granules);
        s[i] = symmetric((void *)(mine[i].at + GRANULE), GRANULE + 8 * (size_t)i + 8);
        shmem_uint64_p((uint64_t *)(mine[i].at + GRANULE), 100 * (uint64_t)i + (uint64_t)check.me,
                       check_right());
    }
    shmem_barrier_all();
    for (int k = 0; k < MANY_BUFFERS; k++) {
        int i = (k * 5 + 3) % MANY_BUFFERS;
        CHECK(word(s[i]) == 100 * (uint64_t)i + (uint64_t)check_left(), "buffer %d", i);
        release(s[i], GRANULE + 8 * (size_t)i + 8);
        CHECK(word((uint64_t *)(mine[i].at + GRANULE)) ==
                  100 * (uint64_t)i + (uint64_t)check_left(),
              "what buffer %d holds afterwards", i);
        drop(&mine[i]);
    }
}

static void test_refused(void)
{
    check_start(REFUSED, "refused");
    static const size_t granules[] = {2};
    static const char other[] = "PE 0 cannot do it for its own (see the error of that PE)";
    bool bad = check.me == 0;
    struct chunks good = take(1, granules);
    uint64_t block;
    driver_call("cuMemAlloc_v2", allocate(&block, 2 * GRANULE));
    refused((void *)(bad ? block : good.at), GRANULE, 0,
            bad ? "was not mapped by cuMemMap, and the driver does not let other code map it "
                  "(allocate "
                  "it by cuMemCreate; of torch's: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True)"
                : other);
    driver_call("cuMemFree_v2", give_back(block));
    refused((void *)(bad ? good.at + GRANULE : good.at), 2 * GRANULE, 0,
            bad ? "was not mapped by cuMemMap" : other);
    if (check.n > 1)
        refused((void *)good.at, bad ? GRANULE : GRANULE + 8, 0,
                "PEs pass 2097152 to 2097160 bytes");
    refused((void *)(bad ? (uint64_t)(buffer + 8) : good.at), 64, 0,
            bad ? "a part of it is registered already" : other);
    if (check.n > 1)
        refused((void *)(bad ? good.at + 512 : good.at), 64, 0,
                "it begins 0 to 512 bytes behind a multiple of 2097152, and has to be the same on "
                "every PE");
    property.handles = 0;
    struct chunks own = take(1, granules);
    property.handles = 1;
    /* Which does not matter if PE 0 has no neighbour. */
    int near = 0, *of_first = check_alloc(sizeof *of_first);
    for (int pe = 0; pe < check.n; pe++)
        near += shmem_ptr(returned, pe) != NULL;
    shmem_int_p(of_first, near, check.me);
    shmem_barrier_all();
    near = shmem_int_g(of_first, 0);
    shmem_barrier_all();
    shmem_free(of_first);
    if (near > 1)
        refused((void *)(bad ? own.at : good.at), GRANULE, 0,
                bad ? "it was made for its own process only (create it with "
                      "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR among its requestedHandleTypes)"
                    : other);
    drop(&own);
    /* None of these errors affects correct calls. */
    void *s = symmetric((void *)good.at, 2 * GRANULE);
    CHECK(shmemx_buffer_unregister_symmetric(s, GRANULE) != 0 &&
              strstr(shmemx_last_error_text(), "it was registered with 4194304 bytes") != NULL,
          "another length: %s", shmemx_last_error_text());
    (void)shmemx_last_error();
    release(s, 2 * GRANULE);
    drop(&good);
}

int main(void)
{
    check_open("lent", TESTS);
    open_driver();
    test_contents();
    test_put_get();
    test_signals();
    test_atomics();
    test_strided();
    test_collectives();
    test_stream();
    test_growth();
    test_neighbours();
    test_many();
    test_refused();
    release(returned, WORDS * 8);
    CHECK(word(buffer) == 1000 * (uint64_t)check.me, "what it holds afterwards");
    returned = symmetric(buffer, WORDS * 8); /* and stays registered until the end */
    return check_close();
}
