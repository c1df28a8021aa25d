/*
 * moving.c: a thread that shares its processor, on a machine of this program's own: it says on
 * which processors the PEs are, and which yields let another thread run.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static long fake_syscall(long number, ...);
static int fake_yield(void);
static int fake_usage(int who, struct rusage *u);
static int fake_cpu(void);
static int fake_allowed(pid_t pid, size_t size, cpu_set_t *set);
static int fake_allow(pid_t pid, size_t size, const cpu_set_t *set);
#define syscall fake_syscall
#define sched_yield fake_yield
#define getrusage fake_usage
#define sched_getcpu fake_cpu
#define sched_getaffinity fake_allowed
#define sched_setaffinity fake_allow
#include "processor.c"
#undef sched_setaffinity

enum { PES = 4 };
static struct {
    struct shmemi_ctl page;
    char heap[64];
} pe[PES];
static struct shmemi_statuspage shown;
static int32_t members[PES] = {0, 1, 2, 3};
static char *bases[PES] = {pe[0].heap, pe[1].heap, pe[2].heap, pe[3].heap};
struct shmemi_state shmemi_state = {
    .n_pes = PES, .node_pes = PES, .node_members = members, .peer_base = bases, .live = &shown};

static uint64_t clock_ns = 1;
uint64_t shmemi_now(void)
{
    return clock_ns;
}

static bool lets_run;
static long switched;
static int fake_yield(void)
{
    clock_ns += 10000;
    switched += lets_run;
    return 0;
}

static int fake_usage(int who, struct rusage *u)
{
    (void)who;
    *u = (struct rusage){.ru_nivcsw = switched};
    return 0;
}

static int cpu;
static int fake_cpu(void)
{
    return cpu;
}

static cpu_set_t allowed;
static int fake_allowed(pid_t pid, size_t size, cpu_set_t *set)
{
    (void)pid, (void)size;
    *set = allowed;
    return 0;
}

static int fake_allow(pid_t pid, size_t size, const cpu_set_t *set)
{
    (void)pid, (void)size;
    allowed = *set;
    if (!CPU_ISSET(cpu, set))
        for (cpu = 0; !CPU_ISSET(cpu, set); cpu++)
            ;
    return 0;
}

static long fake_syscall(long number, ...)
{
    return number < 0;
}

static int checks, failures;
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        checks++;                                                                                  \
        if (!(condition)) {                                                                        \
            printf("line %d: %s does not hold\n", __LINE__, #condition);                           \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

/* This thread, of PE 0, is on a processor with PE 1. PE 2 is on the next one, PE 3 on the last of
 * four but one; -1: it is nowhere yet. */
static void begin(int third, int fourth)
{
    memset(&mine, 0, sizeof mine);
    shown.effort = (struct shmemi_statuspage_effort){0};
    shmemi_state.moves = 1;
    shmemi_state.crowded = 0;
    CPU_ZERO(&allowed);
    for (int i = 0; i < 4; i++)
        CPU_SET(i, &allowed);
    cpu = 0;
    const int on[PES] = {0, 0, third, fourth};
    for (int i = 0; i < PES; i++)
        pe[i].page.processor = (uint32_t)(on[i] + 1);
    lets_run = true;
}

static void yield(int times)
{
    while (times-- > 0)
        shmemi_yield();
}

static void moves(void)
{
    begin(1, 2);
    yield(10);
    CHECK(shmemi_processor_is_shared() && cpu == 0); /* not at once */
    yield(20);
    CHECK(cpu == 3 && CPU_COUNT(&allowed) == 4 && pe[0].page.processor == 4);
    CHECK(shown.effort.moves == 1 && shown.effort.switches == 30);
    /* The processor is its own again. */
    lets_run = false;
    yield(QUIET_YIELDS);
    CHECK(!shmemi_processor_is_shared());
}

/* It stays where no processor has fewer PEs than its own would have without it. */
static void stays(void)
{
    begin(1, 2);
    CPU_CLR(3, &allowed);
    yield(1000);
    CHECK(cpu == 0 && shown.effort.moves == 0);
    begin(1, 2);
    shmemi_state.moves = 0; /* SHMEM_BIND=off */
    yield(1000);
    CHECK(cpu == 0);
    begin(-1, -1);
    CPU_ZERO(&allowed);
    CPU_SET(0, &allowed); /* bound */
    yield(1000);
    CHECK(cpu == 0 && shown.effort.moves == 0);
}

/* More PEs than processors: three on one, one on another. */
static void crowded(void)
{
    begin(0, 1);
    shmemi_state.crowded = 1;
    CPU_CLR(2, &allowed);
    CPU_CLR(3, &allowed);
    yield(200);
    CHECK(cpu == 1 && shown.effort.moves == 1 && shown.effort.switches == 0);
    yield(2000);
    CHECK(shown.effort.moves == 1); /* two on each */
}

int main(void)
{
    moves();
    stays();
    crowded();
    printf("%d passed, %d failed\n", checks - failures, failures);
    return failures != 0;
}
