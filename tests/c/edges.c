/*
 * edges.c: operations on the first and the last bytes of the heap.
 *
 * The program allocates the whole heap as one block, and uses every kind of operation on its first
 * and its last bytes at the PE on the right. A wrong check of an operation's range is off by one
 * byte in one direction or the other; here a check that is too strict ends the job.
 */
#include "check.h"

enum { MOST = 5000, WORDS = 64 };
enum { PUT, GET, ELEMENTS, ATOMIC, SIGNAL, STRIDED, WAITING, LOCK, COLLECTIVE, NOTHING, TESTS };

static char *begin, *end; /* of the heap */
static int right, left;

/* Takes the largest possible block, found by bisection. */
static void take(void)
{
    size_t size = 0;
    for (size_t step = (size_t)1 << 40; step >= 16; step /= 2) {
        char *p = shmem_malloc(size + step);
        if (p == NULL)
            continue;
        size += step;
        shmem_free(p);
    }
    begin = check_alloc(size);
    end = begin + size;
}

/* n bytes at the start of the heap, or at its end. */
static char *edge(int which, size_t n)
{
    return which == 0 ? begin : end - n;
}

static const char *const names[] = {"the start", "the end"};

static void sign(char *at, size_t n, int pe, size_t round)
{
    for (size_t i = 0; i < n; i++)
        at[i] = (char)check_mix((uint64_t)pe << 32 ^ round << 16 ^ i);
}

static void verify(const char *at, size_t n, int pe, size_t round, int which)
{
    static char want[MOST];
    sign(want, n, pe, round);
    CHECK(memcmp(at, want, n) == 0, "%zu bytes at %s of the heap are wrong", n, names[which]);
}

static const size_t sizes[] = {1, 2, 8, 16, 100, 4040, 4041, 4104, 4105, MOST};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static void test_rma(int which)
{
    static char local[MOST];
    for (size_t k = 0; k < SIZES; k++) {
        size_t n = sizes[k];
        check_start(PUT, "put at the edges of the heap");
        sign(local, n, check.me, k);
        shmem_putmem(edge(which, n), local, n, right);
        shmem_barrier_all();
        verify(edge(which, n), n, left, k, which);
        check_start(GET, "get at the edges of the heap");
        memset(local, 0, n);
        shmem_getmem(local, edge(which, n), n, right);
        verify(local, n, check.me, k, which);
        memset(local, 0, n);
        shmem_getmem_nbi(local, edge(which, n), n, right);
        shmem_quiet();
        verify(local, n, check.me, k, which);
        shmem_barrier_all();
        check_start(PUT, "put_nbi at the edges of the heap");
        sign(local, n, check.me, k + SIZES);
        shmem_putmem_nbi(edge(which, n), local, n, right);
        shmem_barrier_all();
        verify(edge(which, n), n, left, k + SIZES, which);
        shmem_barrier_all();
    }
}

#define ONE_ELEMENT(T, name)                                                                       \
    do {                                                                                           \
        T *at = (T *)edge(which, sizeof(T));                                                       \
        shmem_##name##_p(at, (T)(check.me + 3), right);                                            \
        shmem_barrier_all();                                                                       \
        CHECK(*at == (T)(left + 3), #name "_p at %s", names[which]);                               \
        CHECK(shmem_##name##_g(at, right) == (T)(check.me + 3), #name "_g at %s", names[which]);   \
        shmem_barrier_all();                                                                       \
    } while (0)

static void test_elements(int which)
{
    check_start(ELEMENTS, "p and g at the edges of the heap");
    ONE_ELEMENT(char, char);
    ONE_ELEMENT(short, short);
    ONE_ELEMENT(float, float);
    ONE_ELEMENT(double, double);
    ONE_ELEMENT(long double, longdouble);
}

static void test_atomic(int which)
{
    check_start(ATOMIC, "atomics at the edges of the heap");
    uint32_t *narrow = (uint32_t *)edge(which, sizeof *narrow);
    uint64_t *wide = (uint64_t *)edge(which, sizeof *wide);
    *narrow = 7;
    shmem_barrier_all();
    uint32_t old = shmem_uint32_atomic_fetch_add(narrow, 5, right);
    CHECK(old == 7, "32 bits at %s: %u before, not 7", names[which], old);
    shmem_barrier_all();
    CHECK(*narrow == 12, "32 bits at %s: %u, not 12", names[which], *narrow);
    shmem_barrier_all();
    *wide = 9;
    shmem_barrier_all();
    shmem_uint64_atomic_xor(wide, 3, right);
    shmem_quiet();
    CHECK(shmem_uint64_atomic_compare_swap(wide, 10, 4, right) == 10, "64 bits at %s",
          names[which]);
    shmem_barrier_all();
    CHECK(*wide == 4, "64 bits at %s: %llu, not 4", names[which], (unsigned long long)*wide);
    shmem_barrier_all();
}

/* First the data is at the edge, then the signal. */
static void test_signal(int which)
{
    static char local[MOST];
    check_start(SIGNAL, "put_signal at the edges of the heap");
    for (size_t k = 0; k < 2 * SIZES; k++) {
        size_t n = sizes[k / 2];
        char *data = edge(which ^ (int)(k % 2), n);
        uint64_t *sig = (uint64_t *)edge(1 ^ which ^ (int)(k % 2), sizeof *sig);
        *sig = 0;
        shmem_barrier_all();
        sign(local, n, check.me, k);
        shmem_putmem_signal(data, local, n, sig, k + 1, SHMEM_SIGNAL_ADD, right);
        shmem_signal_wait_until(sig, SHMEM_CMP_EQ, k + 1);
        verify(data, n, left, k, which);
        shmem_barrier_all();
    }
}

static void test_strided(int which)
{
    check_start(STRIDED, "iput and iget at the edges of the heap");
    static int local[WORDS], back[WORDS];
    int *at = (int *)edge(which, sizeof(int) * (3 * (WORDS - 1) + 1));
    for (int i = 0; i < WORDS; i++)
        local[i] = check.me * 1000 + i;
    shmem_int_iput(at, local, 3, 1, WORDS, right);
    shmem_barrier_all();
    for (int i = 0; i < WORDS; i++)
        CHECK(at[3 * i] == left * 1000 + i, "element %d at %s", i, names[which]);
    shmem_int_iget(back, at, 1, 3, WORDS, right);
    CHECK(memcmp(back, local, sizeof back) == 0, "iget from %s", names[which]);
    shmem_barrier_all();
}

static void test_wait(int which)
{
    check_start(WAITING, "wait at the edges of the heap");
    int *at = (int *)edge(which, 2 * sizeof *at);
    at[0] = at[1] = 0;
    shmem_barrier_all();
    shmem_int_p(at + which, 5, right);
    shmem_int_wait_until(at + which, SHMEM_CMP_EQ, 5);
    shmem_int_p(at + 1 - which, 5, right);
    shmem_int_wait_until_all(at, 2, NULL, SHMEM_CMP_EQ, 5);
    CHECK(shmem_int_test_all(at, 2, NULL, SHMEM_CMP_EQ, 5) == 1, "test_all at %s", names[which]);
    shmem_barrier_all();
}

static void test_lock(int which)
{
    check_start(LOCK, "locks at the edges of the heap");
    long *lock = (long *)edge(which, sizeof *lock), *count = (long *)(begin + 64);
    *lock = *count = 0;
    shmem_barrier_all();
    for (int i = 0; i < 10; i++) {
        shmem_set_lock(lock);
        shmem_long_p(count, shmem_long_g(count, 0) + 1, 0);
        shmem_clear_lock(lock);
    }
    shmem_barrier_all();
    CHECK(check.me != 0 || *count == 10 * check.n, "%ld turns, not %d", *count, 10 * check.n);
    shmem_barrier_all();
}

/* Source at one edge, dest at the other. */
static void test_collective(int which)
{
    check_start(COLLECTIVE, "collectives at the edges of the heap");
    size_t n = (size_t)check.n;
    for (size_t k = 1; k <= 1000; k *= 10) {
        int *from = (int *)edge(which, sizeof *from * k * n);
        int *to = (int *)edge(1 - which, sizeof *to * k * n);
        for (size_t i = 0; i < k * n; i++)
            from[i] = check.me * 100000 + (int)i;
        shmem_barrier_all();
        shmem_int_alltoall(SHMEM_TEAM_WORLD, to, from, k);
        for (size_t i = 0; i < k * n; i++) {
            int want = (int)(i / k) * 100000 + check.me * (int)k + (int)(i % k);
            CHECK(to[i] == want, "alltoall of %zu: element %zu is %d, not %d", k, i, to[i], want);
        }
        shmem_barrier_all();
        shmem_int_fcollect(SHMEM_TEAM_WORLD, to, from, k);
        for (size_t i = 0; i < k * n; i++)
            CHECK(to[i] == (int)(i / k) * 100000 + (int)(i % k), "fcollect of %zu: element %zu", k,
                  i);
        shmem_barrier_all();
        shmem_int_max_reduce(SHMEM_TEAM_WORLD, to, from, k * n);
        for (size_t i = 0; i < k * n; i++)
            CHECK(to[i] == (int)(n - 1) * 100000 + (int)i, "max of %zu: element %zu", k, i);
        shmem_barrier_all();
        shmem_int_broadcast(SHMEM_TEAM_WORLD, to, from, k * n, check.n - 1);
        for (size_t i = 0; i < k * n; i++)
            CHECK(to[i] == (int)(n - 1) * 100000 + (int)i, "broadcast of %zu: element %zu", k, i);
        shmem_barrier_all();
    }
}

/* An empty range at the end of the heap is within the heap, too. */
static void test_nothing(void)
{
    check_start(NOTHING, "nothing at the end of the heap");
    static char local = 1;
    char last = end[-1];
    shmem_barrier_all();
    shmem_putmem(end, &local, 0, right);
    shmem_getmem(&local, end, 0, right);
    shmem_putmem_nbi(end, &local, 0, right);
    shmem_broadcastmem(SHMEM_TEAM_WORLD, end, end, 0, 0);
    shmem_barrier_all();
    CHECK(local == 1 && end[-1] == last, "something was copied");
}

int main(void)
{
    /* As large as the pieces above need; no other piece uses any of its bytes. */
    setenv("SHMEM_SYMMETRIC_SIZE", "4m", 1);
    check_open("edges", TESTS);
    right = (check.me + 1) % check.n;
    left = (check.me + check.n - 1) % check.n;
    take();
    for (int which = 0; which < 2; which++) {
        test_rma(which);
        test_elements(which);
        test_atomic(which);
        test_signal(which);
        test_strided(which);
        test_wait(which);
        test_lock(which);
        test_collective(which);
    }
    test_nothing();
    shmem_free(begin);
    return check_close();
}
