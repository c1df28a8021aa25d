/*
 * test_region.c: tests that the NIC reaches a region of GPU memory, because a provider may register
 * one that it does not reach. The NIC reads the first and the last word, by the region's key, and
 * writes them back.
 */
#include "endpoint.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* BATCH: completions that one poll reads. NAME: bytes of room for the endpoint's address. SECONDS:
 * the longest wait for the NIC to move a word. */
enum { BATCH = 32, NAME = 256, SECONDS = 5 };

/* The state of the tests of regions, allocated by the first one. */
struct shmemi_ofi_region_test {
    struct fi_context2 context;
    uint64_t word;
    struct fid_mr *mr; /* registration of word */
    void *desc;
    fi_addr_t self;
    int ready; /* all of these are there */
    int busy;  /* context is under way */
    int error; /* with which the last operation completed: of libfabric, positive; 0: none */

    /* Completions of other operations that were polled meanwhile. The next polls return them. */
    struct shmemi_completion *kept;
    int first, count, capacity;
};

/* Prepares the first test of an endpoint: registers the word that the tests move, and inserts the
 * endpoint itself into its address vector. An endpoint of connections (links) has neither ep nor
 * av; it is of a provider that moves bytes by the CPU, so Go registers no GPU memory with it. */
static int begin(struct shmemi_ofi *o)
{
    char name[NAME];
    size_t len = sizeof name;
    o->failed = "calloc";
    struct shmemi_ofi_region_test *p = calloc(1, sizeof *p);
    if (p == NULL)
        return -FI_ENOMEM;
    o->region_test = p;
    int ret = shmemi_ofi_register(o, &p->word, sizeof p->word, &p->mr);
    if (ret != 0) {
        p->mr = NULL;
        return ret;
    }
    p->desc = fi_mr_desc(p->mr);
    o->failed = "fi_getname";
    if ((ret = fi_getname(&o->ep->fid, name, &len)) != 0)
        return ret;
    o->failed = "fi_av_insert of this endpoint";
    ret = fi_av_insert(o->av, name, 1, &p->self, 0, NULL);
    p->ready = ret == 1;
    return ret == 1 ? 0 : ret < 0 ? ret : -FI_EADDRNOTAVAIL;
}

/* Polls the completion queue once, during the test of a region. The poll itself records the
 * completion of the test's read or write (shmemi_ofi_region_tested). This function stores the
 * completions of all other operations, which the endpoint's next polls return. Returns 0 or a
 * negative error. */
static int poll_for_test(struct shmemi_ofi *o)
{
    struct shmemi_ofi_region_test *p = o->region_test;
    struct shmemi_completion c[BATCH];
    int n = shmemi_ofi_poll_now(o, c, BATCH);
    if (n <= 0)
        return n;
    if (p->first + p->count + n > p->capacity) {
        int capacity = 2 * (p->first + p->count + n);
        struct shmemi_completion *more = realloc(p->kept, (size_t)capacity * sizeof *more);
        if (more == NULL)
            return -FI_ENOMEM;
        p->kept = more;
        p->capacity = capacity;
    }
    memcpy(p->kept + p->first + p->count, c, (size_t)n * sizeof *c);
    p->count += n;
    return 0;
}

/* Makes the NIC read a word of the region at address `at`, or write it back, and waits for that, at
 * most SECONDS. Returns 0 or a negative error. */
static int move_word(struct shmemi_ofi *o, uint64_t at, uint64_t key, int write)
{
    struct shmemi_ofi_region_test *p = o->region_test;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const time_t end = t.tv_sec + SECONDS;
    ssize_t ret = -FI_EAGAIN;
    p->busy = 1;
    p->error = 0;
    while (ret == -FI_EAGAIN || (ret == 0 && p->busy)) {
        if (ret == -FI_EAGAIN)
            ret = write ? fi_write(o->ep, &p->word, sizeof p->word, p->desc, p->self, at, key,
                                   &p->context)
                        : fi_read(o->ep, &p->word, sizeof p->word, p->desc, p->self, at, key,
                                  &p->context);
        int polled = poll_for_test(o);
        clock_gettime(CLOCK_MONOTONIC, &t);
        if (polled < 0)
            return polled;
        if (t.tv_sec > end)
            return -FI_ETIMEDOUT; /* the context may be under way: no further test */
    }
    p->busy = 0;
    return ret != 0 ? (int)ret : -p->error;
}

/* Tests that the NIC reaches a registered region: the NIC reads the first and the last word by the
 * region's key and, with write, writes them back. Returns 0, or a negative error and in o->failed
 * what has failed. After a test that has not ended, no other one is possible. */
int shmemi_ofi_test_region(struct shmemi_ofi *o, struct fid_mr *mr, const void *base, size_t len,
                           int write)
{
    o->failed = "an earlier test of a region";
    int ret = o->region_test == NULL                           ? begin(o)
              : o->region_test->busy || !o->region_test->ready ? -FI_EBUSY
                                                               : 0;
    const uint64_t from = o->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)base : 0;
    for (int last = 0; last < 2 && ret == 0 && len >= sizeof(uint64_t); last++) {
        const uint64_t at = from + (last ? len - sizeof(uint64_t) : 0);
        o->failed = "the NIC does not reach it: read";
        ret = move_word(o, at, fi_mr_key(mr), /* write */ 0);
        if (ret == 0 && write) {
            o->failed = "the NIC does not reach it: write";
            ret = move_word(o, at, fi_mr_key(mr), /* write */ 1);
        }
    }
    return ret;
}

/* Called by polls for each completion without a token: if it is that of the read or write of a
 * region's test, records its error, and returns 1. Otherwise returns 0. */
int shmemi_ofi_region_tested(struct shmemi_ofi *o, const void *context, int err)
{
    if (o->region_test == NULL || context != &o->region_test->context)
        return 0;
    o->region_test->busy = 0;
    o->region_test->error = err;
    return 1;
}

/* Returns to a poll the completions that poll_for_test has kept: of operations of the program,
 * which completed while this file waited for its own read or write of a region. Moves up to max of
 * them to c and returns their number. If c is NULL, it moves none and returns how many it would
 * move. */
int shmemi_ofi_kept_completions(struct shmemi_ofi *o, struct shmemi_completion *c, int max)
{
    struct shmemi_ofi_region_test *p = o->region_test;
    if (p == NULL || p->count == 0)
        return 0;
    int n = max < p->count ? max : p->count;
    if (c == NULL)
        return n;
    memcpy(c, p->kept + p->first, (size_t)n * sizeof *c);
    p->count -= n;
    p->first = p->count > 0 ? p->first + n : 0;
    return n;
}

/* Returns the registration of the word that the tests move, or NULL. */
struct fid *shmemi_ofi_test_word(struct shmemi_ofi *o)
{
    return o->region_test != NULL && o->region_test->mr != NULL ? &o->region_test->mr->fid : NULL;
}

/* Frees the state of the tests. The endpoint must be closed: an operation may be under way. */
void shmemi_ofi_end_region_tests(struct shmemi_ofi *o)
{
    if (o->region_test != NULL)
        free(o->region_test->kept);
    free(o->region_test);
}
