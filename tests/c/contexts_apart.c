/*
 * contexts_apart.c: a PE that does not answer delays only contexts with operations on it. PE 0
 * stops a PE that it reaches over the network, uses one context with it and others with another PE,
 * and lets it continue. A quiet that waited for the wrong context would never end, and neither
 * would the test.
 */
#include "check.h"

#include <signal.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { QUIET, LATER, TESTS };
enum { TURNS = 20, WORDS = 5000 };

static uint64_t *pids; /* symmetric, on PE 0 */
static uint64_t *area; /* symmetric: WORDS */
static uint64_t source[WORDS];

/* The last PE that PE 0 reaches over the network, and the one before it; false: there are not two
 * of them. */
static bool far_ones(int *stopped, int *other)
{
    *stopped = *other = -1;
    for (int pe = 1; pe < check.n; pe++)
        if (shmem_ptr(area, pe) == NULL) {
            *other = *stopped;
            *stopped = pe;
        }
    return *other >= 0;
}

static void stop_and_go_on(int stopped, int other)
{
    shmem_ctx_t held = SHMEM_CTX_INVALID, free_ = SHMEM_CTX_INVALID;
    if (shmem_ctx_create(0, &held) != 0 || shmem_ctx_create(SHMEM_CTX_PRIVATE, &free_) != 0)
        shmem_global_exit(1);
    /* Once beforehand, to make the connections. */
    shmem_ctx_uint64_p(held, area, 1, stopped);
    shmem_ctx_uint64_p(free_, area, 1, other);
    shmem_uint64_p(area, 1, other);
    shmem_ctx_quiet(held);
    shmem_ctx_quiet(free_);
    shmem_quiet();

    pid_t pid = (pid_t)pids[stopped];
    for (size_t i = 0; i < WORDS; i++)
        source[i] = i + 2;
    kill(pid, SIGSTOP);
    shmem_ctx_uint64_put_nbi(held, area, source, WORDS, stopped);
    shmem_ctx_fence(held);
    shmem_ctx_uint64_p(held, area, 3, stopped);
    for (uint64_t i = 1; i <= TURNS; i++) {
        shmem_ctx_uint64_put_nbi(free_, area, source, i % 2 ? WORDS : 9, other);
        shmem_ctx_fence(free_);
        shmem_ctx_uint64_p(free_, area, i, other);
        shmem_ctx_quiet(free_);
        uint64_t is = shmem_ctx_uint64_g(free_, area, other);
        CHECK(is == i, "after its quiet the word is %ju, not %ju", (uintmax_t)is, (uintmax_t)i);
        shmem_uint64_p(area + 1, i, other);
        shmem_quiet();
        is = shmem_uint64_g(area + 1, other);
        CHECK(is == i, "after the default quiet the word is %ju, not %ju", (uintmax_t)is,
              (uintmax_t)i);
    }
    check_start(LATER, "the quiet of the context that waits");
    kill(pid, SIGCONT);
    shmem_ctx_quiet(held);
    CHECK(shmem_uint64_g(area, stopped) == 3 && shmem_uint64_g(area + 5, stopped) == 7,
          "what was put is not there");
    shmem_ctx_destroy(free_);
    shmem_ctx_destroy(held);
}

int main(void)
{
    check_open("contexts_apart", TESTS);
    pids = check_alloc((size_t)check.n * sizeof *pids);
    area = check_alloc(WORDS * sizeof *area);
    check_start(QUIET, "quiet of a context while another waits");
    shmem_uint64_p(&pids[check.me], (uint64_t)getpid(), 0);
    shmem_barrier_all();
    int stopped, other;
    if (check.me == 0) {
        bool two = far_ones(&stopped, &other);
        CHECK(two, "PE 0 does not reach two PEs by the network");
        if (two)
            stop_and_go_on(stopped, other);
    }
    shmem_barrier_all();
    return check_close();
}
