/*
 * wait.c: how a thread waits: it spins, yields, and sleeps.
 *
 * How long a thread does each depends on time and on its processor, never on how long the waits of
 * other PEs take: PEs that fall asleep together take longer to wake than a count of steps lasts,
 * and so fell asleep in each wait that followed, for whole runs. A thread whose processor is its
 * own (processor.h) spins and yields for AWAKE_NS before it sleeps, which is longer than it takes
 * to wake all. A late PE may put all others to sleep once; they find each other awake from then on.
 *
 * A thread that shares its processor yields at each step. If the PEs are more than the processors,
 * it sleeps after CROWDED_STEPS steps, since a sleeper leaves its processor to the others: the
 * kernel moves computing PEs to processors on which no thread waits. Only a wait that is much
 * longer than the last ones stays awake for AWAKE_NS.
 *
 * Stores through shmem_ptr and writes by a NIC wake no sleeper. Against those every sleep is
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
#include "netcall.h"
#include "processor.h"
#include "report.h"
#include "sleep.h"
#include "waiter.h"

#include "wake.h"

#include <inttypes.h>
#include <stdio.h>

/* Limits of the length of a sleep: of the first one, and of the longest in an ordinary wait. */
#define NAP_FIRST_US 50
#define NAP_LAST_US 10000
#define NAP_LONGEST_US 50000 /* in a wait of 16 times that, and in longer ones */

/* Steps of spinning before the first yield: some 3 us; on a shared processor .3 us. 4 PEs on 2
 * processors that spun longer cost a peer 8000 us a barrier. */
#define SPIN_STEPS 200
#define SPIN_STEPS_SHARED 20

/* The first steps, some .2 us, have no pause instruction: it takes 140 cycles on recent processors
 * of Intel, and many awaited words arrive sooner than that. */
#define BARE_STEPS 40

/* The largest number of steps between two yields of a thread that has its processor for itself:
 * some 20 us. A yield of .3 us takes a hundredth of that. */
#define SPIN_STEPS_LONG 1024

/* Steps that one poll of the network counts for. Polls take some .3 us of system calls. With a
 * processor of its own a thread polls for some 30 us before it yields, so that the reply to a
 * message finds it polling and not in a yield, which takes as long. */
#define POLL_STEPS 2
#define POLL_STEPS_SHARED 8

/* Steps of a wait that yields before it sleeps, if there are more PEs than processors. */
#define CROWDED_STEPS 1000

/*
 * After this many waits in a row that each ended before CROWDED_STEPS, a thread does not sleep so
 * early in the next one, if there are more PEs than processors: then probably a single PE is late,
 * and the PEs do not compute all the time. 32 PEs that did sleep then, on 16 processors, needed 76
 * to 110 ms in the worst run to be quick again, because the host of the virtual machine had given
 * the processors to others.
 */
#define PROMPT_WAITS 32

/* Steps of spinning between two reads of the clock, and how many of them a step of yielding counts
 * for: a yield can take a slice of the scheduler's. */
#define CLOCK_STEPS 64
#define YIELD_STEPS 8

/*
 * How long a wait stays awake, however few steps it has had: a thousand yields beside four threads
 * that compute took 3 to 5 s.
 *
 * AWAKE_NS is for a thread that has its processor for itself. In a virtual machine an idle
 * processor took up to 8 ms to wake (16 processors, Linux 6.18). PEs that fell asleep after 0.6 or
 * 4 ms waited for each other's processors in each barrier, 2 to 6 ms long, for up to 128 ms after
 * one PE had been late.
 */
#define AWAKE_NS 50000000u
#define AWAKE_SHARED_NS 10000000u

/* How long a wait stays awake after a writer has woken it by a store to another word: peers may
 * write more. */
#define AWAKE_AGAIN_NS 600000u

/* A wait that lasts longer than this is published to other processes. */
#define LONG_NS 10000000u

/* Executes the processor's pause instruction. */
static void cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

/* Counts this thread, once, among the callers that poll the network. While there are any, the proxy
 * does not poll it. */
static void start_polling(struct shmemi_waiter *w)
{
    if (!w->polling) {
        shmemi_count(&shmemi_state.pollers, 1);
        w->polling = true;
    }
}

/* Removes this thread from those that poll the network. */
static void stop_polling(struct shmemi_waiter *w)
{
    if (w->polling) {
        shmemi_announce_add(&shmemi_state.pollers, -1);
        w->polling = false;
    }
}

/* Called before a sleep: leaves the polling of the network to the proxy, and wakes the proxy if it
 * sleeps. */
static void yield_network(struct shmemi_waiter *w)
{
    if (!w->polling)
        return;
    stop_polling(w);
    shmemi_end_nap(&shmemi_state.napping);
}

/* Restarts the time after which the wait sleeps. */
static void stay_awake(struct shmemi_waiter *w)
{
    w->steps = 0;
    w->yield_at = 0;
    w->awake = 0;
}

/* The thread's time limit, which shmemx_wait_limit sets, and the clock of the wait that the limit
 * ended last: a program that waits again and again up to its limit is reported as one long wait. */
static _Thread_local struct {
    uint64_t ns;                    /* 0: no limit */
    bool ended;                     /* the limit has ended a wait since it was set */
    struct shmemi_wait_clock clock; /* since 0: no wait */
} limit;

/* Sets the thread's time limit for later waits. Returns whether the last limit has ended a wait. */
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

/* Reports whether this wait ends now because the thread's time limit has passed, or because a
 * signal interrupted a sleep while a limit is set. Records that, for the next shmemi_wait_limit. */
static bool note_if_over(struct shmemi_waiter *w, uint64_t now, bool interrupted)
{
    if (!w->limited || limit.ns == 0 || (!interrupted && now - w->first < limit.ns))
        return false;
    limit.ended = true;
    limit.clock = w->clock;
    return true;
}

/* Sets the times of a wait when it first reads the clock. If the thread's limit ended its last
 * wait, this wait continues that one's clock, so that reports show both as one long wait. */
static void begin_timing(struct shmemi_waiter *w, uint64_t now)
{
    w->first = now;
    w->nap_us = NAP_FIRST_US;
    if (w->limited && limit.clock.since != 0) {
        w->clock = limit.clock;
        limit.clock.since = 0;
    } else if (w->clock.since == 0) {
        w->clock.since = w->clock.reported = now;
        w->clock.requests = shmemi_read_once(&shmemi_state.report_requests);
    }
}

/* Reads the clock, and returns the time. If the wait is long (LONG_NS), or the thread is about to
 * sleep, publishes the wait, and reports it when a report is due. */
static uint64_t clock_step(struct shmemi_waiter *w)
{
    uint64_t now = shmemi_now();
    w->unclocked = 0;
    if (w->first == 0)
        begin_timing(w, now);
    if (w->awake == 0)
        w->awake = now;
    shmemi_processor_publish();
    if (now - w->first >= LONG_NS || w->stage != SHMEMI_AWAKE) {
        shmemi_publish_wait(w);
        shmemi_activity_publish(w, now);
        shmemi_report(w, now);
    }
    return now;
}

/* Returns the longest next sleep of a wait that has lasted waited_ns, in microseconds: a sixteenth
 * of that time, but 10 ms at least and 50 ms at most. */
static uint32_t longest_nap(uint64_t waited_ns)
{
    uint64_t part = waited_ns / 16 / 1000;
    return part < NAP_LAST_US      ? NAP_LAST_US
           : part > NAP_LONGEST_US ? NAP_LONGEST_US
                                   : (uint32_t)part;
}

/* Sleeps once. Each sleep that ends by its time limit doubles the length of the next one, up to the
 * limit of longest_nap. If a writer or a signal ended the sleep, the wait spins again for a while.
 * Returns false if the thread's time limit has passed, or a signal arrived while the thread has
 * one. */
static bool sleep_once(struct shmemi_waiter *w)
{
    uint64_t waited = clock_step(w) - w->first, ns = (uint64_t)w->nap_us * 1000;
    uint32_t longest = longest_nap(waited);
    if (w->limited && limit.ns > waited && limit.ns - waited < ns)
        ns = limit.ns - waited;
    enum shmemi_sleep_end end = shmemi_sleep(w, ns);
    shmemi_processor_slept();
    w->overslept = end == SHMEMI_OVERSLEPT;
    if (w->overslept) {
        w->nap_us = w->nap_us * 2 > longest ? longest : w->nap_us * 2;
        w->steps = UINT32_MAX;
        return !note_if_over(w, shmemi_now(), /* interrupted */ false);
    }
    /* A peer is writing to this PE, though not yet to the awaited word. Staying awake for a while
     * costs the peer nothing, while waking costs it a system call for each put: 64 KiB puts to a PE
     * that slept in a barrier ran at 0.70 of memcpy. */
    stay_awake(w);
    w->woken = true;
    return !note_if_over(w, shmemi_now(), end == SHMEMI_INTERRUPTED);
}

/* Polls the network once. The poll counts as several steps, because it takes as long as they do; so
 * the thread yields after about the same time with and without a network. */
static void poll_network(struct shmemi_waiter *w, bool shared)
{
    start_polling(w);
    w->steps += (shared || w->steps > SPIN_STEPS ? POLL_STEPS_SHARED : POLL_STEPS) - 1;
    /* As long as messages of peers arrive, this PE stays awake. */
    if (shmemi_net_poll(w->call) > 0)
        stay_awake(w);
}

/* How many waits of this thread in a row ended before CROWDED_STEPS steps, counted up to
 * PROMPT_WAITS. */
static _Thread_local uint32_t prompt;

/* Returns how long this wait spins and yields before it sleeps; 0: it sleeps now. With more PEs
 * than processors (crowded) it sleeps early, unless its last waits were all short. */
static uint64_t awake_ns(struct shmemi_waiter *w, bool shared)
{
    if (shmemi_state.crowded && w->steps >= CROWDED_STEPS) {
        if (prompt < PROMPT_WAITS || w->woken)
            return 0;
        return AWAKE_NS;
    }
    return w->woken ? AWAKE_AGAIN_NS : shared ? AWAKE_SHARED_NS : AWAKE_NS;
}

/* Spins once, or yields if that is due: at each step if other threads use this processor (shared),
 * else after more and more steps. The first steps have no pause instruction (BARE_STEPS). */
static void spin_or_yield(struct shmemi_waiter *w, bool shared)
{
    if (w->yield_at == 0)
        w->yield_at = shared ? SPIN_STEPS_SHARED : SPIN_STEPS;
    if (w->steps < w->yield_at) {
        if (w->steps > BARE_STEPS)
            cpu_pause();
        else if (w->steps == BARE_STEPS)
            shmemi_processor_publish();
        w->unclocked++;
        return;
    }
    shmemi_yield();
    w->unclocked += YIELD_STEPS;
    uint32_t spins = w->steps < SPIN_STEPS_LONG ? w->steps : SPIN_STEPS_LONG;
    w->yield_at = w->steps + (shmemi_processor_is_shared() ? 1 : spins);
}

/* Does one step of a wait without sleeping: polls the network, and spins or yields. Returns false
 * if the thread's time limit has passed. */
static bool awake_step(struct shmemi_waiter *w)
{
    bool shared = shmemi_processor_is_shared();
    w->steps++;
    if (shmemi_state.networked)
        poll_network(w, shared);
    spin_or_yield(w, shared);
    if (w->unclocked < CLOCK_STEPS)
        return true;
    uint64_t now = clock_step(w);
    if (now - w->awake >= awake_ns(w, shared))
        w->steps = UINT32_MAX; /* the next step sleeps */
    return !note_if_over(w, now, /* interrupted */ false);
}

/* Does one step of a wait. First ends the wait if a PE was lost whose loss ends it. Then spins,
 * yields or sleeps, or, before the first sleep, prepares it. Returns false if the wait has ended.
 */
bool shmemi_wait_step(struct shmemi_waiter *w)
{
    w->overslept = false;
    if (SHMEMI_UNLIKELY(shmemi_some_lost())) {
        int pe = shmemi_ending_loss(w->whom);
        if (pe >= 0) {
            shmemi_wait_over(w);
            shmemi_fail_lost(pe, w->call);
            return false;
        }
    }
    if (w->stalls && w->began == 0)
        w->began = shmemi_now();
    if (w->steps != UINT32_MAX)
        return awake_step(w);
    if (w->stage == SHMEMI_READY)
        return sleep_once(w);
    yield_network(w);
    shmemi_prepare_sleep(w);
    return true;
}

/* Ends a wait: updates the statistics and the count of short waits in a row (prompt), and removes
 * the wait from the status page and the control page. */
void shmemi_wait_over(struct shmemi_waiter *w)
{
    stop_polling(w);
    if (w->steps >= CROWDED_STEPS || w->woken)
        prompt = 0;
    else if (prompt < PROMPT_WAITS)
        prompt++;
    if (w->overslept)
        shmemi_count(&shmemi_state.live->effort.late, 1);
    if (w->shown)
        shmemi_withdraw_wait(w);
    if (w->entry)
        shmemi_activity_withdraw(w);
    if (w->began) {
        shmemi_count(&shmemi_state.live->stalls, 1);
        shmemi_count(&shmemi_state.live->stall_ns, shmemi_now() - w->began);
        w->began = 0;
    }
}
