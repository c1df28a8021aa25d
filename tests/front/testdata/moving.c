/*
 * moving.c: a thread that shares its processor, on a machine of this program's own: it says on
 * which processors the PEs are, which yields let another thread run, and how long they take.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdarg.h>
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
static uint64_t yield_ns;
static int fake_yield(void)
{
    clock_ns += yield_ns;
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

static uint32_t shown_first; /* by this thread, when it began its last move */
static int fake_allow(pid_t pid, size_t size, const cpu_set_t *set)
{
    (void)pid, (void)size;
    if (!CPU_ISSET(cpu, set))
        shown_first = pe[0].page.processor;
    allowed = *set;
    if (!CPU_ISSET(cpu, set))
        for (cpu = 0; !CPU_ISSET(cpu, set); cpu++)
            ;
    return 0;
}

/* The slice of this thread. */
static uint64_t slice;
static int slices_set;
static long fake_syscall(long number, ...)
{
    va_list arguments;
    va_start(arguments, number);
    (void)va_arg(arguments, int);
    struct attributes *a = va_arg(arguments, struct attributes *);
    va_end(arguments);
    if (number == SYS_sched_getattr) {
        a->slice = slice;
    } else {
        slice = a->slice;
        slices_set++;
    }
    return 0;
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

enum { USUAL_SLICE = 2800000 };

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
    yield_ns = 10000;
    slice = USUAL_SLICE;
    slices_set = 0;
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
    CHECK(shown_first == 4); /* the next one to look does not choose the same processor */
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

/* The kernel moves threads, too. */
static void shows(void)
{
    begin(1, 2);
    shmemi_state.crowded = 1;
    yield(1);
    cpu = 2;
    yield(1);
    CHECK(pe[0].page.processor == 3);
    cpu = 1;
    shmemi_processor_slept();
    CHECK(pe[0].page.processor == 2);
}

/* A thread that has looked in vain for long looks often again behind a long sleep, as the kernel
 * may have woken it beside others, but not behind a short one. */
static void looks_after_sleep(void)
{
    for (int is_long = 0; is_long < 2; is_long++) {
        begin(1, 2);
        shmemi_state.crowded = 1;
        CPU_CLR(3, &allowed);
        yield(10000);
        CHECK(mine.interval == MOVE_LAST_NS && shown.effort.moves == 0);
        clock_ns += is_long ? MOVE_LAST_NS : 0;
        shmemi_processor_slept();
        yield(30);
        CPU_SET(3, &allowed);
        yield(60);
        CHECK(shown.effort.moves == (uint64_t)is_long);
    }
}

/* Beside a thread that computes. */
static void stays_beside_others(void)
{
    begin(1, 2);
    for (int i = 0; i < 100; i++) {
        yield_ns = 1000000;
        yield(1);
        yield_ns = 10000;
        yield(MOVE_YIELDS - 1);
    }
    CHECK(shown.effort.moves == 0);
    yield(30);
    CHECK(shown.effort.moves == 1);
}

/* Beside a thread that computes, a yield takes a slice of it. */
static void slices(void)
{
    begin(1, 2);
    shmemi_state.crowded = 1;
    yield(1);
    CHECK(slice == USUAL_SLICE && slices_set == 0);
    yield_ns = 1000000;
    yield(3);
    CHECK(slice == SLICE_NS && slices_set == 1);
    /* The next long yield comes before the thread has its usual slices again. */
    yield_ns = 1000;
    yield(QUICK_YIELDS - 1);
    CHECK(slice == SLICE_NS);
    yield_ns = 1000000;
    yield(1);
    yield_ns = 1000;
    yield(QUICK_YIELDS - 1);
    CHECK(slice == SLICE_NS && slices_set == 1);
    yield(1);
    CHECK(slice == USUAL_SLICE && slices_set == 2);
    yield(2 * QUICK_YIELDS);
    CHECK(slices_set == 2);
}

/* What the program has set stays. */
static void own_slices(void)
{
    begin(1, 2);
    slice = 50000;
    yield_ns = 1000000;
    yield(1);
    CHECK(slice == 50000 && slices_set == 0);
    begin(1, 2);
    yield_ns = 1000000;
    yield(1);
    CHECK(slice == SLICE_NS);
    slice = 700000;
    yield_ns = 1000;
    yield(QUICK_YIELDS);
    CHECK(slice == 700000 && slices_set == 1);
}

int main(void)
{
    moves();
    stays();
    crowded();
    shows();
    looks_after_sleep();
    stays_beside_others();
    slices();
    own_slices();
    printf("%d passed, %d failed\n", checks - failures, failures);
    return failures != 0;
}
