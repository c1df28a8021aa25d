/*
 * sleep.c: the sleep protocol.
 *
 * The sleeper sets ctl->sleepers, runs a membarrier, which acts as a full fence on every registered
 * process, checks its condition once more and sleeps on ctl->wakes. A writer stores and then loads
 * ctl->sleepers with no fence in between (notify.h). Either its store was before the membarrier,
 * and the sleeper's last check sees it; or its load was after, and it sees the sleeper. So the cost
 * of the fast path is one load; the membarrier costs only the sleeper, which has time.
 *
 * A membarrier interrupts each processor that runs a PE, and the kernel makes one at a time. When
 * 32 PEs fell asleep at the same time, each with its own membarrier, the last one waited for those
 * of 31 others. So a membarrier serves all threads of the node that announced themselves before it
 * began: they are numbered in the control page of the node's first PE, one is under way at a time,
 * and a thread needs the next one after the number that it read after its announcement.
 *
 * Stores through shmem_ptr and writes by a NIC check no flag. Against those every sleep is
 * bounded (wait.c).
 */
#define _GNU_SOURCE
#include "sleep.h"

#include "clock.h"
#include "processor.h"

#include "wake.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <time.h>

/* A membarrier takes microseconds. A thread that has waited this long for the one of another
 * process, which was stopped or has ended in it, runs its own. */
#define MEMBARRIER_TIMEOUT_NS 10000000u

/* Registers this process for membarriers of other PEs. Returns false if the kernel has none of this
 * kind. */
bool shmemi_register_sleepers(void)
{
    long have = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    if (have < 0 || !(have & MEMBARRIER_CMD_GLOBAL_EXPEDITED))
        return false;
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

/* Makes every process that called shmemi_register_sleepers execute a full fence, by one system
 * call, and counts the call in the statistics. */
static void membarrier(void)
{
    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
    shmemi_count(&shmemi_state.live->effort.membarriers, 1);
}

/* Sets the flag that makes writers wake this thread, and records which membarrier has to run before
 * it may sleep: the first one that begins after the flag is set. */
static void announce_sleep(struct shmemi_waiter *w)
{
    w->wakes = shmemi_observe(&w->ctl->wakes);
    shmemi_announce(&w->ctl->sleepers, 1);
    w->stage = SHMEMI_ANNOUNCED;
    w->announced = shmemi_now();
    w->membarrier = shmemi_load_announced(&shmemi_node_ctl()->membarriers_begun) + 1;
}

/* Runs the node's next membarrier. Returns false if one is under way. first: the control page of
 * the node's first PE. */
static bool run_next_membarrier(struct shmemi_ctl *first)
{
    uint32_t done = shmemi_load_announced(&first->membarriers_done), begun = done;
    if (!shmemi_announce_if(&first->membarriers_begun, &begun, done + 1))
        return false;
    membarrier();
    shmemi_publish(&first->membarriers_done, done + 1);
    return true;
}

/* Reports whether the node's membarrier of that number, or a later one, has run. The numbers may
 * wrap, so their difference is compared. */
static bool has_run(const struct shmemi_ctl *first, uint32_t number)
{
    return (int32_t)(shmemi_observe(&first->membarriers_done) - number) >= 0;
}

/* Does one step of the preparation for a sleep: the announcement, or the membarrier after it. If
 * another thread runs a membarrier now, it yields, and the next step checks again. Returns true
 * when the thread may sleep. Without membarriers (not wakeable) it may sleep after the
 * announcement: a writer may then fail to wake it, and the sleep ends by its time limit. */
bool shmemi_prepare_sleep(struct shmemi_waiter *w)
{
    if (w->stage == SHMEMI_AWAKE) {
        announce_sleep(w);
        if (!shmemi_state.wakeable)
            w->stage = SHMEMI_READY;
        return w->stage == SHMEMI_READY;
    }
    struct shmemi_ctl *first = shmemi_node_ctl();
    if (has_run(first, w->membarrier)) {
        shmemi_count(&shmemi_state.live->effort.membarriers_shared, 1);
    } else if (shmemi_now() - w->announced > MEMBARRIER_TIMEOUT_NS) {
        membarrier();
    } else if (!run_next_membarrier(first)) {
        shmemi_yield();
        return false;
    }
    w->stage = SHMEMI_READY;
    return true;
}

/* Sleeps on the futex of the PE's control page, for at most ns, and returns what ended the sleep.
 * If it was the time limit, the announcement still stands, and the next sleep needs no new one. */
enum shmemi_sleep_end shmemi_sleep(struct shmemi_waiter *w, uint64_t ns)
{
    struct timespec bound = {.tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};
    shmemi_count(&shmemi_state.live->effort.sleeps, 1);
    long r = syscall(SYS_futex, &w->ctl->wakes, FUTEX_WAIT, w->wakes, &bound, NULL, 0);
    int error = r < 0 ? errno : 0;
    /* If no writer has cleared the announcement, the next sleep needs no new membarrier. Another
     * value of ctl->wakes than that before the announcement (EAGAIN) means that a writer has. */
    if (error != ETIMEDOUT || shmemi_read_once(&w->ctl->sleepers) == 0)
        w->stage = SHMEMI_AWAKE;
    return error == ETIMEDOUT ? SHMEMI_OVERSLEPT
           : error == EINTR   ? SHMEMI_INTERRUPTED
                              : SHMEMI_WOKEN;
}
