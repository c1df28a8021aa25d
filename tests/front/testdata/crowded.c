/*
 * crowded.c: when a wait falls asleep, where there are more PEs than processors, on a machine of
 * this program's own: each yield takes a microsecond, or the slice of a thread that computes.
 */
#include <stdint.h>
#include <stdio.h>

#include "wait.c"

#include "unreached.h"

UNREACHED(shmemi_ending_loss)
UNREACHED(shmemi_fail_lost)
UNREACHED(shmemi_netcall_refuse)
UNREACHED(shmemi_end_nap)
UNREACHED(shmemi_withdraw_wait)
UNREACHED(shmemi_activity_withdraw)
UNREACHED(shmemi_sleep)
UNREACHED(shmemi_processor_slept)

_Thread_local const char *shmemi_netcall;
static struct shmemi_statuspage shown;
struct shmemi_state shmemi_state = {.crowded = 1, .live = &shown};

static uint64_t clock_ns = 1, yield_ns = 1000;
uint64_t shmemi_now(void)
{
    return clock_ns;
}

void shmemi_yield(void)
{
    clock_ns += yield_ns;
}

bool shmemi_processor_is_shared(void)
{
    return true;
}

void shmemi_processor_publish(void)
{
}

void shmemi_publish_wait(struct shmemi_waiter *w)
{
    (void)w;
}

void shmemi_activity_publish(struct shmemi_waiter *w, uint64_t now)
{
    (void)w;
    (void)now;
}

void shmemi_report(struct shmemi_waiter *w, uint64_t now)
{
    (void)w;
    (void)now;
}

static bool falls_asleep;
bool shmemi_prepare_sleep(struct shmemi_waiter *w)
{
    (void)w;
    falls_asleep = true;
    return false;
}

/* A wait that ends after so many microseconds. Returns how many it was awake. */
static uint64_t wait_us(uint64_t us)
{
    struct shmemi_waiter w = {.call = "test", .whom = SHMEMI_MEMBERS};
    uint64_t began = clock_ns, ends = began + us * 1000;
    falls_asleep = false;
    while (!falls_asleep && clock_ns < ends)
        shmemi_wait_step(&w);
    shmemi_wait_over(&w);
    return (clock_ns - began) / 1000;
}

static void short_waits(int n)
{
    while (n-- > 0)
        wait_us(5);
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

enum { COMPUTES = 12000, LATE = 20000 }; /* microseconds */

int main(void)
{
    /* PEs that compute at each turn: waits leave them the processor at once, also where barriers
     * take a few short waits behind the long one. */
    short_waits(PROMPT_WAITS - 1);
    for (int i = 0; i < 10; i++) {
        CHECK(wait_us(COMPUTES) < 2000 && falls_asleep);
        short_waits(3);
    }

    /* One PE that is late among quick barriers finds all others awake. */
    for (int i = 0; i < 3; i++) {
        short_waits(PROMPT_WAITS);
        CHECK(wait_us(LATE) == LATE && !falls_asleep);
    }
    CHECK(wait_us(LATE) < 2000 && falls_asleep);

    /* If it does not come, they sleep, and that is bounded by time if other threads compute. */
    short_waits(PROMPT_WAITS);
    uint64_t awake = wait_us(10000000);
    CHECK(awake >= 50000 && awake < 60000 && falls_asleep);
    short_waits(PROMPT_WAITS);
    yield_ns = 3000000;
    awake = wait_us(10000000);
    CHECK(awake < 100000 && falls_asleep);

    printf("%d passed, %d failed\n", checks - failures, failures);
    return failures != 0;
}
