/*
 * lock.c: set_lock, test_lock and clear_lock, first come first served.
 *
 * A lock is a queue, and the long of each PE has two halves. The upper half at
 * the lock's home, one PE for each lock, names the last of the queue, 0 when the
 * lock is free. The lower half is its PE's place in the queue: what it waits for,
 * and who comes next. Who comes swaps itself into the tail, tells the one before,
 * and waits on its own memory; who leaves passes the lock on. So a lock that
 * changes hands costs one message between the two, however many wait.
 *
 * Everything is an atomic operation of the library, on this node and across, and
 * they are atomic with each other.
 */
#define _GNU_SOURCE
#include "lock.h"

#include "gpu.h"

#include <stdio.h>
#include <unistd.h>

enum {
    NEXT = (1 << 30) - 1, /* the PE that comes next, plus one */
    WAITS = 1 << 30,      /* the one before has not passed the lock on */
};
#define QUEUED (1u << 31) /* this PE has the lock, or waits for it */

/* The halves of a lock, by address: this is for little-endian machines. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the tail is the upper half");
_Static_assert(sizeof(long) == 8, "a lock has two halves");

struct lock {
    uint32_t *place, *tail;
    int home;
    const char *call;
};

static struct lock lock_of(long *lock, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    /* Checks the whole, which is more than the halves; a get of nothing. */
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
    size_t number = ((uintptr_t)lock - s->heap_base) / sizeof *lock;
    return (struct lock){halves, halves + 1, (int)(number % s->n_pes), call};
}

static uint32_t me_plus_one(void)
{
    return (uint32_t)shmemi_state.my_pe + 1;
}

/* Under SHMEM_CHECKS=full: which thread of this PE has a lock. Locks share
 * entries, so one may be forgotten. */
struct holder {
    const uint32_t *place;
    pid_t thread;
};

static struct holder *holder(const struct lock *l)
{
    static struct holder holders[256];
    return &holders[(uintptr_t)l->place / sizeof(long) % 256];
}

static void taken(const struct lock *l)
{
    if (SHMEMI_UNLIKELY(shmemi_state.checks == SHMEMI_CHECKS_FULL))
        *holder(l) = (struct holder){l->place, gettid()};
}

static void given(const struct lock *l)
{
    if (SHMEMI_UNLIKELY(shmemi_state.checks == SHMEMI_CHECKS_FULL))
        *holder(l) = (struct holder){0};
}

/* An operation on a place; fetching ones answer what was there. */
static uint32_t at_place(const struct lock *l, enum shmemi_amo op, uint32_t operand,
                         uint32_t compare, int pe)
{
    return shmemi_amo32(op, l->place, operand, compare, pe, l->call);
}

static uint32_t my_place(const struct lock *l)
{
    return SHMEMI_UNLIKELY(shmemi_heap_on_gpu())
               ? (uint32_t)shmemi_read_gpu(l->place, sizeof *l->place, l->call)
               : __atomic_load_n(l->place, __ATOMIC_ACQUIRE);
}

static bool enter(const struct lock *l)
{
    return at_place(l, SHMEMI_AMO_CSWAP, QUEUED | WAITS, 0, shmemi_state.my_pe) == 0;
}

static void leave(const struct lock *l)
{
    at_place(l, SHMEMI_AMO_SET, 0, 0, shmemi_state.my_pe);
}

static void own(const struct lock *l)
{
    at_place(l, SHMEMI_AMO_AND, ~(uint32_t)WAITS, 0, shmemi_state.my_pe);
}

static void describe(const void *subject, char *text, size_t size)
{
    const struct lock *l = subject;
    snprintf(text, size, "for the lock at %p (heap offset 0x%zx)", (void *)l->place,
             (size_t)((uintptr_t)l->place - shmemi_state.heap_base));
}

void shmemi_set_lock(long *lock, const char *call)
{
    const struct lock l = lock_of(lock, call);
    if (SHMEMI_UNLIKELY(!enter(&l))) {
        if (holder(&l)->place == l.place && holder(&l)->thread == gettid())
            shmemi_abort(call, "clear it first", "this thread has set the lock %p already",
                         (void *)lock);
        /* Another thread of this PE is in the queue. */
        SHMEMI_WAIT(shmemi_my_ctl(), call, describe, &l, enter(&l));
    }
    uint32_t before = shmemi_amo32(SHMEMI_AMO_SWAP, l.tail, me_plus_one(), 0, l.home, call);
    if (before == 0) {
        own(&l);
    } else {
        at_place(&l, SHMEMI_AMO_OR, me_plus_one(), 0, (int)before - 1);
        SHMEMI_WAIT(shmemi_my_ctl(), call, describe, &l, (my_place(&l) & WAITS) == 0);
    }
    taken(&l);
}

int shmemi_test_lock(long *lock, const char *call)
{
    const struct lock l = lock_of(lock, call);
    if (!enter(&l))
        return 1;
    uint32_t before = shmemi_amo32(SHMEMI_AMO_CSWAP, l.tail, me_plus_one(), 0, l.home, call);
    if (before != 0) {
        leave(&l);
        return 1;
    }
    own(&l);
    taken(&l);
    return 0;
}

void shmemi_clear_lock(long *lock, const char *call)
{
    const struct lock l = lock_of(lock, call);
    uint32_t place = my_place(&l);
    if (SHMEMI_UNLIKELY(!(place & QUEUED) || place & WAITS))
        shmemi_abort(call, "clear what this PE has set", "this PE has not set the lock %p",
                     (void *)lock);
    shmemi_quiet(call);
    given(&l);
    if ((place & NEXT) == 0) {
        uint32_t last = shmemi_amo32(SHMEMI_AMO_CSWAP, l.tail, 0, me_plus_one(), l.home, call);
        if (last == me_plus_one()) {
            leave(&l);
            return;
        }
        /* Someone has taken the tail and is about to say so. */
        SHMEMI_WAIT(shmemi_my_ctl(), call, describe, &l, (my_place(&l) & NEXT) != 0);
        place = my_place(&l);
    }
    leave(&l);
    at_place(&l, SHMEMI_AMO_AND, ~(uint32_t)WAITS, 0, (int)(place & NEXT) - 1);
}
