/*
 * slice.c: yielding beside threads that compute.
 *
 * sched_yield puts a thread behind all others, and a thread that computes keeps its slice of 3 ms
 * before it gives way, even to one that was woken. Beside six computing threads on two processors,
 * eight PEs with 3 s of work took 86 s. Since Linux 6.12 a thread may have slices of its own
 * length, and the scheduler prefers one with shorter slices: then it was 12 s. Threads with short
 * slices are switched more often, which took up to a twentieth of their throughput where two shared
 * a processor. So a thread gets them only after one yield of half a millisecond.
 */
#define _GNU_SOURCE
#include "slice.h"

#include "clock.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LONG_YIELD_NS 500000u
#define SLICE_NS 100000u

static _Thread_local bool settled;

/* struct sched_attr, which glibc has only since 2.41. */
struct attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t slice;
    uint64_t deadline;
    uint64_t period;
    uint32_t clamp_least;
    uint32_t clamp_most;
};

/* A refusal, or a kernel that does not know the field, leaves the thread as it is. */
static void shorten_slices(void)
{
    struct attributes a = {.size = sizeof a};
    if (syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) != 0 || a.policy != SCHED_OTHER ||
        (a.slice != 0 && a.slice <= SLICE_NS))
        return;
    a.slice = SLICE_NS;
    syscall(SYS_sched_setattr, 0, &a, 0);
}

void shmemi_yield(void)
{
    if (settled) {
        sched_yield();
        return;
    }
    uint64_t before = shmemi_now();
    sched_yield();
    if (shmemi_now() - before >= LONG_YIELD_NS) {
        settled = true;
        shorten_slices();
    }
}
