/*
 * lock.c: set_lock, test_lock and clear_lock, first come first served.
 *
 * A lock is a queue of PEs (as an MCS lock), and the long of each PE has two halves. The upper half
 * at the lock's home, one PE for each lock, is the tail: it names the last PE of the queue, 0 when
 * the lock is free. The lower half is its PE's entry in the queue (`place`): whether the PE is in
 * the queue (QUEUED) and waits (WAITS), and which PE is next (NEXT). Both halves have the number of
 * a PE plus one, so that 0 is none. A PE that sets the lock swaps its number into the tail, writes
 * its number to the entry of the PE that was the last before, and waits until its own entry
 * changes. A PE that clears the lock changes the entry of the next one. So to pass a lock on costs
 * one message, however many PEs wait.
 *
 * After a PE is lost, the queue is not used any more (lock_late.c).
 *
 * All accesses are atomic operations of the library, which are atomic with respect to each other,
 * within a node and between nodes. at_place and shmemi_amo32 take an operand and a value to compare
 * with, which only compare-and-swap uses.
 */
#define _GNU_SOURCE
#include "lock.h"

#include "address.h"
#include "error.h"
#include "failure.h"
#include "front.h"
#include "lock_late.h"
#include "lock_parts.h"
#include "remote.h"
#include "wait.h"
#include "waiter.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns the addresses of a lock's halves, and its home: the PE that has its tail, which the
 * lock's offset selects. Ends the job if lock is not the address of a symmetric long. */
static struct lock lock_of(long *lock, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    /* These checks are for the whole long. The operations on the lock check only the half that they
     * access. */
    if (SHMEMI_UNLIKELY(s->n_pes == 0 || !shmemi_symmetric(lock, sizeof *lock) ||
                        (uintptr_t)lock % sizeof *lock != 0 || s->checks == SHMEMI_CHECKS_FULL)) {
        if (s->n_pes == 0)
            shmemi_refuse_uninitialised(call);
        shmemi_check_target(lock, sizeof *lock, lock, s->my_pe, "lock", call);
        if ((uintptr_t)lock % sizeof *lock != 0)
            shmemi_abort(call, "pass a long", "the lock %p is not aligned to %zu bytes",
                         (void *)lock, sizeof *lock);
    }
    uint32_t *halves = (uint32_t *)(void *)lock;
    size_t number = (size_t)shmemi_offset(lock) / sizeof *lock;
    return (struct lock){halves, halves + 1, (int)(number % s->n_pes), call};
}

/* Under SHMEM_CHECKS=full: the thread of this PE that has set a lock. Locks may share an entry of
 * the table. Then only the one that was set last is found there, and a thread that sets the other
 * one twice waits for ever, as it does without the check. */
struct holder {
    const uint32_t *place; /* the half of the lock that is this PE's place in its queue */
    pid_t thread;
};

/* Returns the kernel's number of this thread. It is a system call, because glibc has gettid only
 * since 2.30. */
static pid_t this_thread(void)
{
    return (pid_t)syscall(SYS_gettid);
}

/* Returns the entry for a lock in the table of threads that have set locks. A lock is a long, so
 * consecutive locks of an array have consecutive entries. */
static struct holder *holder_entry(const struct lock *l)
{
    static struct holder holders[256];
    return &holders[(uintptr_t)l->place / sizeof(long) % 256];
}

/* Under full checks, records that this thread has set a lock, so that setting it twice is reported
 * as an error. */
static void record_holder(const struct lock *l)
{
    if (SHMEMI_UNLIKELY(shmemi_state.checks == SHMEMI_CHECKS_FULL))
        *holder_entry(l) = (struct holder){l->place, this_thread()};
}

/* Under full checks, records that no thread of this PE has the lock. */
static void forget_holder(const struct lock *l)
{
    if (SHMEMI_UNLIKELY(shmemi_state.checks == SHMEMI_CHECKS_FULL))
        *holder_entry(l) = (struct holder){0};
}

/* Enters this PE in the lock's queue: sets the bits QUEUED and WAITS of its entry. Returns false if
 * another thread of this PE is in the queue, or if a thread of this PE has set the lock. The
 * compare-and-swap is repeated because the entry need not be 0: after the loss of a PE, the number
 * of the PE that followed this one in the queue may arrive only after this one has left. */
static bool enter_queue(const struct lock *l)
{
    uint32_t expected = 0, found;
    while ((found = at_place(l, SHMEMI_AMO_CSWAP, QUEUED | WAITS, expected, shmemi_state.my_pe)) !=
           expected) {
        if (found & QUEUED)
            return false;
        expected = found;
    }
    return true;
}

/* Removes this PE from the queue: clears its entry. */
static void leave_queue(const struct lock *l)
{
    at_place(l, SHMEMI_AMO_SET, /* operand */ 0, /* compare */ 0, shmemi_state.my_pe);
}

/* Records in this PE's entry that it has the lock: clears WAITS. */
static void mark_owned(const struct lock *l)
{
    at_place(l, SHMEMI_AMO_AND, ~(uint32_t)WAITS, 0, shmemi_state.my_pe);
}

/* Adds this PE at the tail of the queue. If another PE was there, writes this PE's number to that
 * one's entry, and waits until it passes the lock on. Returns false if a PE was lost: then this PE
 * does not have the lock, and its entry still has QUEUED. */
static bool queue_up(const struct lock *l)
{
    uint32_t before = shmemi_amo32(SHMEM_CTX_DEFAULT, SHMEMI_AMO_SWAP, l->tail, me_plus_one(), 0,
                                   l->home, l->call);
    if (shmemi_is_lost(l->home))
        return false; /* the tail was at the home, so the queue is lost with it */
    if (before == 0) {
        mark_owned(l);
        return true;
    }
    at_place(l, SHMEMI_AMO_OR, me_plus_one(), 0, (int)before - 1);
    SHMEMI_WAIT_FOR(shmemi_my_ctl(), l->call, shmemi_describe_lock, l,
                    (my_place(l) & WAITS) == 0 || shmemi_some_lost(), .whom = SHMEMI_NOBODY);
    return (my_place(l) & WAITS) == 0;
}

/* Implements shmem_set_lock: enters the queue, and waits until the PE before this one passes the
 * lock to it; after the loss of a PE, sets the lock without the queue (lock_late.c). */
void shmemi_set_lock(long *lock, const char *call)
{
    const struct lock l = lock_of(lock, call);
    if (SHMEMI_UNLIKELY(!enter_queue(&l))) {
        if (holder_entry(&l)->place == l.place && holder_entry(&l)->thread == this_thread())
            shmemi_abort(call, "clear it first", "this thread has already set the lock %p",
                         (void *)lock);
        /* Another thread of this PE is in the queue or has set the lock, and the PE has only one
         * entry: this thread can enter the queue when the other one has cleared the lock. */
        SHMEMI_WAIT_FOR(shmemi_my_ctl(), call, shmemi_describe_lock, &l, enter_queue(&l),
                        .whom = SHMEMI_NOBODY);
    }
    /* The check for losses comes after the entry is set, which other PEs read before they take the
     * lock after a loss (lock_late.c). */
    shmemi_mute(true);
    bool late = SHMEMI_UNLIKELY(shmemi_some_lost()) || !queue_up(&l);
    shmemi_mute(false);
    if (SHMEMI_UNLIKELY(late))
        shmemi_lock_late(&l, /* once */ false);
    record_holder(&l);
}

/* Implements shmem_test_lock: sets the lock if its queue is empty, by a compare-and-swap of the
 * tail; after the loss of a PE, tries once without the queue (lock_late.c). Returns 0 if this PE
 * has the lock now, else 1. */
int shmemi_test_lock(long *lock, const char *call)
{
    const struct lock l = lock_of(lock, call);
    if (!enter_queue(&l))
        return 1;
    uint32_t before = 1; /* the tail before this call; not 0: this PE has not become the tail */
    /* Losses are muted, because a loss must not fail this call: it then tries without the queue. */
    shmemi_mute(true);
    if (SHMEMI_LIKELY(!shmemi_some_lost()))
        before = shmemi_amo32(SHMEM_CTX_DEFAULT, SHMEMI_AMO_CSWAP, l.tail, me_plus_one(), 0, l.home,
                              call);
    shmemi_mute(false);
    if (SHMEMI_UNLIKELY(shmemi_some_lost()) && (before != 0 || shmemi_is_lost(l.home))) {
        if (!shmemi_lock_late(&l, /* once */ true))
            return 1;
    } else if (before != 0) {
        leave_queue(&l);
        return 1;
    } else {
        mark_owned(&l);
    }
    record_holder(&l);
    return 0;
}

/* Passes the lock to the next PE of the queue, if there is one, and removes this PE from the queue.
 */
static void pass_lock(const struct lock *l, uint32_t place)
{
    if ((place & NEXT) == 0) {
        uint32_t last = shmemi_amo32(SHMEM_CTX_DEFAULT, SHMEMI_AMO_CSWAP, l->tail, 0, me_plus_one(),
                                     l->home, l->call);
        if (last == me_plus_one()) {
            leave_queue(l);
            return;
        }
        /* The tail names another PE, so one has swapped itself in, and is about to write its number
         * to this PE's entry. */
        SHMEMI_WAIT_FOR(shmemi_my_ctl(), l->call, shmemi_describe_lock, l,
                        (my_place(l) & NEXT) != 0 || shmemi_some_lost(), .whom = SHMEMI_NOBODY);
        place = my_place(l);
    }
    if (SHMEMI_UNLIKELY(shmemi_some_lost())) {
        /* Waiting PEs will set the lock through lock_late.c. The empty tail tells them that no lost
         * PE had the lock, so that their calls do not fail. */
        shmemi_amo32(SHMEM_CTX_DEFAULT, SHMEMI_AMO_SET, l->tail, 0, 0, l->home, l->call);
        leave_queue(l);
        return;
    }
    /* If a PE is lost now, the next PE may leave the queue. It then takes the lock (lock_late.c)
     * only after this PE's entry is clear. So this PE clears the next one's WAITS before its own
     * entry. In the other order the next PE could take the lock, clear it and wait for it again,
     * and the late change of its WAITS would say that it has the lock. A fetching operation has
     * been applied when it returns. It costs a round trip, so it is used only if the job continues
     * after a loss. */
    at_place(l, shmemi_state.survives ? SHMEMI_AMO_FETCH_AND : SHMEMI_AMO_AND, ~(uint32_t)WAITS, 0,
             (int)(place & NEXT) - 1);
    leave_queue(l);
}

/* Implements shmem_clear_lock: completes the caller's operations, and then passes the lock to the
 * next PE of the queue. After a loss the lock may have been taken without the queue. */
void shmemi_clear_lock(long *lock, const char *call)
{
    const struct lock l = lock_of(lock, call);
    uint32_t place = my_place(&l);
    if (SHMEMI_UNLIKELY(!(place & QUEUED) || place & WAITS))
        shmemi_abort(call, "clear only locks that this PE has set",
                     "this PE has not set the lock %p", (void *)lock);
    shmemi_quiet(SHMEM_CTX_DEFAULT, call);
    forget_holder(&l);
    shmemi_mute(true);
    if (SHMEMI_UNLIKELY(place & WITHOUT_QUEUE))
        shmemi_unlock_late(&l, place);
    else
        pass_lock(&l, place);
    shmemi_mute(false);
}
