/*
 * slices.c: two PEs on a processor on which a thread computes. Each sends the other a word, for
 * which the other waits; then its slices must be short. "old": the system has no slices for single
 * threads.
 */
#define _GNU_SOURCE
#include <shmem.h>

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 100 };

static void *compute(void *arg)
{
    volatile uint64_t *n = arg;
    for (;;)
        *n += 1;
    return NULL;
}

/* struct sched_attr */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t slice, deadline, period;
};

static uint64_t slice(void)
{
    struct attributes a = {.size = sizeof a};
    return syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) == 0 ? a.slice : 0;
}

int main(void)
{
    static uint64_t n;
    cpu_set_t first;
    pthread_t thread;
    struct attributes usual = {.size = sizeof usual, .slice = 3000000};
    usual.nice = getpriority(PRIO_PROCESS, 0);
    syscall(SYS_sched_setattr, 0, &usual, 0);
    uint64_t before = slice();
    shmem_init();
    int me = shmem_my_pe();
    uint64_t *word = shmem_calloc(1, sizeof *word);
    sched_getaffinity(0, sizeof first, &first);
    for (int cpu = 0, found = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &first) && found++)
            CPU_CLR(cpu, &first);
    sched_setaffinity(0, sizeof first, &first);
    if (pthread_create(&thread, NULL, compute, &n) != 0)
        return 2;
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        shmem_uint64_p(word, i, 1 - me);
        shmem_uint64_wait_until(word, SHMEM_CMP_GE, i);
    }
    uint64_t after = slice();
    if (before == 0)
        printf("PE %d: old\n", me);
    else
        printf("PE %d: slices of %" PRIu64 " ns, before %" PRIu64 "\n", me, after, before);
    shmem_finalize();
    return 0;
}
