/*
 * buffers.c: the program's own memory, registered as symmetric memory. Calls use its own address,
 * which differs between PEs, and the address that registration returns.
 */
#define _GNU_SOURCE
#include "check_buffer.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CONTENTS,
    PUT_GET,
    LARGE,
    ATOMICS,
    SIGNALS,
    STRIDED,
    COLLECTIVES,
    ACCESS,
    OWN,
    AGAIN,
    MANY,
    REFUSED,
    SIZES,
    FORK,
    TESTS
};
enum { PAGE = 4096, WORDS = 64 * PAGE / 8, ROUNDS = 50, SOME = 40 };

/* Pages at an address that differs from PE to PE. */
static void *pages(size_t n)
{
    static int calls;
    char *p =
        mmap(NULL, (n + 64) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        abort();
    return p + (size_t)(check.me * 7 + calls++ % 5) % 64 * PAGE;
}

static uint64_t *buffer; /* WORDS, from the C library */
static uint64_t *returned;

static void test_contents(void)
{
    check_start(CONTENTS, "what the buffer held");
    buffer = aligned_alloc(PAGE, WORDS * sizeof *buffer);
    for (size_t i = 0; i < WORDS; i++)
        buffer[i] = i / 512 % 3 == 0 ? 0 : check_mix((uint64_t)check.me * WORDS + i);
    /* It does not show the earlier contents of the heap's block. */
    void *block = check_alloc(WORDS * sizeof *buffer);
    memset(block, 0x77, WORDS * sizeof *buffer);
    shmem_free(block);
    returned = symmetric(buffer, WORDS * sizeof *buffer);
    size_t bad = 0;
    for (size_t i = 0; i < WORDS; i++) {
        uint64_t want = i / 512 % 3 == 0 ? 0 : check_mix((uint64_t)check.me * WORDS + i);
        bad += buffer[i] != want || returned[i] != want;
    }
    CHECK(bad == 0, "%zu words of %d are wrong", bad, WORDS);
    buffer[5] = 55;
    CHECK(((volatile uint64_t *)returned)[5] == 55, "two memories");
}

static void test_put_get(void)
{
    check_start(PUT_GET, "put and get");
    uint64_t data[4] = {1, 2, 3, (uint64_t)check.me}, got[4] = {0};
    shmem_barrier_all();
    shmem_uint64_put(buffer + 10, data, 4, check_right());
    shmem_uint64_put_nbi(returned + 20, data, 4, check_right());
    shmem_uint64_p(buffer + 30, 300 + (uint64_t)check.me, check_right());
    shmem_barrier_all();
    CHECK(buffer[13] == (uint64_t)check_left() && buffer[10] == 1, "put by the buffer's address");
    CHECK(buffer[23] == (uint64_t)check_left(), "put by the returned address");
    CHECK(buffer[30] == 300 + (uint64_t)check_left(), "p");
    shmem_uint64_get(got, buffer + 10, 4, check_left());
    CHECK(got[3] == (uint64_t)((check_left() + check.n - 1) % check.n), "get: %d", (int)got[3]);
    shmem_uint64_get_nbi(buffer + 40, returned + 10, 4, check_right()); /* into a buffer */
    shmem_quiet();
    CHECK(buffer[43] == (uint64_t)check.me, "get_nbi");
    CHECK(shmem_uint64_g(buffer + 30, check_right()) == 300 + (uint64_t)check.me, "g");
    shmem_putmem((char *)buffer + WORDS * 8 - 3, "end", 3, check_right());
    shmem_barrier_all();
    CHECK(memcmp((char *)buffer + WORDS * 8 - 3, "end", 3) == 0, "the last bytes");
}

static void test_large(void)
{
    check_start(LARGE, "all of it");
    uint64_t *from = malloc(WORDS * sizeof *from);
    for (size_t i = 0; i < WORDS; i++)
        from[i] = check_mix((uint64_t)check.me * WORDS + i);
    shmem_barrier_all();
    shmem_putmem(buffer, from, WORDS * sizeof *from, check_right());
    shmem_barrier_all();
    size_t bad = 0;
    for (size_t i = 0; i < WORDS; i++)
        bad += buffer[i] != check_mix((uint64_t)check_left() * WORDS + i);
    CHECK(bad == 0, "put: %zu words of %d are wrong", bad, WORDS);
    shmem_getmem(from, buffer, WORDS * sizeof *from, check_right());
    for (size_t i = bad = 0; i < WORDS; i++)
        bad += from[i] != check_mix((uint64_t)check.me * WORDS + i);
    CHECK(bad == 0, "get: %zu words of %d are wrong", bad, WORDS);
    free(from);
    shmem_barrier_all();
}

static void test_atomics(void)
{
    check_start(ATOMICS, "atomic operations");
    buffer[0] = 0;
    shmem_barrier_all();
    for (int i = 0; i < ROUNDS; i++) {
        shmem_uint64_atomic_inc(buffer, i % check.n);
        shmem_uint64_atomic_fetch_add(returned, 3, i % check.n); /* the same word */
    }
    shmem_barrier_all();
    uint64_t sum = 0;
    for (int pe = 0; pe < check.n; pe++)
        sum += shmem_uint64_atomic_fetch(buffer, pe);
    CHECK(sum == (uint64_t)check.n * ROUNDS * 4, "%llu", (unsigned long long)sum);
    shmem_barrier_all();
}

static void test_signals(void)
{
    check_start(SIGNALS, "signals and waits");
    uint64_t data[2] = {8, (uint64_t)check.me};
    buffer[100] = buffer[101] = 0;
    shmem_barrier_all();
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        shmem_uint64_put_signal(buffer + 200, data, 2, buffer + 100, i, SHMEM_SIGNAL_SET,
                                check_right());
        shmem_signal_wait_until(buffer + 100, SHMEM_CMP_EQ, i);
        CHECK(buffer[201] == (uint64_t)check_left(), "round %d", (int)i);
        shmem_uint64_p(returned + 101, i, check_left());
        shmem_uint64_wait_until(buffer + 101, SHMEM_CMP_GE, i);
    }
    CHECK(shmem_signal_fetch(buffer + 100) == ROUNDS, "fetch");
    shmem_barrier_all();
}

static void test_strided(void)
{
    check_start(STRIDED, "strided");
    uint64_t data[3] = {31, 32, 33 + (uint64_t)check.me}, got[3];
    shmem_uint64_iput(buffer + 300, data, 5, 1, 3, check_right());
    shmem_barrier_all();
    CHECK(buffer[310] == 33 + (uint64_t)check_left(), "iput");
    shmem_uint64_iget(got, buffer + 300, 1, 5, 3, check_right());
    CHECK(got[2] == 33 + (uint64_t)check.me, "iget");
    shmem_barrier_all();
}

static void test_collectives(void)
{
    check_start(COLLECTIVES, "collectives");
    buffer[400] = (uint64_t)check.me + 1;
    buffer[401] = 0;
    CHECK(shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, buffer + 401, buffer + 400, 1) == 0, "sum");
    CHECK(buffer[401] == (uint64_t)check.n * (uint64_t)(check.n + 1) / 2, "sum: %d",
          (int)buffer[401]);
    shmem_uint64_broadcast(SHMEM_TEAM_WORLD, buffer + 402, buffer + 400, 1, check.n - 1);
    CHECK(buffer[402] == (uint64_t)check.n, "broadcast");
    shmem_uint64_fcollect(SHMEM_TEAM_WORLD, buffer + 500, buffer + 400, 1);
    for (int pe = 0; pe < check.n; pe++)
        CHECK(buffer[500 + pe] == (uint64_t)pe + 1, "fcollect of PE %d", pe);
    shmem_barrier_all();
}

static void test_access(void)
{
    check_start(ACCESS, "shmem_ptr and shmem_addr_accessible");
    buffer[600] = 6000 + (uint64_t)check.me;
    shmem_barrier_all();
    for (int pe = 0; pe < check.n; pe++) {
        CHECK(shmem_addr_accessible(buffer + WORDS - 1, pe) == 1, "PE %d", pe);
        uint64_t *there = shmem_ptr(buffer + 600, pe), *same = shmem_ptr(returned + 600, pe);
        CHECK(there == same, "PE %d has two places", pe);
        CHECK(there == NULL || *there == 6000 + (uint64_t)pe, "shmem_ptr of PE %d", pe);
    }
    CHECK(shmem_addr_accessible(buffer + WORDS, check_right()) == 0, "behind it");
    shmem_barrier_all();
}

static void test_own(void)
{
    check_start(OWN, "memory of the heap");
    char *block = check_alloc(2 * PAGE);
    CHECK(symmetric(block + 8, 100) == block + 8, "it is not itself");
    release(block + 8, 100);
    block[0] = 1;
    refused(block + 8, 2 * PAGE, 0, "are not of one allocation");
    void *mixed = check.me == 0 ? (void *)block : pages(1);
    if (check.n > 1)
        refused(mixed, PAGE, 0, "in the symmetric heap of a PE, and not there");
    shmem_free(block);
}

static void test_again(void)
{
    check_start(AGAIN, "unregister, and once more");
    uint64_t *at = returned;
    buffer[7] = 70 + (uint64_t)check.me;
    shmem_barrier_all();
    shmem_uint64_p(buffer + 8, 80, check_right());
    release(at, WORDS * sizeof *buffer);
    CHECK(buffer[7] == 70 + (uint64_t)check.me && buffer[8] == 80, "what it holds");
    CHECK(shmem_addr_accessible(buffer, check_right()) == 0, "it is symmetric still");
    /* The place in the heap belongs to another block now, and no longer shows the buffer. */
    uint64_t *block = check_alloc(WORDS * sizeof *buffer);
    memset(block, 1, WORDS * sizeof *buffer);
    CHECK(buffer[7] == 70 + (uint64_t)check.me, "the block is the buffer's still");
    shmem_free(block);
    int rc = shmemx_buffer_unregister_symmetric(at, WORDS * sizeof *buffer);
    CHECK(rc != 0 && shmemx_last_error() == SHMEMX_ERROR_BUFFER, "twice");
    CHECK(strstr(shmemx_last_error_text(), "no buffer is registered there") != NULL, "%s",
          shmemx_last_error_text());
    returned = symmetric(buffer, WORDS * sizeof *buffer);
    rc = shmemx_buffer_unregister_symmetric(returned, PAGE);
    CHECK(rc != 0 && strstr(shmemx_last_error_text(), "pass that length") != NULL, "%s",
          shmemx_last_error_text());
    shmem_uint64_p(buffer + 8, 81, check_right());
    shmem_barrier_all();
    CHECK(buffer[8] == 81 && buffer[7] == 70 + (uint64_t)check.me, "the second time");
}

static void test_many(void)
{
    check_start(MANY, "many buffers");
    char *all = pages(SOME), *at[SOME];
    for (int i = 0; i < SOME; i++) /* neighbours, in another order */
        at[i * 7 % SOME] = symmetric(all + i * 7 % SOME * PAGE, PAGE);
    for (int i = 0; i < SOME; i++) {
        shmem_char_p(all + i * PAGE, (char)(i + 1), check_right());
        shmem_char_p(all + i * PAGE + PAGE - 1, (char)(i + 2), check_right());
    }
    shmem_barrier_all();
    for (int i = 0; i < SOME; i++)
        CHECK(all[i * PAGE] == i + 1 && all[i * PAGE + PAGE - 1] == i + 2, "buffer %d", i);
    CHECK(shmem_addr_accessible(all + SOME * PAGE, check.me) == 0, "behind the last one");
    for (int i = 0; i < SOME; i += 2)
        release(at[i], PAGE);
    for (int i = 0; i < SOME; i++)
        CHECK(shmem_addr_accessible(all + i * PAGE, check.me) == i % 2, "half of them: %d", i);
    for (int i = 1; i < SOME; i += 2)
        release(at[i], PAGE);
    CHECK(all[0] == 1 && all[PAGE] == 2, "what they hold");
}

static void test_refused(void)
{
    check_start(REFUSED, "what cannot be registered");
    /*
     * Its length makes AddressSanitizer leave it on the stack: newer versions move smaller arrays.
     */
    size_t room = 2 * PAGE + (size_t)check.me;
    char *p = pages(8), here[room];
    char *aligned = here + (PAGE - (uintptr_t)here % PAGE) % PAGE;
    memset(p, check.me + 1, 8 * PAGE);
    refused(p + 8, PAGE, 0, "are not whole pages");
    refused(p, PAGE + 8, 0, "are not whole pages");
    refused(p, PAGE, 3, "flags 0x3 are unknown");
    refused(NULL, PAGE, 0, "there is no buffer");
    refused(p, 0, 0, "there is no buffer");
    refused(p, (size_t)-PAGE, 0, "run past the address space");
    refused(aligned, PAGE, 0, "on the stack");
    refused(buffer + 512, PAGE, 0, "registered already");
    if (mprotect(p + PAGE, PAGE, PROT_READ) != 0)
        abort();
    refused(p, 3 * PAGE, 0, "is mapped r--, not rw-");
    if (munmap(p + PAGE, PAGE) != 0)
        abort();
    refused(p, 3 * PAGE, 0, "nothing is mapped at");
    void *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    refused(shared, PAGE, 0, "is shared memory");
    /* One PE refuses for all. */
    if (check.n > 1)
        refused(check.me == 1 ? p + 1 : p, PAGE, 0,
                check.me == 1 ? "are not whole pages" : "PE 1 cannot do it for its own");
    CHECK(p[0] == check.me + 1 && p[2 * PAGE] == check.me + 1, "it is not as it was");
    shmem_barrier_all();
}

static void test_sizes(void)
{
    check_start(SIZES, "lengths that differ, and room");
    char *p = pages(4);
    p[0] = 9;
    if (check.n > 1)
        refused(p, check.me == 0 ? PAGE : 2 * PAGE, 0, "PEs pass 4096 to 8192 bytes");
    char *room = NULL;
    size_t n = (size_t)1 << 50;
    while (n >= PAGE && (room = shmem_malloc(n)) == NULL)
        n /= 2;
    void *rest[4096];
    int count = 0;
    while (count < 4096 && (rest[count] = shmem_malloc(PAGE)) != NULL)
        if (++count == 1) /* the rest beside the largest block, in halves */
            for (size_t m = n; m > PAGE && count < 4000; m /= 2)
                if ((rest[count] = shmem_malloc(m)) != NULL)
                    count++;
    refused(p, PAGE, 0, "raise SHMEM_SYMMETRIC_SIZE");
    CHECK(p[0] == 9, "it is not as it was");
    while (count > 0)
        shmem_free(rest[--count]);
    shmem_free(room);
    release(symmetric(p, PAGE), PAGE);
    CHECK(p[0] == 9, "what it holds");
}

static void test_fork(void)
{
    check_start(FORK, "fork");
    buffer[9] = 90;
    pid_t child = fork();
    if (child == 0)
        _exit(buffer[9] == 90 ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0, "a child cannot read it: %d", status);
    shmem_barrier_all();
}

/* A buffer that stays registered is the program's own after shmem_finalize. */
static int after_finalize(uint64_t word)
{
    buffer[1]++;
    if (buffer[7] == word && buffer[WORDS - 2] == ~word)
        return 0;
    fprintf(stderr, "buffers: after finalize: %llu\n", (unsigned long long)buffer[7]);
    return 1;
}

int main(void)
{
    check_open("buffers", TESTS);
    test_contents();
    test_put_get();
    test_large();
    test_atomics();
    test_signals();
    test_strided();
    test_collectives();
    test_access();
    test_own();
    test_again();
    test_many();
    test_refused();
    test_sizes();
    test_fork();
    uint64_t word = check_mix((uint64_t)check.me);
    buffer[7] = word;
    buffer[WORDS - 2] = ~word;
    int rc = check_close();
    rc |= after_finalize(word);
    free(buffer);
    return rc;
}
