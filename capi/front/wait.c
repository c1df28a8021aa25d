/*
 * wait.c: spin, yield, sleep.
 *
 * The sleep protocol. The sleeper sets ctl->sleepers, runs a membarrier that acts as a full fence
 * on every registered process, looks at its condition once more and sleeps on ctl->wakes. A writer
 * stores and then loads ctl->sleepers with no fence in between (notify.h). Either its store was
 * before the membarrier, and the sleeper's last look sees it; or its load was after, and it sees
 * the sleeper. So the fast path pays one load, and the sleeper, which has time, pays the 2 us of
 * the membarrier.
 *
 * Stores through shmem_ptr and writes by a NIC look at no flag. Against those every sleep is
 * bounded: 50 us at first, doubling to 10 ms, and in a long wait to a sixteenth of its length so
 * far, so that such a store is seen later by a sixteenth at most. A sleep costs 10 to 100 us of a
 * processor, by the machine: in a virtual one a PE that was blocked for a second took 2.6 % of a
 * processor with sleeps of 10 ms all along.
 */
#define _GNU_SOURCE
#include "wait.h"

#include "activity.h"
#include "clock.h"
#include "failure.h"
#include "report.h"
#include "slice.h"
#include "waiter.h"

#include "wake.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NAP_FIRST_US 50
#define NAP_LAST_US 10000
#define NAP_LONGEST_US 50000 /* in a wait of 16 times that, and in longer ones */

/* One poll of the network counts for this many turns of yielding. */
#define POLL_TURNS 8

/* Turns of spinning between two looks at the clock, and how many of them a turn of yielding counts
 * for: it can take a slice of the scheduler's. */
#define CLOCK_TURNS 64
#define YIELD_TURNS 8

/* A wait sleeps after this time, however few turns it has had: a thousand yields beside
 * four threads that compute took 3 to 5 s. */
#define AWAKE_NS 10000000u

bool shmemi_register_sleepers(void)
{
    long have = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    if (have < 0 || !(have & MEMBARRIER_CMD_GLOBAL_EXPEDITED))
        return false;
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

static void start_polling(struct shmemi_waiter *w)
{
    if (!w->polling) {
        __atomic_fetch_add(&shmemi_state.pollers, 1, __ATOMIC_RELAXED);
        w->polling = true;
    }
}

static void stop_polling(struct shmemi_waiter *w)
{
    if (w->polling) {
        __atomic_fetch_sub(&shmemi_state.pollers, 1, __ATOMIC_SEQ_CST);
        w->polling = false;
    }
}

/* From here on the proxy has to serve the network, so its nap ends. */
static void hand_over(struct shmemi_waiter *w)
{
    if (!w->polling)
        return;
    stop_polling(w);
    shmemi_end_nap(&shmemi_state.napping);
}

static void stay_awake(struct shmemi_waiter *w)
{
    w->turns = 0;
    w->awake = 0;
}

static void announce(struct shmemi_waiter *w)
{
    w->wakes = __atomic_load_n(&w->ctl->wakes, __ATOMIC_ACQUIRE);
    __atomic_store_n(&w->ctl->sleepers, 1, __ATOMIC_SEQ_CST);
    if (shmemi_state.wakeable)
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
    w->announced = true;
}

/* The thread's limit of shmemx_wait_limit, and the clock of the wait that the limit ended last: a
 * program that waits in slices is reported as one long wait. */
static _Thread_local struct {
    uint64_t ns;
    bool ended;
    struct shmemi_wait_clock clock; /* since 0: there is none */
} limit;

int shmemi_wait_limit(uint64_t limit_ns, const char *call)
{
    (void)call;
    bool ended = limit.ended;
    if (!ended || limit_ns == 0)
        limit.clock.since = 0;
    limit.ended = false;
    limit.ns = limit_ns;
    return ended;
}

static bool is_over(struct shmemi_waiter *w, uint64_t now, bool interrupted)
{
    if (!w->limited || limit.ns == 0 || (!interrupted && now - w->first < limit.ns))
        return false;
    limit.ended = true;
    limit.clock = w->clock;
    return true;
}

static void begin(struct shmemi_waiter *w, uint64_t now)
{
    w->first = now;
    w->nap_us = NAP_FIRST_US;
    if (w->limited && limit.clock.since != 0) {
        w->clock = limit.clock;
        limit.clock.since = 0;
    } else if (w->clock.since == 0) {
        w->clock.since = w->clock.reported = now;
        w->clock.asked = __atomic_load_n(&shmemi_state.asked, __ATOMIC_RELAXED);
    }
}

/* Returns the time. A long wait is shown to others, and reported when that is due, whether it
 * sleeps or the network keeps it awake. */
static uint64_t look(struct shmemi_waiter *w)
{
    uint64_t now = shmemi_now();
    w->unclocked = 0;
    if (w->first == 0)
        begin(w, now);
    if (w->awake == 0)
        w->awake = now;
    if (now - w->first >= AWAKE_NS || w->announced) {
        shmemi_show(w);
        shmemi_activity_show(w, now);
        shmemi_report(w, now);
    }
    return now;
}

/* The bound of the next sleep in a wait that has lasted waited_ns. */
static uint32_t longest_nap(uint64_t waited_ns)
{
    uint64_t part = waited_ns / 16 / 1000;
    return part < NAP_LAST_US      ? NAP_LAST_US
           : part > NAP_LONGEST_US ? NAP_LONGEST_US
                                   : (uint32_t)part;
}

/* False: the thread's limit is over. */
static bool nap(struct shmemi_waiter *w)
{
    uint64_t waited = look(w) - w->first, ns = (uint64_t)w->nap_us * 1000;
    uint32_t longest = longest_nap(waited);
    if (w->limited && limit.ns > waited && limit.ns - waited < ns)
        ns = limit.ns - waited;
    hand_over(w);
    struct timespec bound = {.tv_nsec = (long)ns};
    long r = syscall(SYS_futex, &w->ctl->wakes, FUTEX_WAIT, w->wakes, &bound, NULL, 0);
    if (r < 0 && errno == ETIMEDOUT) {
        /* No writer has cleared the announcement: it needs no new membarrier, which costs more than
         * the rest of the round. */
        w->announced = __atomic_load_n(&w->ctl->sleepers, __ATOMIC_RELAXED) != 0;
        w->nap_us = w->nap_us * 2 > longest ? longest : w->nap_us * 2;
        w->turns = UINT_MAX;
        return !is_over(w, shmemi_now(), false);
    }
    bool interrupted = r < 0 && errno == EINTR;
    w->announced = false;
    /* A peer is writing to this PE, if not yet the awaited word. Staying awake for a while costs
     * the peer nothing, while waking costs it a system call for each put: 64 KiB puts to a PE that
     * slept in a barrier ran at 0.70 of memcpy. */
    stay_awake(w);
    return !is_over(w, shmemi_now(), interrupted);
}

/* A turn of spinning or yielding. False: the thread's limit is over. */
static bool awake_step(struct shmemi_waiter *w)
{
    const struct shmemi_state *s = &shmemi_state;
    w->turns++;
    if (s->networked) {
        start_polling(w);
        w->turns += (w->turns <= s->spin ? s->poll : POLL_TURNS) - 1;
        /* As long as peers are talking to this PE, it stays awake. */
        if (s->core->poll() > 0)
            stay_awake(w);
    }
    if (w->turns < s->spin) {
        relax();
        w->unclocked++;
    } else {
        shmemi_yield();
        w->unclocked += YIELD_TURNS;
    }
    if (w->unclocked < CLOCK_TURNS)
        return true;
    uint64_t now = look(w);
    if (now - w->awake >= AWAKE_NS)
        w->turns = UINT_MAX;
    return !is_over(w, now, false);
}

bool shmemi_wait_step(struct shmemi_waiter *w)
{
    const struct shmemi_state *s = &shmemi_state;
    if (SHMEMI_UNLIKELY(shmemi_some_lost())) {
        int pe = shmemi_breaks(w->whom);
        if (pe >= 0) {
            shmemi_wait_over(w);
            shmemi_tell_lost(pe, w->call);
            return false;
        }
    }
    if (w->stalls && w->began == 0)
        w->began = shmemi_now();
    if (w->turns < s->spin + s->yields)
        return awake_step(w);
    if (w->announced)
        return nap(w);
    announce(w);
    return true;
}

void shmemi_wait_over(struct shmemi_waiter *w)
{
    stop_polling(w);
    if (w->shown)
        shmemi_unshow(w);
    if (w->entry)
        shmemi_activity_unshow(w);
    if (w->began) {
        __atomic_fetch_add(&shmemi_state.live->stalls, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&shmemi_state.live->stall_ns, shmemi_now() - w->began, __ATOMIC_RELAXED);
        w->began = 0;
    }
}
