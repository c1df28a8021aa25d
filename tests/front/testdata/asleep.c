/*
 * asleep.c: threads that fall asleep together, one step at a time. The system calls are this
 * program's own, and so is the control page of the node's first PE.
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static long fake_syscall(long number, ...);
#define syscall fake_syscall
#include "sleep.c"
#undef syscall

static struct shmemi_ctl page;
static struct shmemi_statuspage shown;
static int32_t first_member;
static char *bases[1] = {(char *)(&page + 1)};
struct shmemi_state shmemi_state = {
    .wakeable = 1, .node_members = &first_member, .peer_base = bases, .live = &shown};

static uint64_t clock_ns = 1;
uint64_t shmemi_now(void)
{
    return clock_ns;
}

static int yields;
void shmemi_yield(void)
{
    yields++;
}

/* What happens in the next membarrier, and how many there were. */
static void (*meanwhile)(void);
static int made, checks, failures;
static long fake_syscall(long number, ...)
{
    made += number == SYS_membarrier;
    void (*now)(void) = meanwhile;
    meanwhile = NULL;
    if (now != NULL)
        now();
    return 0;
}

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        checks++;                                                                                  \
        if (!(condition)) {                                                                        \
            printf("line %d: %s does not hold\n", __LINE__, #condition);                           \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

static struct shmemi_waiter a, b, c;

static void begin(void)
{
    a = b = c = (struct shmemi_waiter){.ctl = &page};
    made = yields = 0;
    shown.effort = (struct shmemi_statuspage_effort){0};
}

/* One membarrier is enough for all that announced themselves before it. */
static void together(void)
{
    begin();
    CHECK(!shmemi_prepare_sleep(&a) && !shmemi_prepare_sleep(&b) && made == 0);
    CHECK(page.sleepers == 1);
    CHECK(shmemi_prepare_sleep(&a) && made == 1);
    CHECK(shmemi_prepare_sleep(&b) && made == 1);
    CHECK(shown.effort.membarriers == 1 && shown.effort.membarriers_shared == 1);
}

static void announce_c(void)
{
    shmemi_prepare_sleep(&c);
    /* It cannot begin another one now, and may not take this one. */
    CHECK(!shmemi_prepare_sleep(&c) && made == 1 && yields == 1);
}

/* A thread that announces itself during a membarrier needs the next one: a writer may have passed
 * this one before it could see the announcement. */
static void during(void)
{
    begin();
    shmemi_prepare_sleep(&a);
    meanwhile = announce_c;
    CHECK(shmemi_prepare_sleep(&a) && made == 1);
    CHECK(shmemi_prepare_sleep(&c) && made == 2);
}

static void stop_in_it(void)
{
    shmemi_prepare_sleep(&b);
    CHECK(!shmemi_prepare_sleep(&b));
    clock_ns += MEMBARRIER_TIMEOUT_NS + 1;
    CHECK(shmemi_prepare_sleep(&b) && made == 2); /* the first one is not over */
}

/* A process that is stopped in its membarrier does not keep the others from sleeping. */
static void stopped(void)
{
    begin();
    shmemi_prepare_sleep(&a);
    meanwhile = stop_in_it;
    CHECK(shmemi_prepare_sleep(&a));
}

/* Where the machine has no membarrier, the bound of the sleep has to do. */
static void without(void)
{
    begin();
    shmemi_state.wakeable = 0;
    CHECK(shmemi_prepare_sleep(&a) && made == 0 && page.sleepers == 1);
    shmemi_state.wakeable = 1;
}

/* The numbers are of 32 bits. */
static void wraps(void)
{
    page.membarriers_begun = page.membarriers_done = UINT32_MAX - 1;
    for (int i = 0; i < 4; i++)
        together();
    CHECK(page.membarriers_done == 2);
}

int main(void)
{
    together();
    during();
    stopped();
    without();
    wraps();
    printf("%d passed, %d failed\n", checks - failures, failures);
    return failures != 0;
}
